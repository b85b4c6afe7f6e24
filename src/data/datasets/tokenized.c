/* SPDX-License-Identifier: MIT */
#include "data/datasets/tokenized.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "data/datasets/lines.h"
#include "data/datasets/sequencer.h"
#include "data/datasets/token_stream.h"
#include "data/datasets/windows.h"

typedef struct sequence {
    size_t start, length; /* in ids, without the frame */
} sequence;

typedef struct tokenized_dataset {
    mgk_dataset base;
    mgk_token_stream *windows;  /* NULL: the samples are lines */
    mgk_buffer ids;             /* int32_t, ids of the lines */
    mgk_buffer sequences;       /* of the lines */
    mgk_buffer before, after;   /* int32_t, the frame */
    mgk_token_encoder *encoder; /* for lines; NULL: bytes are their own ids */
    size_t room;                /* ids of a full sample, excluding the frame */
    mgk_windows slide;          /* over all ids; stride 0: they do not */
    size_t cut;                 /* number of lines longer than N */
    bool every_line;            /* blank lines are an error */
    bool needs_text;            /* bytes that are not UTF-8 are an error */
} tokenized_dataset;

static size_t count(const mgk_buffer *ids)
{
    return ids->size / sizeof(int32_t);
}

static const int32_t *ids_of(const mgk_buffer *buffer)
{
    return (const int32_t *)(const void *)buffer->data;
}

static bool has_frame(const tokenized_dataset *set)
{
    return count(&set->before) + count(&set->after) > 0;
}

/* Returns sequence `index`, and whether the text continues after it. */
static sequence sequence_at(const tokenized_dataset *set, uint64_t index, bool *continued)
{
    *continued = false;
    if (!set->windows)
        return *((const sequence *)(const void *)set->sequences.data + index);
    const size_t stride = set->slide.stride ? set->slide.stride : set->room;
    const size_t start = index * stride, left = set->windows->count - start;
    sequence row = {start, left < set->room ? left : set->room};
    if (set->slide.stride)
        row.length = mgk_windows_length(&set->slide, index);
    *continued = !has_frame(set) && left > row.length;
    return row;
}

/* Of windows that slide: leaves the tokens that a window before has predicted, and the frame,
 * without predictions. */
static void leave_known(const tokenized_dataset *set, uint64_t index, size_t used, int32_t *targets)
{
    const size_t after = count(&set->after);
    /* With a frame, the tokens themselves are predicted, each at the place before it. */
    size_t known = mgk_windows_known(&set->slide, index) + count(&set->before);
    if (has_frame(set) && known > 0)
        known--;
    for (size_t i = 0; i < known && i < used; i++)
        targets[i] = -1;
    for (size_t i = 0; i < after && i + 1 < used; i++)
        targets[used - 2 - i] = -1;
}

static mgk_status read_ids(const tokenized_dataset *set, size_t first, size_t size, int32_t *ids)
{
    size_t used = 0;
    if (set->windows)
        return mgk_token_stream_read(set->windows, first, size, ids);
    mgk_put_ids(ids, &used, ids_of(&set->ids) + first, size);
    return STATUS_OK;
}

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const tokenized_dataset *set = (const tokenized_dataset *)dataset;
    bool continued;
    const sequence row = sequence_at(set, index, &continued);
    size_t n = dataset->shape.length, used = 0;
    mgk_put_ids(tokens, &used, ids_of(&set->before), count(&set->before));
    TRY(read_ids(set, row.start, row.length, tokens + used));
    used += row.length;
    mgk_put_ids(tokens, &used, ids_of(&set->after), count(&set->after));
    for (size_t i = used; i < n; i++)
        tokens[i] = -1;
    for (size_t i = 0; i < n; i++)
        targets[i] = i + 1 < used ? tokens[i + 1] : -1;
    if (continued)
        TRY(read_ids(set, row.start + row.length, 1, &targets[used - 1]));
    if (set->slide.stride)
        leave_known(set, index, used, targets);
    lengths[0] = (int32_t)used;
    return STATUS_OK;
}

static size_t length(const mgk_dataset *dataset, uint64_t index)
{
    const tokenized_dataset *set = (const tokenized_dataset *)dataset;
    bool continued;
    return count(&set->before) + sequence_at(set, index, &continued).length + count(&set->after);
}

