/* SPDX-License-Identifier: MIT */
#include "data/datasets/documents.h"

#include <string.h>

#include "base/hash.h"
#include "base/sha256.h"

static size_t start_of(const mgk_documents *documents, size_t index)
{
    return ((const size_t *)(const void *)documents->starts.data)[index];
}

mgk_status mgk_documents_open(const mgk_tokenizer *tokenizer, size_t length, mgk_documents *out)
{
    const size_t first = 0;
    *out = (mgk_documents){.digests.most = INT32_MAX};
    TRY(mgk_sequencer_open(tokenizer, length, &out->sequencer));
    const int32_t vocabulary = tokenizer ? mgk_tokenizer_vocabulary(tokenizer) : 0;
    out->width = vocabulary <= 1 << 8 ? 1 : vocabulary <= 1 << 16 ? 2 : 4;
    return mgk_buffer_append(&out->starts, &first, sizeof(first));
}

void mgk_documents_close(mgk_documents *documents)
{
    mgk_sequencer_close(&documents->sequencer);
    mgk_buffer_free(&documents->ids);
    mgk_buffer_free(&documents->starts);
    mgk_vocabulary_free(&documents->digests);
    *documents = (mgk_documents){0};
}

/* Appends ids with the width of the documents. */
static mgk_status append(mgk_documents *documents, const int32_t *ids, size_t count)
{
    TRY(mgk_buffer_reserve(&documents->ids, count * documents->width));
    for (size_t i = 0; i < count; i++) {
        const uint8_t byte = (uint8_t)ids[i];
        const uint16_t narrow = (uint16_t)ids[i];
        const void *id = documents->width == 1   ? (const void *)&byte
                         : documents->width == 2 ? (const void *)&narrow
                                                 : (const void *)&ids[i];
        TRY(mgk_buffer_append(&documents->ids, id, documents->width));
    }
    return STATUS_OK;
}

static int32_t id_at(const mgk_documents *documents, size_t place)
{
    const unsigned char *id = documents->ids.data + place * documents->width;
    uint16_t narrow;
    int32_t wide;
    if (documents->width == 1)
        return *id;
    if (documents->width == 2) {
        memcpy(&narrow, id, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, id, sizeof(wide));
    return wide;
}

mgk_status mgk_documents_add(mgk_documents *documents, const char *text, size_t size)
{
    const mgk_sequencer *s = &documents->sequencer;
    TRY(mgk_sequencer_read(&documents->sequencer, text, size));
    const int32_t *ids = (const int32_t *)(const void *)s->ids.data;
    const size_t count = s->ids.size / sizeof(*ids);
    TRY(append(documents, ids, count));
    if (s->tokenizer)
        documents->unknown += mgk_tokenizer_count_unknown(s->tokenizer, ids, count);
    documents->all += count;
    const size_t end = documents->ids.size / documents->width;
    TRY(mgk_buffer_append(&documents->starts, &end, sizeof(end)));
    documents->count++;
    return STATUS_OK;
}

mgk_status mgk_documents_find(mgk_documents *documents, const char *text, size_t size,
                              size_t *index)
{
    char hex[MGK_SHA256_HEX_SIZE];
    TRY(mgk_sha256_bytes(text, size, hex));
    const mgk_span digest = {hex, strlen(hex)};
    const int32_t known = mgk_vocabulary_find(&documents->digests, digest);
    *index = known >= 0 ? (size_t)known : documents->count;
    if (known >= 0)
        return STATUS_OK;
    TRY(mgk_documents_add(documents, text, size));
    return mgk_vocabulary_set(&documents->digests, (int64_t)*index, digest);
}

void mgk_documents_row(const mgk_documents *documents, size_t index, size_t n, int32_t *tokens,
                       int32_t *length)
{
    const size_t start = start_of(documents, index), all = start_of(documents, index + 1) - start;
    const size_t count = all < n ? all : n;
    for (size_t i = 0; i < n; i++)
        tokens[i] = i < count ? id_at(documents, start + i) : -1;
    *length = (int32_t)count;
}

void mgk_documents_hash(const mgk_documents *documents, uint64_t *hash)
{
    *hash = mgk_hash(*hash, documents->starts.data, documents->starts.size);
    *hash = mgk_hash(*hash, documents->ids.data, documents->ids.size);
}
