/* SPDX-License-Identifier: MIT */
/* The explicit attention matrix of a mixture. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/mixture.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/operations.h"

/* out [width] = row i of the block, s_ij = Σ_r or max_r exp l_ijr, including the offset. */
static void row_scores(const mgk_mixture_head *head, size_t i, real *out)
{
    real offset = (real)head->offset[i];
    memset(out, 0, head->width * sizeof(real));
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        const real *row = mgk_mixture_row(head, r, i);
        bool hard = head->mixture->hard;
        for (size_t j = 0; j < head->width; j++) {
            real score = mgk_exp(row[j] - offset);
            out[j] = !hard ? out[j] + score : score > out[j] ? score : out[j];
        }
    }
}

/* out [keys] = the row of a block, times `factor`; 0 for keys that query i does not see. */
static void spread_row(const mgk_mixture_head *head, size_t i, const real *row, real factor,
                       real *out)
{
    size_t done = 0;
    for (size_t k = 0; k < head->run_count; k++) {
        const mgk_mixture_span seen = mgk_mixture_clip(head, k, i);
        const real *from = row + head->runs[k].at + (seen.first - head->runs[k].begin);
        memset(out + done, 0, (seen.first - done) * sizeof(real));
#pragma omp simd
        for (size_t j = 0; j < seen.end - seen.first; j++)
            out[seen.first + j] = from[j] * factor;
        done = seen.end;
    }
    memset(out + done, 0, ((size_t)mgk_view_keys(head->view) - done) * sizeof(real));
}

/* The results for some heads of a sample: matrices, and optionally the output. */
typedef struct result {
    mgk_matrix_content content;
    real *matrix; /* [heads, N, keys] */
    real *output; /* rows `stride` apart; NULL: not requested */
    size_t stride;
} result;

/* Rows first … end − 1 of one head's matrix and output. */
static void fill_rows(mgk_mixture_head *head, size_t first, size_t end, const result *out)
{
    size_t keys = (size_t)mgk_view_keys(head->view);
    for (; first < end; first += head->room.rows) {
        double divisor[MGK_MIXTURE_MOST_ROWS];
        MGK_CPU(mixture_queries)(head, first);
        MGK_CPU(mixture_logits)(head, 0);
        for (size_t i = 0; i < head->rows; i++) {
            real *row = mgk_mixture_row(head, 0, i);
            if (out->content == MGK_MATRIX_SCORES)
                row_scores(head, i, row = head->scratch);
            else
                MGK_CPU(mixture_normalize)(head, i, &divisor[i]);
            real factor = out->content == MGK_MATRIX_SCORES ? 1 : (real)(1 / divisor[i]);
            spread_row(head, i, row, factor, out->matrix + (first + i) * keys);
        }
        if (out->output)
            MGK_CPU(mixture_output)(head, divisor, out->output, out->stride);
    }
}

/* Clears the padding rows of one head. */
static void clear_padding(const mgk_attention_view *view, size_t n, const result *out)
{
    size_t tokens = (size_t)view->tokens, keys = (size_t)mgk_view_keys(view);
    memset(out->matrix + n * keys, 0, (tokens - n) * keys * sizeof(real));
    for (size_t i = n; out->output && i < tokens; i++)
        memset(out->output + i * out->stride, 0, (size_t)mgk_view_value_dim(view) * sizeof(real));
}

/* If there are fewer heads than threads, cuts a head into parts of whole blocks of rows. */
static mgk_status make(mgk_device *device, const mgk_attention_view *view,
                       const mgk_mixture *mixture, int sample, const int32_t *heads, int count,
                       const result *out)
{
    size_t tokens = (size_t)view->tokens, n = (size_t)view->lengths[sample];
    mgk_mixture_room room = MGK_CPU(mixture_room)(view, mixture, (size_t)view->mixtures);
    size_t rows = room.rows;
    mgk_mixture_use use = out->output ? MGK_MIXTURE_OUTPUT : MGK_MIXTURE_LOGITS;
    /* The output's sums, or a row of scores. */
    size_t extra = out->output ? mgk_mixture_output_scratch(view, rows) : room.pitch;
    size_t scratch = MGK_CPU(mixture_scratch)(view, mixture, use, &room, extra);
    size_t parts = (2 * (size_t)device->threads + (size_t)count) / ((size_t)count + 1);
    size_t blocks = (n + rows - 1) / rows, part_rows = (blocks + parts - 1) / parts * rows;
    TRY(mgk_cpu_reserve_scratch(device, scratch * sizeof(real)));
#pragma omp parallel for schedule(dynamic) collapse(2) num_threads(device->threads)
    for (int which = 0; which < count; which++)
        for (size_t part = 0; part < parts; part++) {
            size_t first = part * part_rows, end = first + part_rows;
            size_t index = (size_t)heads[which];
            mgk_mixture_head head;
            result own = *out;
            own.matrix += (size_t)which * tokens * (size_t)mgk_view_keys(view);
            if (own.output)
                own.output += index * (size_t)mgk_view_value_dim(view);
            if (part == 0)
                clear_padding(view, n, &own);
            if (first >= n)
                continue;
            MGK_CPU(mixture_pack)
            (view, mixture, use, (size_t)sample, index, &room,
             mgk_cpu_scratch(device, omp_get_thread_num()), &head);
            fill_rows(&head, first, end < n ? end : n, &own);
        }
    return STATUS_OK;
}

mgk_status MGK_CPU(mixture_matrix)(mgk_device *device, const mgk_attention_view *view,
                                   const mgk_mixture *mixture, mgk_matrix_content content,
                                   int first, int samples, const int32_t *heads, int count,
                                   void *matrix)
{
    const size_t each = (size_t)count * (size_t)view->tokens * (size_t)mgk_view_keys(view);
    for (int i = 0; i < samples; i++)
        TRY(make(device, view, mixture, first + i, heads, count,
                 &(result){.content = content, .matrix = (real *)matrix + (size_t)i * each}));
    return STATUS_OK;
}

mgk_status MGK_CPU(mixture_matrix_output)(mgk_device *device, const mgk_attention_view *view,
                                          const mgk_mixture *mixture, int sample,
                                          const int32_t *heads, int count, void *matrix,
                                          void *output, size_t output_stride)
{
    return make(device, view, mixture, sample, heads, count,
                &(result){MGK_MATRIX_ATTENTION, matrix, output, output_stride});
}
