/* SPDX-License-Identifier: MIT */
/* The explicit attention matrix of a mixture, and its responsibilities. */
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

/*
 * Replaces the logits of row i by exp(l_ijr − max_r l_ijr), and total [2, pitch] by their sums over
 * r, followed by the maxima: relative to the largest component nothing underflows. Pairs whose
 * scores are all 0 have a total of 0.
 */
static void relative_scores(const mgk_mixture_head *head, size_t i, real *total)
{
    size_t mixtures = (size_t)head->view->mixtures, width = head->width;
    real *largest = total + head->room.pitch;
    memcpy(largest, mgk_mixture_row(head, 0, i), width * sizeof(real));
    for (size_t r = 1; r < mixtures; r++)
        for (size_t j = 0; j < width; j++) {
            real logit = mgk_mixture_row(head, r, i)[j];
            largest[j] = logit > largest[j] ? logit : largest[j];
        }
    memset(total, 0, width * sizeof(real));
    for (size_t r = 0; r < mixtures; r++) {
        real *component = mgk_mixture_row(head, r, i);
#pragma omp simd
        for (size_t j = 0; j < width; j++) {
            real part = mgk_exp(component[j] - largest[j]);
            component[j] = largest[j] > (real)-INFINITY ? part : 0;
            total[j] += component[j];
        }
    }
}

/* The same of row i of a run with share_epsilon, from relative scores; see mgk_mixture. */
static void add_shares(const mgk_mixture_head *head, size_t i, const mgk_mixture_run *run,
                       double *sums, double *seen)
{
    const size_t last = (size_t)head->view->mixtures - 1, cols = mgk_mixture_sum_pitch(head->view);
    const real *total = head->scratch + run->at, *largest = total + head->room.pitch;
    const double offset = head->offset[i];
    for (size_t j = 0; j < run->width; j++) {
        const size_t key = run->begin + j;
        const double added = head->mixture->share_epsilon * exp(offset - (double)largest[j]);
        double rest = 1;
        if (!(total[j] > 0)) /* padding */
            continue;
        for (size_t r = 0; r < last; r++) {
            const double part = (double)mgk_mixture_row(head, r, i)[run->at + j];
            const double share = part > 0 ? part / ((double)total[j] + added) : 0;
            sums[r * cols + key] += share;
            rest -= share;
        }
        sums[last * cols + key] += rest;
        seen[key] += 1;
    }
}

/* sums [M, cols] += Σ_i γ_ijr and seen [cols] += the number of queries, of one head. */
static void add_responsibilities(mgk_mixture_head *head, double *sums, double *seen)
{
    size_t mixtures = (size_t)head->view->mixtures, cols = mgk_mixture_sum_pitch(head->view);
    for (size_t first = 0; first < head->n; first += head->room.rows) {
        MGK_CPU(mixture_queries)(head, first);
        MGK_CPU(mixture_logits)(head, 0);
        for (size_t i = 0; i < head->rows; i++) {
            relative_scores(head, i, head->scratch);
            for (size_t k = 0; k < head->run_count; k++) {
                const mgk_mixture_run *run = &head->runs[k];
                const real *total = head->scratch + run->at;
                if (head->mixture->share_epsilon > 0) {
                    add_shares(head, i, run, sums, seen);
                    continue;
                }
                for (size_t j = 0; j < run->width; j++)
                    seen[run->begin + j] += total[j] > 0;
                for (size_t r = 0; r < mixtures; r++) {
                    const real *component = mgk_mixture_row(head, r, i) + run->at;
                    double *sum = sums + r * cols + run->begin;
                    for (size_t j = 0; j < run->width; j++)
                        sum[j] += total[j] > 0 ? (double)(component[j] / total[j]) : 0;
                }
            }
        }
    }
}

mgk_status MGK_CPU(responsibilities)(mgk_device *device, const mgk_attention_view *view,
                                     const mgk_mixture *mixture, double *sums)
{
    size_t heads = (size_t)view->heads, mixtures = (size_t)view->mixtures;
    size_t cols = mgk_mixture_sum_pitch(view), per_head = (mixtures + 1) * cols;
    mgk_mixture_room room = MGK_CPU(mixture_room)(view, mixture, mixtures);
    size_t scratch =
        MGK_CPU(mixture_scratch)(view, mixture, MGK_MIXTURE_LOGITS, &room, 2 * room.pitch);
    double *parts = NULL; /* [H, M + 1, cols], the last row counts queries */
    mgk_status status = STATUS_OK;
    CHECK(mgk_alloc(heads * per_head, sizeof(double), &parts));
    CHECK(mgk_cpu_reserve_scratch(device, scratch * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t h = 0; h < heads; h++)
        for (size_t b = 0; b < (size_t)view->samples; b++) {
            mgk_mixture_head head;
            double *own = parts + h * per_head;
            MGK_CPU(mixture_pack)
            (view, mixture, MGK_MIXTURE_LOGITS, b, h, &room,
             mgk_cpu_scratch(device, omp_get_thread_num()), &head);
            add_responsibilities(&head, own, own + mixtures * cols);
        }
    MGK_CPU(gather_responsibilities)(view, &mixture->prior, parts, cols, sums);
out:
    mgk_free(parts);
    return status;
}

void MGK_CPU(gather_responsibilities)(const mgk_attention_view *view, const mgk_prior_view *shape,
                                      const double *parts, size_t cols, double *sums)
{
    size_t mixtures = (size_t)view->mixtures;
    double *queries = sums + shape->count;
    for (size_t h = 0; h < (size_t)view->heads; h++)
        for (size_t r = 0; r < mixtures; r++)
            for (size_t j = 0; j < (size_t)mgk_view_keys(view); j++) {
                const double *own = parts + h * (mixtures + 1) * cols;
                size_t at =
                    h * shape->head_stride + r * shape->component_stride + j * shape->key_stride;
                sums[at] += own[r * cols + j];
                queries[at] += own[mixtures * cols + j];
            }
}

mgk_status MGK_CPU(mean_responsibilities)(mgk_device *device, size_t count, const double *sums,
                                          void *prior)
{
    const double *queries = sums + count;
    (void)device;
    for (size_t at = 0; at < count; at++)
        if (queries[at] > 0)
            ((real *)prior)[at] = (real)(sums[at] / queries[at]);
    return STATUS_OK;
}
