/* SPDX-License-Identifier: MIT */
#include "data/datasets/labelled.h"

#include "base/hash.h"
#include "base/memory.h"

typedef struct entry {
    size_t start; /* in bytes */
    size_t length;
    int32_t label;
} entry;

static const entry *entry_of(const mgk_labelled *labelled, uint64_t index)
{
    return (const entry *)(const void *)labelled->entries.data + index;
}

const unsigned char *mgk_labelled_tokens(const mgk_labelled *labelled, uint64_t index,
                                         size_t *length)
{
    *length = entry_of(labelled, index)->length;
    return labelled->bytes.data + entry_of(labelled, index)->start;
}

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const mgk_labelled *labelled = (const mgk_labelled *)dataset;
    size_t length;
    const unsigned char *bytes = mgk_labelled_tokens(labelled, index, &length);
    mgk_fill_row(bytes, length, dataset->shape.length, tokens, lengths);
    targets[0] = entry_of(labelled, index)->label;
    return STATUS_OK;
}

/* Hashes field by field, because an entry ends in padding bytes. */
static mgk_status hash_labelled(const mgk_dataset *dataset, uint64_t *hash)
{
    const mgk_labelled *labelled = (const mgk_labelled *)dataset;
    for (uint64_t i = 0; i < dataset->size; i++) {
        const entry *e = entry_of(labelled, i);
        *hash = mgk_hash(*hash, &e->length, sizeof(e->length));
        *hash = mgk_hash(*hash, &e->label, sizeof(e->label));
    }
    *hash = mgk_hash(*hash, labelled->bytes.data, labelled->bytes.size);
    return STATUS_OK;
}

static void close_labelled(mgk_dataset *dataset)
{
    mgk_labelled *labelled = (mgk_labelled *)dataset;
    mgk_buffer_free(&labelled->bytes);
    mgk_buffer_free(&labelled->entries);
    mgk_free(labelled);
}

static const mgk_dataset_functions functions = {sample, NULL, hash_labelled, close_labelled};

mgk_status mgk_labelled_create(mgk_dataset_shape shape, mgk_labelled **out)
{
    TRY(mgk_alloc(1, sizeof(**out), out));
    (*out)->base.functions = &functions;
    (*out)->base.shape = shape;
    return STATUS_OK;
}

mgk_status mgk_labelled_append(mgk_labelled *labelled, const unsigned char *tokens, size_t length,
                               int32_t label)
{
    entry added = {labelled->bytes.size, length, label};
    TRY(mgk_buffer_append(&labelled->bytes, tokens, length));
    TRY(mgk_buffer_append(&labelled->entries, &added, sizeof(added)));
    labelled->base.size++;
    return STATUS_OK;
}
