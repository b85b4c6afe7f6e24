/* SPDX-License-Identifier: MIT */
/* Which keys of its group a query sees. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

static bool is_seen(const mgk_group_mask *mask, int32_t query, int32_t key)
{
    return query >= 0 && key >= 0 && (!mask->causal || key <= query);
}

/* One head of one sample; `others` [N] receives which queries see another token in any group. */
static void fill(const mgk_group_mask *mask, size_t b, size_t h, bool *others, real *out)
{
    const size_t matrix = b * mask->heads + h;
    const int32_t *query = mask->query + matrix * mask->groups * mask->queries;
    const int32_t *key = mask->key + matrix * mask->groups * mask->keys;
    memset(others, 0, mask->tokens * sizeof *others);
    for (size_t q = 0; q < mask->groups * mask->queries; q++)
        for (size_t k = 0; k < mask->keys; k++) {
            const int32_t j = key[q / mask->queries * mask->keys + k];
            if (is_seen(mask, query[q], j) && j != query[q])
                others[query[q]] = true;
        }
    for (size_t g = 0; g < mask->groups; g++)
        for (size_t i = 0; i < mask->queries; i++) {
            const int32_t own = query[g * mask->queries + i];
            real *row =
                out + (((b * mask->groups + g) * mask->heads + h) * mask->queries + i) * mask->keys;
            for (size_t k = 0; k < mask->keys; k++) {
                const int32_t j = key[g * mask->keys + k];
                row[k] = is_seen(mask, own, j) && (j != own || !others[own]) ? 0 : (real)-INFINITY;
            }
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
