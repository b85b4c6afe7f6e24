/* SPDX-License-Identifier: MIT */
/* Measures of pairs of heads, and of layers that are made of them. */
#include <math.h>
#include <string.h>

#include "analysis/run/diversity_work.h"
#include "kernels/cpu/spectral/reductions.h"

/* ---- sums over rows -------------------------------------------------------------------------- */

/* Some rows of all heads of a span, while a thread adds them up. All pairs are g <= h. */
typedef struct row_sums {
    const mgk_diversity_work *work;
    const mgk_diversity_span *span;
    mgk_diversity_worker *worker;
    size_t heads, pitch; /* P; distance of the rows of two heads */
    double *sums;        /* [sum_count, P, P] */
    double *scratch;     /* [P, P], of one row */
    /* Of the row of each head, [P]: 0 if it is all zeros, else 1; the sum of its entries; its
     * entropy, meaningless if no measure needs it. */
    double *given, *totals, *entropies;
    /* Of the queries whose rows are all given: their number, and the sums of `totals` [P]. */
    size_t complete;
    double *complete_totals;
} row_sums;

static double *sums_of(const row_sums *r, int which)
{
    return r->sums + (size_t)which * r->heads * r->heads;
}

/* What is known of row i of each head; returns whether all are given. */
static bool collect_facts(const row_sums *r, size_t i)
{
    const mgk_diversity_work *work = r->work;
    bool all = true;
    for (size_t h = 0; h < r->heads; h++) {
        const size_t at = (r->span->groups->seat + h) * work->source->n_max + i;
        all = all && !work->zero_rows[at];
        r->given[h] = !work->zero_rows[at];
        r->totals[h] = work->row_sums[at];
        r->entropies[h] = work->entropies ? work->entropies[at] : 0;
    }
    return all;
}

/* Row i of all heads, side by side. */
static void load_row(const row_sums *r, size_t i)
{
    for (size_t h = 0; h < r->heads; h++)
        mgk_diversity_row(r->work, mgk_diversity_place(r->work, r->span->groups->slot + h),
                          r->span->keys, i, r->worker->rows + h * r->pitch);
}

/* The roots of these rows, of which the first `keys` entries are used. */
static void take_roots(const row_sums *r, size_t keys)
{
    for (size_t h = 0; h < r->heads; h++)
        r->work->kernels->roots(keys, r->worker->rows + h * r->pitch,
                                r->worker->roots + h * r->pitch);
}

/* Adds `factor` times values [P, P], of the pairs whose rows are given. */
static void add_given(const row_sums *r, double factor, const double *values, double *sums)
{
    const size_t heads = r->heads;
    for (size_t h = 0; h < heads; h++)
#pragma omp simd
        for (size_t g = 0; g <= h; g++)
            sums[h * heads + g] += factor * r->given[h] * r->given[g] * values[h * heads + g];
}

/* Counts a query. An affinity is the mean of the totals of both rows, which is added here, less the
 * difference of their roots, which add_roots subtracts. */
static void count_query(row_sums *r, bool all)
{
    const size_t heads = r->heads;
    double *queries = sums_of(r, MGK_SUM_QUERIES), *affinities = sums_of(r, MGK_SUM_AFFINITIES);
    r->complete += all;
    for (size_t h = 0; h < heads && all; h++)
        r->complete_totals[h] += r->totals[h];
    for (size_t h = 0; h < heads && !all; h++)
        for (size_t g = 0; g <= h; g++) {
            const double given = r->given[h] * r->given[g];
            queries[h * heads + g] += given;
            affinities[h * heads + g] += given * (r->totals[h] + r->totals[g]) / 2;
        }
}

