/* SPDX-License-Identifier: MIT */
#include "data/datasets/token_stream.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/datasets/text_pieces.h"

enum {
    MOST_KEPT = 1 << 24, /* bytes of ids kept in memory */
};

/* A piece of the texts, and the number of tokens before it. */
typedef struct mark {
    size_t start, size; /* bytes */
    size_t first;
} mark;

static const mark *mark_at(const mgk_token_stream *stream, size_t index)
{
    return (const mark *)(const void *)stream->marks.data + index;
}

static size_t mark_count(const mgk_token_stream *stream)
{
    return stream->marks.size / sizeof(mark);
}

static mgk_status encode(mgk_token_stream *stream, size_t start, size_t size)
{
    stream->bytes.size = 0;
    TRY(mgk_buffer_reserve(&stream->bytes, size));
    TRY(mgk_texts_read(&stream->texts, start, size, stream->bytes.data));
    return mgk_token_encode(stream->encoder, (const char *)stream->bytes.data, size, &stream->ids);
}

static mgk_status add_piece(mgk_token_stream *stream, size_t start, size_t size)
{
    const mark piece = {start, size, stream->count};
    if (!stream->kept)
        stream->ids.size = 0;
    size_t before = stream->ids.size;
    TRY(encode(stream, start, size));
    TRY(mgk_buffer_append(&stream->marks, &piece, sizeof(piece)));
    const size_t count = (stream->ids.size - before) / sizeof(int32_t);
    stream->count += count;
    if (count > 0) {
        const int32_t *added = (const int32_t *)(const void *)(stream->ids.data + before);
        stream->unknown += mgk_tokenizer_count_unknown(stream->tokenizer, added, count);
    }
    if (stream->ids.size > stream->most_kept && stream->kept) {
        stream->kept = false;
        mgk_buffer_free(&stream->ids);
    }
    return STATUS_OK;
}

static mgk_status add_file(mgk_token_stream *stream, const char *path)
{
    const size_t first = stream->texts.size;
    size_t start = first, size;
    TRY(mgk_texts_add(&stream->texts, path));
    for (size_t end = stream->texts.size; start < end; start += size) {
        TRY(mgk_texts_cut(&stream->texts, stream->tokenizer, start, end, &stream->bytes, &size));
        mgk_status status = add_piece(stream, start, size);
        if (status == STATUS_OK &&
            !mgk_tokenizer_keeps_bytes(
                stream->tokenizer)) /* of the piece, which the buffer still holds */
            status = mgk_utf8_check((const char *)stream->bytes.data, size, start - first);
        if (status != STATUS_OK)
            return mgk_fail_prefix(status, path);
    }
    return STATUS_OK;
}

mgk_status mgk_token_stream_open(const mgk_tokenizer *tokenizer, const char *const *paths,
                                 size_t path_count, size_t most_kept, mgk_token_stream *out)
{
    *out = (mgk_token_stream){
        .kept = true, .most_kept = most_kept ? most_kept : MOST_KEPT, .tokenizer = tokenizer};
    pthread_mutex_init(&out->lock, NULL);
    TRY(mgk_token_encoder_open(tokenizer, &out->encoder));
    for (size_t i = 0; i < path_count; i++)
        TRY(add_file(out, paths[i]));
    out->text_size = out->texts.size;
    if (!out->kept)
        return STATUS_OK;
    /* All tokens are kept: texts and tokenizer are not needed any more. */
    mgk_texts_free(&out->texts);
    mgk_buffer_free(&out->marks);
    mgk_buffer_free(&out->bytes);
    mgk_token_encoder_close(out->encoder);
    out->encoder = NULL;
    return STATUS_OK;
}

void mgk_token_stream_close(mgk_token_stream *stream)
{
    if (stream->tokenizer)
        pthread_mutex_destroy(&stream->lock);
    mgk_token_encoder_close(stream->encoder);
    mgk_texts_free(&stream->texts);
    mgk_buffer_free(&stream->marks);
    mgk_buffer_free(&stream->ids);
    mgk_buffer_free(&stream->bytes);
    *stream = (mgk_token_stream){.count = 0};
}

/* Finds the last piece that begins at token `first` or before. */
static size_t find(const mgk_token_stream *stream, size_t first)
{
    size_t low = 0, high = mark_count(stream);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (mark_at(stream, middle)->first <= first)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The caller holds the lock. */
static mgk_status make_again(mgk_token_stream *stream, size_t first, size_t count, int32_t *ids)
{
    for (size_t piece = count > 0 ? find(stream, first) : 0; count > 0; piece++) {
        const mark *m = mark_at(stream, piece);
        stream->ids.size = 0;
        TRY(encode(stream, m->start, m->size));
        size_t end = piece + 1 < mark_count(stream) ? m[1].first : stream->count;
        if (stream->ids.size / sizeof(int32_t) != end - m->first)
            return mgk_fail(STATUS_FORMAT, "a text has changed since it was opened");
        size_t size = end - first < count ? end - first : count;
        if (size > 0)
            memcpy(ids, stream->ids.data + (first - m->first) * sizeof(*ids), size * sizeof(*ids));
        ids += size;
        first += size;
        count -= size;
    }
    return STATUS_OK;
}

mgk_status mgk_token_stream_read(mgk_token_stream *stream, size_t first, size_t count, int32_t *ids)
{
    if (stream->kept) {
        if (count > 0)
            memcpy(ids, stream->ids.data + first * sizeof(*ids), count * sizeof(*ids));
        return STATUS_OK;
    }
    pthread_mutex_lock(&stream->lock);
    mgk_status status = make_again(stream, first, count, ids);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* Consecutive pieces give the same hash as their concatenation. */
mgk_status mgk_token_stream_hash(mgk_token_stream *stream, uint64_t *hash)
{
    enum { HASHED = 1 << 16 };
    int32_t *ids;
    mgk_status status = STATUS_OK;
    TRY(mgk_alloc(HASHED, sizeof(*ids), &ids));
    for (size_t at = 0; at < stream->count; at += HASHED) {
        const size_t left = stream->count - at, size = left < HASHED ? left : HASHED;
        CHECK(mgk_token_stream_read(stream, at, size, ids));
        *hash = mgk_hash(*hash, ids, size * sizeof(*ids));
    }
out:
    mgk_free(ids);
    return status;
}
