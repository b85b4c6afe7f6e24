/* SPDX-License-Identifier: MIT */
#include "data/datasets/class_token.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "data/datasets/implementation.h"

typedef struct class_dataset {
    mgk_dataset base;
    mgk_dataset *inner;
    size_t length;    /* N of the other dataset */
    int32_t class_id; /* its V */
} class_dataset;

/* Rows [sequences, N] of the other dataset. */
typedef struct rows {
    int32_t *tokens, *targets;
} rows;

static void add_class(const class_dataset *set, const rows *from, int32_t *tokens, int32_t *lengths,
                      int32_t *targets)
{
    const mgk_dataset_shape *shape = &set->base.shape;
    const size_t n = shape->length, kept = n - 1 < set->length ? n - 1 : set->length;
    for (size_t s = 0; s < shape->sequences; s++) {
        int32_t *row = tokens + s * n;
        row[0] = set->class_id;
        memcpy(row + 1, from->tokens + s * set->length, kept * sizeof(*row));
        for (size_t i = kept + 1; i < n; i++)
            row[i] = -1;
        lengths[s]++;
    }
    if (shape->classes > 0) {
        targets[0] = from->targets[0];
        return;
    }
    for (size_t i = 0; i < n; i++)
        targets[i] = i > 0 && i <= kept ? from->targets[i - 1] : -1;
}

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const class_dataset *set = (const class_dataset *)dataset;
    mgk_status status;
    rows from = {NULL, NULL};
    const size_t count = set->base.shape.sequences * set->length;
    CHECK(mgk_alloc(count, sizeof(*from.tokens), &from.tokens));
    CHECK(mgk_alloc(count, sizeof(*from.targets), &from.targets));
    CHECK(mgk_dataset_sample(set->inner, index, from.tokens, lengths, from.targets));
    add_class(set, &from, tokens, lengths, targets);
out:
    mgk_free(from.tokens);
    mgk_free(from.targets);
    return status;
}

static size_t length(const mgk_dataset *dataset, uint64_t index)
{
    const class_dataset *set = (const class_dataset *)dataset;
    return set->inner->functions->length(set->inner, index) + 1;
}

static mgk_status hash_class(const mgk_dataset *dataset, uint64_t *hash)
{
    const class_dataset *set = (const class_dataset *)dataset;
    *hash = mgk_hash(*hash, &set->class_id, sizeof(set->class_id));
    return set->inner->functions->hash(set->inner, hash);
}

static void close_class(mgk_dataset *dataset)
{
    class_dataset *set = (class_dataset *)dataset;
    mgk_dataset_close(set->inner);
    mgk_free(set);
}

static const mgk_dataset_functions whole = {sample, NULL, hash_class, close_class};
static const mgk_dataset_functions shorter = {sample, length, hash_class, close_class};

mgk_status mgk_class_token_add(mgk_dataset *dataset, mgk_dataset **out)
{
    class_dataset *set;
    *out = NULL;
    mgk_status status = mgk_alloc(1, sizeof(*set), &set);
    if (status != STATUS_OK) {
        mgk_dataset_close(dataset);
        return status;
    }
    set->base = *dataset;
    set->base.functions = dataset->functions->length ? &shorter : &whole;
    set->base.shape.length++;
    set->base.shape.vocabulary++;
    set->inner = dataset;
    set->length = dataset->shape.length;
    set->class_id = (int32_t)dataset->shape.vocabulary;
    *out = &set->base;
    return STATUS_OK;
}
