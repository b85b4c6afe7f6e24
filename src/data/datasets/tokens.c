/* SPDX-License-Identifier: MIT */
/*
 * The tokens task: sequences of token ids. An array, from a file of NumPy (recognised by content)
 * or in memory, is [samples, length], where -1 at the end of a row is padding; any other file is
 * text with one sequence of decimal ids per line, separated by spaces or tabs. Sequences longer
 * than N are cut to N. The targets are the next tokens of the row; its last token has none. The id
 * of padding is cut off at the end of a row, and at its beginning with `padding_left`; elsewhere it
 * is a token like others, as in transformers without an attention mask.
 *
 * An array [length] is one text and is cut into windows (tokenized.h): a rest shorter than N is
 * left out unless it is the only window, and the last target of a window is the first token of the
 * next. With options->stride the windows slide (windows.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/numpy.h"
#include "data/buffer.h"
#include "data/datasets/implementation.h"
#include "data/datasets/lines.h"
#include "data/datasets/token_array.h"
#include "data/datasets/windows.h"

/* Size limit of a text file of ids: the ids that an array may have, with spaces. */
static const size_t MOST_TEXT = (size_t)16 * MGK_MOST_TOKEN_IDS;

typedef struct sequence {
    size_t start, length; /* in ids */
    size_t known;         /* first ids whose next one another sequence predicts */
    size_t continued;     /* 1: the next id is the target of the last one */
} sequence;

typedef struct tokens_dataset {
    mgk_dataset base;
    mgk_buffer ids;       /* int32_t */
    mgk_buffer sequences; /* sequence */
    size_t longest, cut;  /* sequences: ids of the longest one; number of those longer than N */
    size_t led, ended;    /* sequences that begin with padding; that end with a padding_word */
    size_t padded;        /* other sequences with padding before their end */
    size_t stride;        /* of windows that slide; 0: they do not */
    int32_t padding;
    int32_t trimmed; /* the id that is cut off rows; -1: none, because the array has -1 */
    bool padding_word, padding_left, padding_masked;
} tokens_dataset;

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const tokens_dataset *set = (const tokens_dataset *)dataset;
    const sequence *row = (const sequence *)(const void *)set->sequences.data + index;
    const int32_t *ids = (const int32_t *)(const void *)set->ids.data + row->start;
    size_t n = dataset->shape.length, length = row->length < n ? row->length : n;
    for (size_t i = 0; i < n; i++) {
        tokens[i] = i < length ? ids[i] : -1;
        targets[i] = i + 1 < length ? ids[i + 1] : -1;
    }
    if (row->continued)
        targets[length - 1] = ids[length];
    for (size_t i = 0; i < row->known && i < length; i++)
        targets[i] = -1;
    lengths[0] = (int32_t)length;
    return STATUS_OK;
}

static size_t length_of(const mgk_dataset *dataset, uint64_t index)
{
    const tokens_dataset *set = (const tokens_dataset *)dataset;
    const sequence *row = (const sequence *)(const void *)set->sequences.data + index;
    return row->length < dataset->shape.length ? row->length : dataset->shape.length;
}

static mgk_status hash_tokens(const mgk_dataset *dataset, uint64_t *hash)
{
    const tokens_dataset *set = (const tokens_dataset *)dataset;
    *hash = mgk_hash(*hash, set->ids.data, set->ids.size);
    *hash = mgk_hash(*hash, set->sequences.data, set->sequences.size);
    return STATUS_OK;
}

static void close_tokens(mgk_dataset *dataset)
{
    tokens_dataset *set = (tokens_dataset *)dataset;
    mgk_buffer_free(&set->ids);
    mgk_buffer_free(&set->sequences);
    mgk_free(set);
}

static const mgk_dataset_functions functions = {sample, length_of, hash_tokens, close_tokens};

static mgk_status add_sequence(sequence row, tokens_dataset *set)
{
    if (row.length > set->longest)
        set->longest = row.length;
    set->base.size++;
    return mgk_buffer_append(&set->sequences, &row, sizeof(row));
}

