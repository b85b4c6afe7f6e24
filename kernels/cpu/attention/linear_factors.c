/* SPDX-License-Identifier: MIT */
/* Thin factors of the matrix of linear attention without a causal mask. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/linear.h"
#include "kernels/cpu/operations.h"

/* right [n, D + 1] = [f_j, 1]; the state accumulates the rows' normalizers. */
static void gather_right(mgk_linear_head *head, real *right)
{
    size_t dim = (size_t)head->view->dim;
    for (size_t first = 0; first < head->n; first += MGK_LINEAR_CHUNK) {
        MGK_CPU(linear_keys)(head, first);
        MGK_CPU(linear_accumulate)(head, head->value, head->feature, head->state);
        for (size_t j = 0; j < head->rows; j++) {
            real *row = right + (first + j) * (dim + 1);
            memcpy(row, head->feature + j * head->depth, dim * sizeof(real));
            row[dim] = 1;
        }
    }
}

/* left [n, D + 1] = [φ(q_i) / Z_i, 0], or [0, 1 / n] where the row is uniform. */
static void gather_left(mgk_linear_head *head, real *left)
{
    size_t dim = (size_t)head->view->dim;
    for (size_t first = 0; first < head->n; first += MGK_LINEAR_CHUNK) {
        MGK_CPU(linear_queries)(head, first);
        MGK_CPU(linear_normalizers)(head);
        for (size_t i = 0; i < head->rows; i++) {
            const real *query = head->query + i * head->depth;
            real *row = left + (first + i) * (dim + 1), inverse = head->inverse[first + i];
#pragma omp simd
            for (size_t d = 0; d < dim; d++)
                row[d] = inverse * query[d];
            row[dim] = mgk_linear_uniform(head, inverse) ? 1 / (real)head->n : 0;
        }
    }
}

mgk_status MGK_CPU(linear_factors)(mgk_device *device, const mgk_attention_view *view,
                                   const mgk_linear *linear, int sample, const int32_t *heads,
                                   int count, void *left, void *right)
{
    size_t size = (size_t)view->tokens * ((size_t)view->dim + 1);
    TRY(mgk_cpu_reserve_scratch(device, MGK_CPU(linear_scratch)(view, 0) * sizeof(real)));
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
        gather_right(&head, own_right);
        gather_left(&head, own_left);
    }
    return STATUS_OK;
}