/* The same for all queries whose rows are all given. */
static void count_complete(const row_sums *r)
{
    const size_t heads = r->heads;
    double *queries = sums_of(r, MGK_SUM_QUERIES), *affinities = sums_of(r, MGK_SUM_AFFINITIES);
    for (size_t h = 0; h < heads; h++)
        for (size_t g = 0; g <= h; g++) {
            queries[h * heads + g] += (double)r->complete;
            affinities[h * heads + g] += (r->complete_totals[h] + r->complete_totals[g]) / 2;
        }
}

/* JS of a row of all heads. */
static void add_divergences(const row_sums *r, size_t keys, bool all, double *roots)
{
    const mgk_row_kernels *kernels = r->work->kernels;
    const double *rows = r->worker->rows;
    double *sums = sums_of(r, MGK_SUM_DIVERGENCES);
    if (all) {
        kernels->divergences(r->heads, keys, rows, r->pitch, r->entropies, roots, sums);
        return;
    }
    memset(r->scratch, 0, r->heads * r->heads * sizeof(*r->scratch));
    kernels->divergences(r->heads, keys, rows, r->pitch, r->entropies, roots, r->scratch);
    add_given(r, 1, r->scratch, sums);
}

/* ½ sum_j (√a_j − √b_j)² = 1 − sum_j √(a_j b_j) for rows that sum to 1, without its cancellation.
 */
static void add_roots(const row_sums *r, size_t keys)
{
    const size_t heads = r->heads;
    memset(r->scratch, 0, heads * heads * sizeof(*r->scratch));
    r->work->kernels->differences(heads, keys, r->worker->roots, r->pitch, r->scratch);
    add_given(r, -1, r->scratch, sums_of(r, MGK_SUM_AFFINITIES));
    r->work->kernels->roots(heads * heads, r->scratch, r->scratch);
    add_given(r, 1, r->scratch, sums_of(r, MGK_SUM_HELLINGER));
}

/* Adds row i of all heads. */
static void add_row(row_sums *r, size_t i)
{
    const mgk_diversity_work *work = r->work;
    const size_t keys = mgk_row_whole(mgk_diversity_keys(work, r->span->keys, i), r->span->keys);
    const bool rooted = mgk_diversity_wants(work, MGK_NEEDS_ROOTS);
    const bool all = collect_facts(r, i);
    load_row(r, i);
    count_query(r, all);
    if (mgk_diversity_wants(work, MGK_NEEDS_PRODUCTS))
        work->kernels->products(r->heads, keys, r->worker->rows, r->pitch,
                                sums_of(r, MGK_SUM_PRODUCTS));
    if (mgk_diversity_wants(work, MGK_NEEDS_DIVERGENCES))
        add_divergences(r, keys, all, rooted ? r->worker->roots : NULL);
    else if (rooted)
        take_roots(r, keys);
    if (rooted)
        add_roots(r, keys);
}

/* Span number `number` of the round. */
static mgk_diversity_span span_of(const mgk_diversity_work *work, size_t number)
{
    const mgk_diversity_group *groups = &work->groups[number * work->span_groups];
    return (mgk_diversity_span){.groups = groups,
                                .heads = work->span_heads,
                                .n = groups->group->n,
                                .queries = groups->group->queries,
                                .keys = groups->group->keys};
}

/* The sums [sum_count, P, P] of a block of rows of a span. */
static double *sums_of_span(const mgk_diversity_work *work, const mgk_diversity_span *span,
                            size_t block)
{
    const size_t size = work->sum_count * span->heads * span->heads;
    const size_t number = span->groups->seat / span->heads;
    return work->sums + (number * work->pair_blocks + block) * size;
}

/* Adds the products of the unit vectors [P, n, D] of all heads, of tokens first … end − 1. */
static void add_vectors(const row_sums *r, size_t first, size_t end, const double *unit, int which)
{
    const size_t dim = r->work->source->dim;
    r->work->kernels->products(r->heads, (end - first) * dim, unit + first * dim, r->span->n * dim,
                               sums_of(r, which));
}