static mgk_status hash_tokenized(const mgk_dataset *dataset, uint64_t *hash)
{
    const tokenized_dataset *set = (const tokenized_dataset *)dataset;
    *hash = mgk_hash(*hash, set->before.data, set->before.size);
    if (set->windows)
        TRY(mgk_token_stream_hash(set->windows, hash));
    *hash = mgk_hash(*hash, set->ids.data, set->ids.size);
    *hash = mgk_hash(*hash, set->after.data, set->after.size);
    *hash = mgk_hash(*hash, set->sequences.data, set->sequences.size);
    return STATUS_OK;
}

static void close_tokenized(mgk_dataset *dataset)
{
    tokenized_dataset *set = (tokenized_dataset *)dataset;
    if (set->windows)
        mgk_token_stream_close(set->windows);
    mgk_free(set->windows);
    mgk_token_encoder_close(set->encoder);
    mgk_buffer_free(&set->ids);
    mgk_buffer_free(&set->sequences);
    mgk_buffer_free(&set->before);
    mgk_buffer_free(&set->after);
    mgk_free(set);
}

static const mgk_dataset_functions functions = {sample, length, hash_tokenized, close_tokenized};

static mgk_status add_sequence(tokenized_dataset *set, size_t start, size_t ids)
{
    sequence row = {start, ids};
    set->base.size++;
    return mgk_buffer_append(&set->sequences, &row, sizeof(row));
}

static mgk_status append_ids(tokenized_dataset *set, mgk_span text)
{
    set->base.bytes += text.size;
    if (set->encoder)
        return mgk_token_encode(set->encoder, text.data, text.size, &set->ids);
    TRY(mgk_buffer_reserve(&set->ids, text.size * sizeof(int32_t)));
    for (size_t i = 0; i < text.size; i++) {
        int32_t id = (unsigned char)text.data[i];
        TRY(mgk_buffer_append(&set->ids, &id, sizeof(id)));
    }
    return STATUS_OK;
}

static bool is_blank(mgk_span line)
{
    mgk_span word;
    return !mgk_next_word(&line, &word);
}

/* Makes one sequence, cut to the room, of the ids appended since `start`. */
static mgk_status finish_sequence(tokenized_dataset *set, size_t start, size_t *length)
{
    *length = count(&set->ids) - start;
    set->cut += *length > set->room;
    if (*length > set->room)
        *length = set->room;
    set->ids.size = (start + *length) * sizeof(int32_t);
    return *length > 0 ? add_sequence(set, start, *length) : STATUS_OK;
}

static mgk_status read_lines(tokenized_dataset *set, mgk_span text)
{
    mgk_lines lines = {.rest = text};
    mgk_span line;
    while (mgk_next_line(&lines, &line)) {
        size_t start = count(&set->ids), length;
        const bool blank = is_blank(line);
        if (!blank) {
            TRY(append_ids(set, line));
            TRY(finish_sequence(set, start, &length));
        }
        if (set->every_line && (blank || length == 0))
            return mgk_fail(STATUS_FORMAT,
                            "line %zu has no tokens: a line belongs to a line of the other file",
                            lines.number);
    }
    return STATUS_OK;
}

