/* SPDX-License-Identifier: MIT */
#include "data/datasets/dataset.h"

#include <stdarg.h>

#include "base/append.h"
#include "base/hash.h"
#include "data/datasets/implementation.h"

void mgk_dataset_close(mgk_dataset *dataset)
{
    if (dataset)
        dataset->functions->close(dataset);
}

mgk_dataset_shape mgk_dataset_shape_of(const mgk_dataset *dataset)
{
    return dataset->shape;
}

uint64_t mgk_dataset_size(const mgk_dataset *dataset)
{
    return dataset->size;
}

double mgk_dataset_token_bytes(const mgk_dataset *dataset)
{
    return dataset->tokens > 0 ? (double)dataset->bytes / (double)dataset->tokens : 0;
}

uint64_t mgk_dataset_bytes(const mgk_dataset *dataset)
{
    return dataset->bytes;
}

void mgk_dataset_add_remark(mgk_dataset *dataset, const char *format, ...)
{
    va_list words;
    if (*dataset->remark)
        mgk_append(dataset->remark, sizeof(dataset->remark), "; ");
    va_start(words, format);
    mgk_append_values(dataset->remark, sizeof(dataset->remark), format, words);
    va_end(words);
}

void mgk_dataset_tell_unknown(mgk_dataset *dataset, size_t unknown, size_t all)
{
    if (unknown > 0)
        mgk_dataset_add_remark(dataset, "%zu of %zu tokens (%.2f %%) are not in the vocabulary",
                               unknown, all, 100 * (double)unknown / (double)all);
}

const char *mgk_dataset_remark(const mgk_dataset *dataset)
{
    return *dataset->remark ? dataset->remark : NULL;
}

void mgk_dataset_fit(mgk_dataset *dataset, const uint64_t *samples, size_t count)
{
    size_t longest = 0;
    if (!dataset->functions->length)
        return;
    for (size_t i = 0; i < count; i++) {
        const size_t length = dataset->functions->length(dataset, samples[i]);
        if (length > longest)
            longest = length;
    }
    dataset->shape.length = longest;
}

mgk_status mgk_dataset_hash(const mgk_dataset *dataset, uint64_t *hash)
{
    *hash = mgk_hash(MGK_HASH_START, &dataset->shape, sizeof(dataset->shape));
    *hash = mgk_hash(*hash, &dataset->size, sizeof(dataset->size));
    return dataset->functions->hash(dataset, hash);
}

mgk_status mgk_dataset_sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                              int32_t *lengths, int32_t *targets)
{
    if (dataset->size > 0 && index >= dataset->size)
        return mgk_fail(STATUS_USAGE, "sample %llu of a dataset of %llu", (unsigned long long)index,
                        (unsigned long long)dataset->size);
    return dataset->functions->sample(dataset, index, tokens, lengths, targets);
}
