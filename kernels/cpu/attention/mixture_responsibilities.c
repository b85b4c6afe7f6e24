/* SPDX-License-Identifier: MIT */
/* The responsibilities γ_ijr = exp l_ijr / Σ_r exp l_ijr of a mixture's components. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/mixture.h"
#include "kernels/cpu/attention/prior.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/operations.h"

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

/* Adds the shares of row i in a run with share_epsilon, from relative scores; see mgk_mixture. */
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