static mgk_status read_file(const char *path, tokenized_dataset *set)
{
    mgk_mapping file;
    TRY(mgk_map_file(path, &file));
    mgk_span text = {(const char *)file.data, file.size};
    mgk_status status = text.size == 0 ? mgk_fail(STATUS_SHAPE, "empty") : STATUS_OK;
    if (status == STATUS_OK && set->needs_text)
        status = mgk_utf8_check(text.data, text.size, 0);
    if (status == STATUS_OK)
        status = read_lines(set, text);
    mgk_unmap_file(&file);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

static mgk_status read_string(tokenized_dataset *set, mgk_span text)
{
    size_t start = count(&set->ids), length;
    if (set->needs_text)
        TRY(mgk_utf8_check(text.data, text.size, 0));
    TRY(append_ids(set, text));
    TRY(finish_sequence(set, start, &length));
    return length > 0 ? STATUS_OK : mgk_fail(STATUS_SHAPE, "no tokens");
}

static mgk_status read_strings(const mgk_dataset_options *options, tokenized_dataset *set)
{
    for (size_t i = 0; i < options->string_count; i++) {
        const char *text = options->strings[i];
        const size_t size = options->string_sizes ? options->string_sizes[i] : strlen(text);
        char name[40];
        mgk_status status = read_string(set, (mgk_span){text, size});
        if (status == STATUS_OK)
            continue;
        snprintf(name, sizeof(name), "text %zu", i);
        return mgk_fail_prefix(status, name);
    }
    return STATUS_OK;
}

/* Windows over all ids: without a frame over those that have a next one. */
static void slide(const mgk_dataset_options *options, tokenized_dataset *set)
{
    const size_t ids = set->windows->count;
    set->slide = (mgk_windows){has_frame(set) || ids < 2 ? ids : ids - 1, set->room,
                               mgk_windows_stride(options->stride, set->room)};
    set->base.size = mgk_windows_count(&set->slide);
}

/* A rest shorter than a window counts only if there is no other window, or they slide. */
static mgk_status open_windows(const mgk_dataset_options *options, tokenized_dataset *set)
{
    TRY(mgk_alloc(1, sizeof(*set->windows), &set->windows));
    TRY(mgk_token_stream_open(options->tokenizer, options->paths, options->path_count, 0,
                              set->windows));
    size_t total = set->windows->count;
    set->base.bytes = set->windows->text_size;
    if (options->stride > 0 && total > 0)
        slide(options, set);
    else
        set->base.size = total > 0 && total < set->room ? 1 : total / set->room;
    return STATUS_OK;
}

static mgk_status open_lines(const mgk_dataset_options *options, tokenized_dataset *set)
{
    if (options->tokenizer)
        TRY(mgk_token_encoder_open(options->tokenizer, &set->encoder));
    set->needs_text = options->tokenizer && !mgk_tokenizer_keeps_bytes(options->tokenizer);
    for (size_t i = 0; i < options->path_count; i++)
        TRY(read_file(options->paths[i], set));
    TRY(read_strings(options, set));
    /* Without a token before it the first one of a line is not predicted, nor is what is cut. */
    if (set->cut > 0 || count(&set->before) == 0)
        set->base.bytes = 0;
    return STATUS_OK;
}

/* Words that are not known flatter a model: which ones they were is not predicted. */
static void tell_unknown(const mgk_tokenizer *tokenizer, tokenized_dataset *set)
{
    const mgk_token_stream *windows = set->windows;
    const size_t all = windows ? windows->count : count(&set->ids);
    const size_t unknown =
        windows ? windows->unknown : mgk_tokenizer_count_unknown(tokenizer, ids_of(&set->ids), all);
    mgk_dataset_tell_unknown(&set->base, unknown, all);
}

static mgk_status prepare(const mgk_dataset_options *options, tokenized_dataset *set)
{
    set->base.functions = &functions;
    set->base.shape = (mgk_dataset_shape){1, options->length, MGK_BYTE_VALUES, 0};
    set->room = options->length;
    set->every_line = options->every_line;
    if (!options->tokenizer)
        return STATUS_OK;
    mgk_token_frame frame = mgk_tokenizer_frame(options->tokenizer);
    TRY(mgk_frame_room(&frame, options->length, &set->room));
    set->base.shape.vocabulary = (size_t)mgk_tokenizer_vocabulary(options->tokenizer);
    TRY(mgk_buffer_append(&set->before, frame.before, frame.before_count * sizeof(int32_t)));
    return mgk_buffer_append(&set->after, frame.after, frame.after_count * sizeof(int32_t));
}

mgk_status mgk_tokenized_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status;
    tokenized_dataset *set;
    TRY(mgk_alloc(1, sizeof(*set), &set));
    CHECK(prepare(options, set));
    CHECK(options->lines || options->string_count > 0 ? open_lines(options, set)
                                                      : open_windows(options, set));
    if (set->base.size == 0)
        CHECK(mgk_fail(STATUS_SHAPE, "%s%s: no tokens", options->paths[0],
                       options->path_count > 1 ? " and others" : ""));
    if (options->tokenizer)
        tell_unknown(options->tokenizer, set);
    if (set->cut > 0)
        mgk_dataset_add_remark(&set->base, "%zu of %llu %s cut to %zu %s", set->cut,
                               (unsigned long long)set->base.size,
                               options->lines ? MGK_NOUN(set->base.size, "line is", "lines are")
                                              : MGK_NOUN(set->base.size, "text is", "texts are"),
                               options->length, MGK_NOUN(options->length, "token", "tokens"));
    /* All lines are encoded: the tokenizer may be closed. */
    mgk_token_encoder_close(set->encoder);
    set->encoder = NULL;
    *out = &set->base;
out:
    if (status != STATUS_OK)
        close_tokenized(&set->base);
    return status;
}
