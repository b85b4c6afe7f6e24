/* SPDX-License-Identifier: MIT */
/* Which keys of its group a query sees. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* The last token that a query may see; no query, −1, sees none. */
static int32_t last_seen(const mgk_group_mask *mask, int32_t query)
{
    return query < 0 || mask->causal ? query : INT32_MAX;
}

/* others [N]: which queries see another token in any group. */
static void find_others(const mgk_group_mask *mask, const int32_t *query, const int32_t *key,
                        bool *others)
{
    memset(others, 0, mask->tokens * sizeof *others);
    for (size_t q = 0; q < mask->groups * mask->queries; q++) {
        const int32_t own = query[q], last = last_seen(mask, own);
        const int32_t *keys = key + q / mask->queries * mask->keys;
        for (size_t k = 0; own >= 0 && k < mask->keys && !others[own]; k++)
            others[own] = keys[k] >= 0 && keys[k] <= last && keys[k] != own;
    }
}

/* One head of one sample; `others` [N] is memory. */
static void fill(const mgk_group_mask *mask, size_t b, size_t h, bool *others, real *out)
{
    const size_t matrix = b * mask->heads + h;
    const int32_t *query = mask->query + matrix * mask->groups * mask->queries;
    const int32_t *key = mask->key + matrix * mask->groups * mask->keys;
    find_others(mask, query, key, others);
    for (size_t g = 0; g < mask->groups; g++, key += mask->keys)
        for (size_t i = 0; i < mask->queries; i++) {
            const int32_t own = query[g * mask->queries + i], last = last_seen(mask, own);
            const int32_t hidden = own >= 0 && others[own] ? own : -1;
            real *row =
                out + (((b * mask->groups + g) * mask->heads + h) * mask->queries + i) * mask->keys;
#pragma omp simd
            for (size_t k = 0; k < mask->keys; k++)
                row[k] = (key[k] >= 0) & (key[k] <= last) & (key[k] != hidden) ? 0 : -INFINITY;
        }
}

mgk_status MGK_CPU(group_mask)(mgk_device *device, const mgk_group_mask *mask, void *out)
{
    TRY(mgk_cpu_reserve_scratch(device, mask->tokens * sizeof(bool)));
#pragma omp parallel for collapse(2) schedule(static) num_threads(device->threads)
    for (size_t b = 0; b < mask->samples; b++)
        for (size_t h = 0; h < mask->heads; h++)
            fill(mask, b, h, mgk_cpu_scratch(device, omp_get_thread_num()), out);
    return STATUS_OK;
}