/* The ids appended since *start without the padding around them: *start is moved. */
static mgk_status measure_row(tokens_dataset *set, size_t *start, size_t *length)
{
    const int32_t *ids = (const int32_t *)(const void *)set->ids.data + *start;
    const size_t all = set->ids.size / sizeof(int32_t) - *start;
    size_t first = 0;
    *length = all;
    while (*length > 0 && set->trimmed >= 0 && ids[*length - 1] == set->trimmed)
        --*length;
    while (first < *length && set->trimmed >= 0 && ids[first] == set->trimmed)
        first++;
    if (*length == 0)
        return mgk_fail(STATUS_FORMAT, "no tokens");
    set->ended += set->padding_word && *length < all;
    set->led += !set->padding_word && first > 0;
    if (set->padding_left && !set->padding_word) {
        *start += first;
        *length -= first;
    }
    if (*length > INT32_MAX)
        return mgk_fail(STATUS_SHAPE, "%zu tokens are more than %d", *length, INT32_MAX);
    return STATUS_OK;
}

/* Makes one sequence of the ids appended since `start`. */
static mgk_status finish_sequence(size_t start, tokens_dataset *set)
{
    sequence row = {.start = start};
    if (set->stride > 0 && set->stride < set->base.shape.length)
        return mgk_fail(STATUS_USAGE,
                        "a stride is of windows of one text: an array with one axis, not a "
                        "sequence for each sample");
    TRY(measure_row(set, &row.start, &row.length));
    set->cut += set->base.shape.length > 0 && row.length > set->base.shape.length;
    const int32_t *ids = (const int32_t *)(const void *)set->ids.data + row.start;
    bool padded = false;
    for (size_t i = 0; set->padding >= 0 && !set->padding_word && i < row.length; i++)
        padded |= ids[i] == set->padding;
    set->padded += padded && ids[0] != set->padding;
    return add_sequence(row, set);
}

static mgk_status slide(size_t start, size_t total, tokens_dataset *set)
{
    const size_t n = set->base.shape.length;
    const mgk_windows windows = {total - 1, n, mgk_windows_stride(set->stride, n)};
    for (size_t i = 0; i < mgk_windows_count(&windows); i++)
        TRY(add_sequence((sequence){start + i * windows.stride, mgk_windows_length(&windows, i),
                                    mgk_windows_known(&windows, i), 1},
                         set));
    return STATUS_OK;
}

/* Cuts the ids appended since `start` into windows of N. */
static mgk_status finish_windows(size_t start, tokens_dataset *set)
{
    size_t total, n = set->base.shape.length;
    TRY(measure_row(set, &start, &total));
    if (n == 0 || total <= n)
        return add_sequence((sequence){start, total, 0, 0}, set);
    if (set->stride > 0)
        return slide(start, total, set);
    for (size_t at = 0; total - at >= n; at += n)
        TRY(add_sequence((sequence){start + at, n, 0, at + n < total}, set));
    mgk_dataset_add_remark(
        &set->base, "a text of %zu %s, read as %zu %s of %zu; %zu at the end %s left out", total,
        MGK_NOUN(total, "token", "tokens"), total / n, MGK_NOUN(total / n, "window", "windows"), n,
        total % n, MGK_NOUN(total % n, "is", "are"));
    return STATUS_OK;
}

/* Parses an id; -1: not an id below `vocabulary`. */
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
            return mgk_fail(STATUS_FORMAT,
                            "token %zu: \"%s\" is not an id in [0, %zu); ids are separated by "
                            "spaces",
                            position, mgk_quote(word, quoted), set->base.shape.vocabulary);
        }
        TRY(mgk_buffer_append(&set->ids, &id, sizeof(id)));
    }
    return finish_sequence(start, set);
}

static mgk_status read_text(const char *path, const mgk_mapping *file, tokens_dataset *set)
{
    mgk_lines lines = {.rest = mgk_rows_of(file->data, file->size)};
    mgk_span line;
    while (mgk_next_line(&lines, &line)) {
        mgk_status status = read_line(line, set);
        if (status != STATUS_OK)
            return mgk_fail_line(status, path, lines.number);
    }
    return STATUS_OK;
}

static mgk_status refuse_id(size_t position, int64_t id, bool is_unsigned, size_t vocabulary)
{
    const bool negative = id < 0 && !is_unsigned;
    return mgk_fail(STATUS_FORMAT, "token %zu: %s%llu is not an id in [0, %zu)", position + 1,
                    negative ? "-" : "",
                    negative ? -(unsigned long long)id : (unsigned long long)id, vocabulary);
}

/* What pads rows and is no id: -1, or -100, as in the labels of transformers. */
static bool is_padding(int64_t id)
{
    return id == -1 || id == -100;
}

