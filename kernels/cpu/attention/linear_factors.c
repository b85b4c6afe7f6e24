/* SPDX-License-Identifier: MIT */
/* Thin factors of the matrix of linear attention without a causal mask. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/linear.h"
#include "kernels/cpu/operations.h"

/*
 * right [n, R + 1] = [f_j, 1] with the shifts of their chunks, [0, 0] of masked keys; the state
 * sums the normalizers. Returns the number of keys that are seen.
 */
static size_t gather_right(mgk_linear_head *head, real *right)
{
    size_t features = mgk_feature_count(&head->linear->features, head->dim), seen = 0;
    for (size_t first = 0; first < head->n; first += MGK_LINEAR_CHUNK) {
        MGK_CPU(linear_keys)(head, first);
        MGK_CPU(linear_add_keys)(head);
        mgk_transpose(features, head->rows, head->feature, MGK_LINEAR_CHUNK,
                      right + first * (features + 1), features + 1);
        for (size_t j = first; j < first + head->rows; j++) {
            const bool masked = mgk_linear_masked(head, j);
            right[j * (features + 1) + features] = !masked;
            seen += !masked;
        }
    }
    return seen;
}

/* Brings all keys to the shift of the last chunk. */
static void join_shifts(const mgk_linear_head *head, real *right)
{
    size_t features = mgk_feature_count(&head->linear->features, head->dim);
    for (size_t j = 0; j < head->n; j++) {
        real factor = mgk_exp(head->shifts[j / MGK_LINEAR_CHUNK] - head->key_scale.shift);
        for (size_t r = 0; r < features && factor != 1; r++)
            right[j * (features + 1) + r] *= factor;
    }
}

/* left [n, R + 1] = [φ(q_i) / Z_i, 0], or [0, 1 / seen] where the row is uniform. */
static void gather_left(mgk_linear_head *head, size_t seen, real *left)
{
    size_t features = mgk_feature_count(&head->linear->features, head->dim);
    for (size_t first = 0; first < head->n; first += MGK_LINEAR_CHUNK) {
        MGK_CPU(linear_queries)(head, first);
        MGK_CPU(linear_normalizers)(head);
        mgk_transpose(features, head->rows, head->query, MGK_LINEAR_CHUNK,
                      left + first * (features + 1), features + 1);
        for (size_t i = first; i < first + head->rows; i++) {
            real *row = left + i * (features + 1), inverse = head->inverse[i];
#pragma omp simd
            for (size_t r = 0; r < features; r++)
                row[r] *= inverse;
            row[features] = mgk_linear_uniform(head, inverse) ? mgk_linear_blank(seen) : 0;
        }
    }
}

mgk_status MGK_CPU(linear_factors)(mgk_device *device, const mgk_attention_view *view,
                                   const mgk_linear *linear, int sample, const int32_t *heads,
                                   int count, void *left, void *right)
{
    size_t features = mgk_feature_count(&linear->features, (size_t)view->dim);
    size_t size = (size_t)view->tokens * (features + 1);
    TRY(mgk_cpu_reserve_scratch(device, MGK_CPU(linear_scratch)(view, linear, 0) * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (int which = 0; which < count; which++) {
        real *own_left = (real *)left + (size_t)which * size;
        real *own_right = (real *)right + (size_t)which * size;
        mgk_linear_head head;
        memset(own_left, 0, size * sizeof(real));
        memset(own_right, 0, size * sizeof(real));
        MGK_CPU(linear_begin)
        (view, linear, (size_t)sample, (size_t)heads[which], 0,
         mgk_cpu_scratch(device, omp_get_thread_num()), &head);
        const size_t seen = gather_right(&head, own_right);
        join_shifts(&head, own_right);
        gather_left(&head, seen, own_left);
    }
    return STATUS_OK;
}
