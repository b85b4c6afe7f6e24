/* SPDX-License-Identifier: MIT */
/*
 * The listops task: trees generated from (seed, split), or the rows of Long Range Arena's
 * basic_{train,val,test}.tsv. A generated tree is kept if its number of tokens lies strictly
 * between two bounds and the split does not contain it yet. Two splits are drawn independently;
 * they share trees only where short bounds allow few.
 */
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "data/datasets/labelled.h"
#include "data/datasets/listops.h"

enum {
    CLASSES = 10,
    /* draws (seconds at most) without a new tree, after which the bounds allow too few trees */
    PATIENCE = 1 << 20,
};

/* Sizes of the three splits in the recipe. */
static const size_t recipe_samples[] = {
    [MGK_SPLIT_TRAIN] = 96000,
    [MGK_SPLIT_EVAL] = 2000,
    [MGK_SPLIT_TEST] = 2000,
};

/* A set of the trees kept so far: open addressing, at most half full. */
typedef struct tree_set {
    const mgk_labelled *trees;
    uint64_t *slots; /* [mask + 1], sample index + 1, or 0 */
    size_t mask;
} tree_set;

/* Finds the slot that holds an equal tree, or the empty slot where it belongs. */
static uint64_t *find(const tree_set *set, const unsigned char *tokens, size_t count)
{
    size_t slot = mgk_hash(MGK_HASH_START, tokens, count) & set->mask;
    for (; set->slots[slot]; slot = (slot + 1) & set->mask) {
        size_t length;
        const unsigned char *kept = mgk_labelled_tokens(set->trees, set->slots[slot] - 1, &length);
        if (length == count && memcmp(kept, tokens, count) == 0)
            break;
    }
    return &set->slots[slot];
}

static mgk_status set_create(const mgk_labelled *trees, size_t samples, tree_set *set)
{
    size_t capacity = 2;
    while (capacity / 2 < samples)
        capacity *= 2;
    *set = (tree_set){.trees = trees, .mask = capacity - 1};
    return mgk_alloc(capacity, sizeof(*set->slots), &set->slots);
}

static mgk_status generate(const mgk_dataset_options *options, size_t samples, mgk_labelled *trees)
{
    mgk_status status = STATUS_OK;
    size_t limit = options->listops_below - 1;
    unsigned char *tokens = NULL;
    tree_set set;
    mgk_random random = {options->seed, mgk_data_stream(MGK_PURPOSE_TREE, options->split), 0};
    TRY(set_create(trees, samples, &set));
    CHECK(mgk_alloc(limit, 1, &tokens));
    for (size_t fruitless = 0; trees->base.size < samples; fruitless++) {
        if (fruitless == PATIENCE) {
            status = mgk_fail(
                STATUS_USAGE, "listops: found %zu different trees with %zu < tokens < %zu, not %zu",
                (size_t)trees->base.size, options->listops_above, options->listops_below, samples);
            goto out;
        }
        size_t count = mgk_listops_draw(&random, tokens, limit);
        if (count <= options->listops_above)
            continue;
        uint64_t *slot = find(&set, tokens, count);
        if (*slot)
            continue;
        int32_t value;
        CHECK(mgk_listops_value(tokens, count, &value));
        *slot = trees->base.size + 1;
        CHECK(mgk_labelled_append(trees, tokens, count, value));
        fruitless = 0;
    }
out:
    mgk_free(set.slots);
    mgk_free(tokens);
    return status;
}

static mgk_status open_generated(const mgk_dataset_options *options, mgk_labelled *trees)
{
    size_t samples = options->samples ? options->samples : recipe_samples[options->split];
    if (options->listops_below < 2 || options->listops_above >= options->listops_below - 1)
        return mgk_fail(STATUS_USAGE,
                        "listops: no list is longer than %zu tokens and shorter than %zu: "
                        "`listops_above` is to be at most `listops_below` - 2",
                        options->listops_above, options->listops_below);
    if (options->listops_below - 1 > options->length)
        return mgk_fail(STATUS_USAGE,
                        "listops: lists of up to %zu tokens do not fit into a length of %zu: "
                        "expected `listops_below` of at most %zu, and a smaller `listops_above`",
                        options->listops_below - 1, options->length, options->length + 1);
    if (samples > INT32_MAX)
        return mgk_fail(STATUS_USAGE, "listops: %zu samples are more than %d", samples, INT32_MAX);
    return generate(options, samples, trees);
}

static mgk_status read_row(mgk_span line, mgk_buffer *tokens, mgk_labelled *rows)
{
    mgk_span source, target;
    int32_t value;
    char quoted[MGK_QUOTE_SIZE];
    if (!mgk_next_field(&line, '\t', &source) || !mgk_next_field(&line, '\t', &target) || line.data)
        return mgk_fail(STATUS_FORMAT, "expected two columns, Source and Target");
    tokens->size = 0;
    TRY(mgk_listops_parse(source, tokens));
    TRY(mgk_listops_value(tokens->data, tokens->size, &value));
    if (target.size != 1 || target.data[0] != '0' + value)
        return mgk_fail(STATUS_FORMAT, "target is \"%s\", but the expression's value is %d",
                        mgk_quote(target, quoted), value);
    if (tokens->size > rows->base.shape.length)
        return mgk_fail(STATUS_SHAPE, "%zu tokens exceed the length %zu", tokens->size,
                        rows->base.shape.length);
    return mgk_labelled_append(rows, tokens->data, tokens->size, value);
}

/* File size limit; the files of Long Range Arena are below 200 MB. */
static const size_t MOST_BYTES = (size_t)1 << 32;

static mgk_status read_file(const char *path, mgk_labelled *rows)
{
    mgk_status status = STATUS_OK;
    mgk_mapping file;
    mgk_buffer tokens = {0};
    mgk_span line;
    TRY(mgk_map_limited(path, MOST_BYTES, &file));
    mgk_lines lines = {.rest = mgk_rows_of(file.data, file.size)};
    uint64_t before = rows->base.size;
    static const char header[] = "Source\tTarget";
    const bool is_ours = mgk_next_line(&lines, &line) && mgk_span_equals(line, header);
    if (file.size > 0 && !is_ours) {
        mgk_fail(STATUS_FORMAT, "expected the header Source, Target");
        status = mgk_fail_line(STATUS_FORMAT, path, 1);
        goto out;
    }
    while (mgk_next_line(&lines, &line)) {
        status = read_row(line, &tokens, rows);
        if (status != STATUS_OK) {
            mgk_fail_line(status, path, lines.number);
            goto out;
        }
    }
    if (rows->base.size == before)
        status = mgk_fail(STATUS_SHAPE, "%s: no rows", path);
out:
    mgk_buffer_free(&tokens);
    mgk_unmap_file(&file);
    return status;
}

mgk_status mgk_listops_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status = STATUS_OK;
    mgk_dataset_shape shape = {1, options->length, MGK_LISTOPS_VOCABULARY, CLASSES};
    mgk_labelled *labelled;
    TRY(mgk_labelled_create(shape, &labelled));
    if (options->path_count == 0)
        CHECK(open_generated(options, labelled));
    for (size_t i = 0; i < options->path_count; i++)
        CHECK(read_file(options->paths[i], labelled));
    *out = &labelled->base;
out:
    if (status != STATUS_OK)
        mgk_dataset_close(&labelled->base);
    return status;
}