/* Appends a row without the padding at its end. */
static mgk_status add_row(const mgk_token_array *array, size_t row, tokens_dataset *set)
{
    const int64_t *ids = array->ids + row * array->columns;
    size_t start = set->ids.size / sizeof(int32_t), length = array->columns;
    while (length > 0 && !array->is_unsigned && is_padding(ids[length - 1]))
        length--;
    for (size_t i = 0; i < length; i++) {
        if (ids[i] < 0 || (uint64_t)ids[i] >= set->base.shape.vocabulary)
            return refuse_id(i, ids[i], array->is_unsigned, set->base.shape.vocabulary);
        int32_t id = (int32_t)ids[i];
        TRY(mgk_buffer_append(&set->ids, &id, sizeof(id)));
    }
    return array->flat ? finish_windows(start, set) : finish_sequence(start, set);
}

/* Whether rows of an array end with what is no id. */
static bool has_own_padding(const mgk_token_array *array)
{
    for (size_t row = 0; row < array->rows && array->columns > 0 && !array->is_unsigned; row++)
        if (is_padding(array->ids[(row + 1) * array->columns - 1]))
            return true;
    return false;
}

static mgk_status add_rows(const char *path, const mgk_token_array *array, tokens_dataset *set)
{
    set->trimmed = has_own_padding(array) ? -1 : set->padding;
    for (size_t row = 0; row < array->rows; row++) {
        mgk_status status = add_row(array, row, set);
        if (status != STATUS_OK)
            return mgk_fail(status, "%s: row %zu: %s", path, row + 1, mgk_fail_message());
    }
    return STATUS_OK;
}

static mgk_status read_array(const char *path, tokens_dataset *set)
{
    mgk_token_array array;
    mgk_status status = mgk_token_array_read(path, &array);
    if (status == STATUS_OK)
        status = add_rows(path, &array, set);
    mgk_free(array.ids);
    return status;
}

static mgk_status read_file(const char *path, tokens_dataset *set)
{
    mgk_mapping file;
    TRY(mgk_map_file(path, &file));
    mgk_status status;
    if (file.size == 0)
        status = mgk_fail(STATUS_SHAPE, "%s: empty", path);
    else if (mgk_is_numpy(file.data, file.size))
        status = read_array(path, set);
    else if (file.size > MOST_TEXT)
        status = mgk_fail(STATUS_SHAPE, "%s: %zu bytes of text, expected at most %zu", path,
                          file.size, MOST_TEXT);
    else
        status = read_text(path, &file, set);
    mgk_unmap_file(&file);
    return status;
}

/* Says so many of the sequences are or have something. */
static void remark_of(tokens_dataset *set, size_t count, const char *one, const char *more,
                      const char *what)
{
    if (count > 0)
        mgk_dataset_add_remark(&set->base, "%zu of %llu %s %s", count,
                               (unsigned long long)set->base.size,
                               MGK_NOUN(set->base.size, one, more), what);
}

static void remark(tokens_dataset *set)
{
    const size_t n = set->base.shape.length;
    char what[160];
    snprintf(what, sizeof(what), "cut to %zu %s", n, MGK_NOUN(n, "token", "tokens"));
    remark_of(set, set->cut, "sequence is", "sequences are", what);
    snprintf(what, sizeof(what), "with padding, %d, %s", (int)set->padding,
             set->padding_masked ? "which the model masks"
             : set->padding_left ? "which is left out"
                                 : "read as tokens: move it to the end, where it is left out");
    remark_of(set, set->led, "sequence begins", "sequences begin", what);
    snprintf(what, sizeof(what), "padding, %d, before the end, %s", (int)set->padding,
             set->padding_masked ? "which the model masks" : "read as tokens");
    remark_of(set, set->padded, "sequence has", "sequences have", what);
    snprintf(
        what, sizeof(what),
        "with %d, which pads texts and also begins or ends them: left out as padding; an array "
        "that is padded with -1 keeps it",
        (int)set->padding);
    remark_of(set, set->ended, "sequence ends", "sequences end", what);
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
    set->stride = options->stride;
    set->padding = set->trimmed = options->padding;
    set->padding_word = options->padding_word;
    set->padding_left = options->padding_left;
    set->padding_masked = options->padding_masked;
    set->base.shape = (mgk_dataset_shape){1, options->length, options->vocabulary, 0};
    for (size_t i = 0; i < options->path_count; i++)
        CHECK(options->ids ? add_rows(options->paths[i], options->ids, set)
                           : read_file(options->paths[i], set));
    if (options->length == 0)
        set->base.shape.length = set->longest;
    remark(set);
    *out = &set->base;
out:
    if (status != STATUS_OK)
        close_tokens(&set->base);
    return status;
}
