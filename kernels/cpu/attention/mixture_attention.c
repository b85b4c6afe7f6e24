/* SPDX-License-Identifier: MIT */
/* The output of softmax attention over biased keys, a block of queries at a time. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/mixture.h"
#include "kernels/cpu/operations.h"

/* Output rows of one head; padding rows are 0. */
static void attend(mgk_mixture_head *head, real *output, size_t output_stride, real *statistic)
{
    size_t dim = (size_t)mgk_view_value_dim(head->view);
    for (size_t first = 0; first < head->n; first += head->room.rows) {
        double divisor[MGK_MIXTURE_MOST_ROWS];
        MGK_CPU(mixture_queries)(head, first);
        MGK_CPU(mixture_logits)(head, 0);
        for (size_t i = 0; i < head->rows; i++) {
            statistic[first + i] = (real)MGK_CPU(mixture_normalize)(head, i, &divisor[i]);
            if (head->mixture->dropout > 0)
                MGK_CPU(mixture_drop)(head, i, mgk_mixture_row(head, 0, i), NULL);
        }
        MGK_CPU(mixture_output)(head, divisor, output, output_stride);
    }
    for (size_t i = head->n; i < (size_t)head->view->tokens; i++)
        memset(output + i * output_stride, 0, dim * sizeof(real));
}

mgk_status MGK_CPU(mixture_attention)(mgk_device *device, const mgk_attention_view *view,
                                      const mgk_mixture *mixture, void *output,
                                      size_t output_stride, void *statistic)
{
    size_t heads = (size_t)view->heads, tokens = (size_t)view->tokens;
    size_t tasks = (size_t)view->samples * heads, dim = (size_t)mgk_view_value_dim(view);
    mgk_mixture_room room = MGK_CPU(mixture_room)(view, mixture, (size_t)view->mixtures);
    size_t extra = mgk_mixture_output_scratch(view, room.rows);
    size_t scratch = MGK_CPU(mixture_scratch)(view, mixture, MGK_MIXTURE_OUTPUT, &room, extra);
    TRY(mgk_cpu_reserve_scratch(device, scratch * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t task = 0; task < tasks; task++) {
        size_t sample = task / heads, head_index = task % heads;
        mgk_mixture_head head;
        MGK_CPU(mixture_pack)
        (view, mixture, MGK_MIXTURE_OUTPUT, sample, head_index, &room,
         mgk_cpu_scratch(device, omp_get_thread_num()), &head);
        attend(&head, (real *)output + sample * tokens * output_stride + head_index * dim,
               output_stride, (real *)statistic + task * tokens);
    }
    return STATUS_OK;
}
