/* SPDX-License-Identifier: MIT */
/* What is done to scores besides the dot product, and the gradients of that: see mgk_score_terms.
 */
#include "kernels/cpu/attention/mixture.h"
#include "kernels/cpu/tanh.h"

bool MGK_CPU(mixture_has_terms)(const mgk_mixture *mixture)
{
    const mgk_score_terms *terms = &mixture->terms;
    return terms->cap > 0 || terms->bias || terms->full || terms->places;
}

/* The place of bias_h,j−i for j = 0 in an array [2 T − 1] of one head. */
static ptrdiff_t bias_place(const mgk_mixture_head *head, size_t i)
{
    const mgk_score_terms *terms = &head->mixture->terms;
    const size_t query = terms->bias_by_key ? 0 : head->first + i;
    return (ptrdiff_t)(terms->bias_tokens - 1) - (ptrdiff_t)query;
}

/* Numbers from token to token in an array of sides. */
static size_t side_step(const mgk_mixture_head *head)
{
    return (size_t)head->view->heads * head->mixture->terms.sides;
}

/* The place of query i of the block and key j. */
static size_t side_place(const mgk_mixture_head *head, size_t i, size_t j)
{
    const mgk_score_terms *terms = &head->mixture->terms;
    const size_t query = head->first + i;
    if ((query < terms->place_globals) != (j < terms->place_globals))
        return terms->sides - 1;
    return (size_t)terms->places[terms->place_tokens - 1 + j - query];
}

/* Adds what a query and its keys have for their distance to a row. */
static void add_sides(const mgk_mixture_head *head, size_t i, mgk_mixture_span seen, real *row)
{
    const mgk_score_terms *terms = &head->mixture->terms;
    const size_t step = side_step(head);
    const size_t start =
        head->sample * (size_t)head->view->tokens * step + head->head * terms->sides;
    const real *own = (const real *)terms->query_side + start + (head->first + i) * step;
    const real *keys = terms->key_side ? (const real *)terms->key_side + start : NULL;
    for (size_t j = seen.first; j < seen.end; j++) {
        const size_t place = side_place(head, i, j);
        row[(ptrdiff_t)j + seen.shift] += own[place] + (keys ? keys[j * step + place] : 0);
    }
}

/* The gradient of a query's sides. */
static void add_side_gradient(const mgk_mixture_head *head, size_t i, mgk_mixture_span seen,
                              const real *row, const real *dscore, real dot, real *side)
{
    real *own = side + (head->first + i) * side_step(head);
    for (size_t j = seen.first; j < seen.end; j++) {
        const ptrdiff_t at = (ptrdiff_t)j + seen.shift;
        own[side_place(head, i, j)] += row[at] * (dscore[at] - dot);
    }
}

/* x = cap tanh(x / cap); the derivative 1 − tanh² to slope, unless it is NULL. */
static void apply_cap(double cap, mgk_mixture_span seen, real *row, real *slope)
{
    const real most = (real)cap, inverse = (real)(1 / cap);
    real *x = row + ((ptrdiff_t)seen.first + seen.shift);
    const size_t count = seen.end - seen.first;
    if (slope) {
        slope += (ptrdiff_t)seen.first + seen.shift;
#pragma omp simd
        for (size_t j = 0; j < count; j++) {
            real t = mgk_tanh(x[j] * inverse);
            slope[j] = 1 - t * t;
        }
    }
#pragma omp simd
    for (size_t j = 0; j < count; j++)
        x[j] = most * mgk_tanh(x[j] * inverse);
}

/* A head's row i of `full`, or of its gradient, whose numbers for one sample and head are those. */
static size_t full_row(const mgk_mixture_head *head, size_t i)
{
    const size_t stride = head->mixture->terms.full_row_stride;
    return (head->first + i) * (stride > 0 ? stride : (size_t)mgk_view_keys(head->view));
}

/* The terms of those keys of row i. */
static void add_span(const mgk_mixture_head *head, size_t i, mgk_mixture_span seen, real *row,
                     real *slope)
{
    const mgk_score_terms *terms = &head->mixture->terms;
    if (terms->cap > 0)
        apply_cap(terms->cap, seen, row, slope);
    if (terms->bias) {
        const real *bias = (const real *)terms->bias + head->head * (2 * terms->bias_tokens - 1);
        const ptrdiff_t place = bias_place(head, i);
#pragma omp simd
        for (size_t j = seen.first; j < seen.end; j++)
            row[(ptrdiff_t)j + seen.shift] += bias[(ptrdiff_t)j + place];
    }
    if (terms->full) {
        const real *full = (const real *)terms->full + head->sample * terms->full_sample_stride +
                           head->head * terms->full_head_stride + full_row(head, i);
#pragma omp simd
        for (size_t j = seen.first; j < seen.end; j++)
            row[(ptrdiff_t)j + seen.shift] += full[j];
    }
    if (terms->places)
        add_sides(head, i, seen, row);
}

void MGK_CPU(mixture_add_terms)(const mgk_mixture_head *head, size_t component)
{
    for (size_t i = 0; i < head->rows; i++) {
        real *row = mgk_mixture_row(head, component, i);
        real *slope = head->slope ? head->slope + (row - head->logits) : NULL;
        for (size_t k = 0; k < head->run_count; k++)
            add_span(head, i, mgk_mixture_clip(head, k, i), row, slope);
    }
}

void MGK_CPU(mixture_term_gradient)(const mgk_mixture_head *head, size_t i, const real *dscore,
                                    real dot, const mgk_mixture_term_gradient *out)
{
    real *full = out->full ? out->full + full_row(head, i) : NULL;
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        real *row = mgk_mixture_row(head, r, i);
        const real *slope = head->slope ? head->slope + (row - head->logits) : NULL;
        for (size_t k = 0; k < head->run_count; k++) {
            const mgk_mixture_span seen = mgk_mixture_clip(head, k, i);
            const ptrdiff_t place = out->bias ? bias_place(head, i) : 0;
            if (out->side)
                add_side_gradient(head, i, seen, row, dscore, dot, out->side);
#pragma omp simd
            for (size_t j = seen.first; j < seen.end; j++) {
                const ptrdiff_t at = (ptrdiff_t)j + seen.shift;
                const real dlogit = row[at] * (dscore[at] - dot);
                if (out->bias)
                    out->bias[(ptrdiff_t)j + place] += dlogit;
                if (full)
                    full[j] += dlogit;
                if (slope)
                    row[at] *= slope[at];
            }
        }
    }
}
