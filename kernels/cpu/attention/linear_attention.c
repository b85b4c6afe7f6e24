/* SPDX-License-Identifier: MIT */
/*
 * The output of linear attention in O(N): the state holds all keys, or those of all earlier chunks.
 */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/linear.h"
#include "kernels/cpu/operations.h"

/* Attends from one chunk of queries to the state and, if causal, to the keys of the same chunk. */
static void attend_chunk(mgk_linear_head *head, real *sum, real *output, size_t output_stride)
{
    const size_t dim = head->dim, cols = mgk_cpu_padded(dim), wide = head->wide;
    const size_t tiled = mgk_tile_rows(head->rows);
    MGK_CPU(linear_normalizers)(head);
    mgk_tile_multiply(tiled, cols, mgk_feature_count(&head->linear->features, dim),
                      (mgk_tile_operand){head->query, 1, MGK_LINEAR_CHUNK}, head->state, wide, NULL,
                      0, sum, wide);
    for (size_t i = 0; head->linear->gate && i < head->rows; i++)
#pragma omp simd
        for (size_t d = 0; d < dim; d++)
            sum[i * wide + d] *= head->enter[i];
    if (head->view->causal)
        mgk_tile_multiply(tiled, cols, head->rows,
                          (mgk_tile_operand){head->scores, MGK_LINEAR_CHUNK, 1}, head->value, wide,
                          sum, wide, sum, wide);
    for (size_t i = 0; i < head->rows; i++) {
        real inverse = head->inverse[head->first + i];
        real *out = output + mgk_linear_token_index(head, output_stride, head->first + i);
#pragma omp simd
        for (size_t d = 0; d < dim; d++)
            out[d] = inverse * sum[i * wide + d];
    }
}

/* Rows whose scores have vanished: the mean of the values they see. */
static void fill_uniform(const mgk_linear_head *head, real *sum, real *output, size_t output_stride)
{
    size_t dim = head->dim, stride = head->view->value_stride;
    const real *value = head->view->value;
    size_t seen = 0, j = 0;
    memset(sum, 0, dim * sizeof(real));
    for (size_t i = 0; i < head->n; i++) {
        for (; j < mgk_linear_visible(head, i); j++) {
            const bool masked = mgk_linear_masked(head, j);
            seen += !masked;
            for (size_t d = 0; d < dim && !masked; d++)
                sum[d] += value[mgk_linear_token_index(head, stride, j) + d];
        }
        real *out = output + mgk_linear_token_index(head, output_stride, i);
        if (mgk_linear_uniform(head, head->inverse[i]))
            for (size_t d = 0; d < dim; d++)
                out[d] = seen > 0 ? sum[d] / (real)seen : 0;
    }
}

/* Output rows of one head; padding rows are 0. */
static void attend(mgk_linear_head *head, real *output, size_t output_stride)
{
    size_t dim = head->dim;
    bool causal = head->view->causal;
    real *sum = head->scratch; /* [MGK_LINEAR_CHUNK, wide] */
    for (size_t first = 0; !causal && first < head->n; first += MGK_LINEAR_CHUNK) {
        MGK_CPU(linear_keys)(head, first);
        MGK_CPU(linear_add_keys)(head);
    }
    for (size_t first = 0; first < head->n; first += MGK_LINEAR_CHUNK) {
        if (causal)
            MGK_CPU(linear_keys)(head, first);
        MGK_CPU(linear_queries)(head, first);
        if (causal)
            MGK_CPU(linear_scores)(head);
        attend_chunk(head, sum, output, output_stride);
        if (causal)
            MGK_CPU(linear_add_keys)(head);
    }
    if (head->uniform)
        fill_uniform(head, sum, output, output_stride);
    for (size_t i = head->n; i < (size_t)head->view->tokens; i++)
        memset(output + mgk_linear_token_index(head, output_stride, i), 0, dim * sizeof(real));
}

mgk_status MGK_CPU(linear_attention)(mgk_device *device, const mgk_attention_view *view,
                                     const mgk_linear *linear, void *output, size_t output_stride)
{
    size_t heads = (size_t)view->heads, tasks = (size_t)view->samples * heads;
    size_t extra = MGK_LINEAR_CHUNK * mgk_cpu_pitch((size_t)view->dim + 1);
    size_t scratch = MGK_CPU(linear_scratch)(view, linear, extra);
    TRY(mgk_cpu_reserve_scratch(device, scratch * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t task = 0; task < tasks; task++) {
        mgk_linear_head head;
        MGK_CPU(linear_begin)
        (view, linear, task / heads, task % heads, extra,
         mgk_cpu_scratch(device, omp_get_thread_num()), &head);
        attend(&head, output, output_stride);
    }
    return STATUS_OK;
}
