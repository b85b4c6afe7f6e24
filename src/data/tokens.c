/*
 * The tokens task: sequences of ready-made ids. A .npy file (recognised by content)
 * holds [samples, length] or one [length], where -1 at a row's end is
 * padding; any other file is text with one sequence of decimal ids a line,
 * separated by spaces or tabs. Sequences longer than N are cut to N. The targets are
 * the next tokens of the row; its last token has none.
 */
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "data/buffer.h"
#include "data/implementation.h"
#include "data/lines.h"
#include "data/npy.h"

typedef struct sequence {
    size_t start, length; /* in ids */
} sequence;

typedef struct tokens_dataset {
    mgk_dataset base;
    mgk_buffer ids;       /* int32_t */
    mgk_buffer sequences; /* sequence */
    size_t longest;
} tokens_dataset;

static void sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens, int32_t *lengths,
                   int32_t *targets)
{
    const tokens_dataset *set = (const tokens_dataset *)dataset;
    const sequence *row = (const sequence *)(const void *)set->sequences.data + index;
    const int32_t *ids = (const int32_t *)(const void *)set->ids.data + row->start;
    size_t n = dataset->shape.length, length = row->length < n ? row->length : n;
    for (size_t i = 0; i < n; i++) {
        tokens[i] = i < length ? ids[i] : -1;
        targets[i] = i + 1 < length ? ids[i + 1] : -1;
    }
    lengths[0] = (int32_t)length;
}

static uint64_t hash_tokens(const mgk_dataset *dataset, uint64_t hash)
{
    const tokens_dataset *set = (const tokens_dataset *)dataset;
    hash = mgk_hash(hash, set->ids.data, set->ids.size);
    return mgk_hash(hash, set->sequences.data, set->sequences.size);
}

static void close_tokens(mgk_dataset *dataset)
{
    tokens_dataset *set = (tokens_dataset *)dataset;
    mgk_buffer_free(&set->ids);
    mgk_buffer_free(&set->sequences);
    mgk_free(set);
}

static const mgk_dataset_functions functions = {sample, hash_tokens, close_tokens};

/* The ids appended since `start` become one sequence. */
static mgk_status finish_sequence(size_t start, tokens_dataset *set)
{
    sequence row = {start, set->ids.size / sizeof(int32_t) - start};
    if (row.length == 0)
        return mgk_fail(STATUS_FORMAT, "no tokens");
    if (row.length > INT32_MAX)
        return mgk_fail(STATUS_SHAPE, "%zu tokens are more than %d", row.length, INT32_MAX);
    if (row.length > set->longest)
        set->longest = row.length;
    set->base.size++;
    return mgk_buffer_append(&set->sequences, &row, sizeof(row));
}

/* The id that the word spells, or -1. */
static int32_t id_of(mgk_span word, size_t vocabulary)
{
    size_t id = 0;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return -1;
        id = 10 * id + (size_t)(word.data[i] - '0');
        if (id >= vocabulary)
            return -1;
    }
    return (int32_t)id;
}

static mgk_status read_line(mgk_span line, tokens_dataset *set)
{
    size_t start = set->ids.size / sizeof(int32_t);
    mgk_span word;
    for (size_t position = 1; mgk_next_word(&line, &word); position++) {
        int32_t id = id_of(word, set->base.shape.vocabulary);
        if (id < 0) {
            char quoted[MGK_QUOTE_SIZE];
            return mgk_fail(STATUS_FORMAT, "token %zu: \"%s\" is not an id in [0, %zu)", position,
                            mgk_quote(word, quoted), set->base.shape.vocabulary);
        }
        TRY(mgk_buffer_append(&set->ids, &id, sizeof(id)));
    }
    return finish_sequence(start, set);
}

static mgk_status read_text(const char *path, const mgk_mapping *file, tokens_dataset *set)
{
    mgk_lines lines = {.rest = {(const char *)file->data, file->size}};
    mgk_span line;
    while (mgk_next_line(&lines, &line)) {
        mgk_status status = read_line(line, set);
        if (status != STATUS_OK)
            return mgk_fail_line(status, path, lines.number);
    }
    return STATUS_OK;
}

static int64_t load(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return size == 4 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)value;
}

static mgk_status read_npy_row(const mgk_npy *npy, size_t row, tokens_dataset *set)
{
    const unsigned char *bytes = npy->data + row * npy->columns * npy->element_size;
    size_t start = set->ids.size / sizeof(int32_t), length = npy->columns;
    while (length > 0 && load(bytes + (length - 1) * npy->element_size, npy->element_size) == -1)
        length--;
    for (size_t i = 0; i < length; i++) {
        int64_t value = load(bytes + i * npy->element_size, npy->element_size);
        if (value < 0 || (uint64_t)value >= set->base.shape.vocabulary)
            return mgk_fail(STATUS_FORMAT, "token %zu: %lld is not an id in [0, %zu)", i + 1,
                            (long long)value, set->base.shape.vocabulary);
        int32_t id = (int32_t)value;
        TRY(mgk_buffer_append(&set->ids, &id, sizeof(id)));
    }
    return finish_sequence(start, set);
}

static mgk_status read_npy(const char *path, const mgk_mapping *file, tokens_dataset *set)
{
    mgk_npy npy;
    mgk_status status = mgk_npy_parse(file->data, file->size, &npy);
    if (status != STATUS_OK)
        return mgk_fail_prefix(status, path);
    for (size_t row = 0; row < npy.rows; row++) {
        status = read_npy_row(&npy, row, set);
        if (status != STATUS_OK)
            return mgk_fail(status, "%s: row %zu: %s", path, row + 1, mgk_fail_message());
    }
    return STATUS_OK;
}

static mgk_status read_file(const char *path, tokens_dataset *set)
{
    mgk_mapping file;
    TRY(mgk_map_file(path, &file));
    mgk_status status;
    if (file.size == 0)
        status = mgk_fail(STATUS_SHAPE, "%s: empty", path);
    else if (mgk_is_npy(file.data, file.size))
        status = read_npy(path, &file, set);
    else
        status = read_text(path, &file, set);
    mgk_unmap_file(&file);
    return status;
}

mgk_status mgk_tokens_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status = STATUS_OK;
    tokens_dataset *set;
    if (options->vocabulary < 1 || options->vocabulary > INT32_MAX)
        return mgk_fail(STATUS_USAGE, "tokens: vocabulary %zu is not in [1, %d]",
                        options->vocabulary, INT32_MAX);
    TRY(mgk_alloc(1, sizeof(*set), &set));
    set->base.functions = &functions;
    set->base.shape = (mgk_dataset_shape){1, options->length, options->vocabulary, 0};
    for (size_t i = 0; i < options->path_count; i++)
        CHECK(read_file(options->paths[i], set));
    if (options->length == 0)
        set->base.shape.length = set->longest;
    *out = &set->base;
out:
    if (status != STATUS_OK)
        close_tokens(&set->base);
    return status;
}