void mgk_diversity_sum(mgk_diversity_work *work, size_t number, size_t block)
{
    const mgk_diversity_span span = span_of(work, number);
    const size_t heads = span.heads, blocks = work->pair_blocks;
    const size_t first = span.n * block / blocks, end = span.n * (block + 1) / blocks;
    mgk_diversity_worker *worker = &work->workers[omp_get_thread_num()];
    double *facts = worker->pairs + heads * heads;
    row_sums r = {.work = work,
                  .span = &span,
                  .worker = worker,
                  .heads = heads,
                  .pitch = mgk_reduction_pitch(work->source->n_max),
                  .sums = sums_of_span(work, &span, block),
                  .scratch = worker->pairs,
                  .given = facts,
                  .totals = facts + heads,
                  .entropies = facts + 2 * heads,
                  .complete_totals = facts + 3 * heads};
    memset(r.sums, 0, work->sum_count * heads * heads * sizeof(*r.sums));
    memset(r.complete_totals, 0, heads * sizeof(*r.complete_totals));
    for (size_t i = first; i < end && i < span.queries; i++)
        add_row(&r, i);
    count_complete(&r);
    if (work->outputs) {
        const size_t before = mgk_diversity_vectors(work, span.groups);
        add_vectors(&r, first, end, work->values + before, MGK_SUM_VALUES);
        add_vectors(&r, first, end, work->outputs + before, MGK_SUM_OUTPUTS);
    }
}

/* ---- cross energies of outputs --------------------------------------------------------------- */

/* ||X_gᵀ X_h||_F² for all g <= h of a span's head h. */
static void compute_energies(mgk_diversity_work *work, const mgk_diversity_span *span, size_t h)
{
    const size_t width = mgk_diversity_width(work), size = span->n * width;
    const double *centred = work->centred + mgk_diversity_rows(work, span->groups) * width;
    double *product = work->workers[omp_get_thread_num()].product;
    double *energies = work->energies + (span->groups->seat + h) * span->heads;
    for (size_t g = 0; g <= h; g++)
        energies[g] =
            work->kernels->energy(span->n, width, centred + g * size, centred + h * size, product);
}

/* ---- totals ---------------------------------------------------------------------------------- */

/* The sums of all blocks, of head h and those before it, in both places of the first block. */
static void add_blocks(const mgk_diversity_work *work, const mgk_diversity_span *span, size_t h)
{
    const size_t heads = span->heads;
    for (size_t which = 0; which < work->sum_count; which++) {
        double *sums = sums_of_span(work, span, 0) + which * heads * heads;
        for (size_t g = 0; g <= h; g++) {
            double *sum = &sums[h * heads + g];
            for (size_t block = 1; block < work->pair_blocks; block++)
                *sum += sums_of_span(work, span, block)[(which * heads + h) * heads + g];
            sums[g * heads + h] = *sum;
        }
    }
}

/* The last head has most pairs with heads before it, so it is the first. */
static size_t head_of(const mgk_diversity_span *span, size_t turn)
{
    return span->heads - 1 - turn;
}

void mgk_diversity_total(mgk_diversity_work *work, size_t number, size_t turn)
{
    const mgk_diversity_span span = span_of(work, number);
    add_blocks(work, &span, head_of(&span, turn));
    if (work->energies)
        compute_energies(work, &span, head_of(&span, turn));
}

/* ---- values ---------------------------------------------------------------------------------- */

static mgk_outputs outputs_of(const mgk_diversity_work *work, const mgk_diversity_span *span)
{
    const double *sums = sums_of_span(work, span, 0);
    const size_t seat = span->groups->seat, rows = mgk_diversity_rows(work, span->groups);
    return (mgk_outputs){
        .kernels = work->kernels,
        .heads = span->heads,
        .n = span->n,
        .value_products = sums + MGK_SUM_VALUES * span->heads * span->heads,
        .output_products = sums + MGK_SUM_OUTPUTS * span->heads * span->heads,
        .zero_values = work->zero_values + rows,
        .zero_outputs = work->zero_outputs + rows,
        .energies = work->energies ? work->energies + seat * span->heads : NULL,
        .squares = work->squares ? work->squares + rows : NULL,
    };
}

/* Whether head number h of a span has an entry below 0. */
static bool is_negative(const mgk_diversity_work *work, const mgk_diversity_span *span, size_t h)
{
    const size_t heads = work->layout->heads;
    return mgk_diversity_negative(work, &span->groups[h / heads], h % heads);
}

/* The value of a measure for heads g <= h. */
static double measure_pair(const mgk_diversity_work *work, const mgk_diversity_span *span,
                           const mgk_measure *measure, size_t h, size_t g)
{
    const size_t heads = span->heads;
    const double *sums = sums_of_span(work, span, 0);
    const mgk_pair_sums view = {.heads = heads,
                                .products = sums + MGK_SUM_PRODUCTS * heads * heads,
                                .affinities = sums + MGK_SUM_AFFINITIES * heads * heads,
                                .hellinger = sums + MGK_SUM_HELLINGER * heads * heads,
                                .divergences = sums + MGK_SUM_DIVERGENCES * heads * heads,
                                .queries = sums + MGK_SUM_QUERIES * heads * heads};
    if ((measure->needs & MGK_NEEDS_DISTRIBUTION) &&
        (is_negative(work, span, h) || is_negative(work, span, g)))
        return NAN;
    if (measure->pair)
        return measure->pair(&view, h, g);
    if (!work->outputs)
        return NAN;
    const mgk_outputs outputs = outputs_of(work, span);
    return measure->outputs(&outputs, h, g);
}

void mgk_diversity_store_pair(const mgk_record_layout *layout, double *record, size_t m,
                              size_t layer, size_t h, size_t g, double value)
{
    const size_t heads = layout->heads, all = layout->layers * heads;
    if (h / heads == g / heads) {
        double *values = mgk_record_values(layout, record, layer + h / heads, m);
        values[h % heads * heads + g % heads] = values[g % heads * heads + h % heads] = value;
    }
    if (layout->across && m < layout->chosen) {
        double *values = record + mgk_record_across(layout, m);
        values[h * all + g] = values[g * all + h] = value;
    }
}

void mgk_diversity_pairs(mgk_diversity_work *work, size_t number, size_t turn)
{
    const mgk_diversity_span span = span_of(work, number);
    const mgk_diversity_group *first = span.groups;
    const size_t h = head_of(&span, turn);
    for (size_t m = 0; m < work->layout->measure_count; m++) {
        const mgk_measure *measure = work->layout->measures[m];
        for (size_t g = 0; (measure->pair || measure->outputs) && g <= h; g++)
            mgk_diversity_store_pair(work->layout, first->record, m, first->group->layer, h, g,
                                     measure_pair(work, &span, measure, h, g));
    }
}

static size_t find(const mgk_record_layout *layout, const mgk_measure *measure)
{
    size_t m = 0;
    while (layout->measures[m] != measure)
        m++;
    return m;
}

/* Measures of a layer that are made of one of pairs. */
static void measure_layer(mgk_diversity_work *work, const mgk_diversity_group *group)
{
    const mgk_record_layout *layout = work->layout;
    double *scratch = work->workers[omp_get_thread_num()].pairs;
    for (size_t m = 0; m < layout->measure_count; m++) {
        const mgk_measure *measure = layout->measures[m];
        if (!measure->of)
            continue;
        const double *pairs = mgk_record_values(layout, group->record, group->group->layer,
                                                find(layout, measure->of));
        *mgk_record_values(layout, group->record, group->group->layer, m) =
            measure->pairs(layout->heads, pairs, scratch);
    }
}

void mgk_diversity_summaries(mgk_diversity_work *work, size_t number)
{
    for (size_t g = 0; g < work->span_groups; g++)
        measure_layer(work, &work->groups[number * work->span_groups + g]);
}
