/* SPDX-License-Identifier: MIT */
/* Measures of a layer among the layers of its sample. */
#include <math.h>
#include <string.h>

#include "analysis/counting/scaled.h"
#include "analysis/run/diversity_work.h"
#include "kernels/blas.h"

/* The model's number of a layer, which a source may have a few of. */
static size_t number_of(const mgk_diversity_work *work, size_t layer)
{
    return mgk_source_number(work->source->layers, layer);
}

/* The layer before that of group g in its sample: that of the group before in the round, or of the
 * last one of the round before. Returns whether there is one. */
static bool find_before(const mgk_diversity_work *work, size_t g, mgk_layer_before *out)
{
    const mgk_group *group = work->groups[g].group;
    const mgk_group *before = g > 0 ? work->groups[g - 1].group : NULL;
    if (!before && !work->before_known)
        return false;
    if (before)
        *out = (mgk_layer_before){.layer = before->layer,
                                  .sample = before->sample,
                                  .place = mgk_diversity_place(work, work->groups[g - 1].slot)};
    else
        *out = work->before;
    return out->sample == group->sample &&
           number_of(work, out->layer) + 1 == number_of(work, group->layer);
}

/* Stores the values of the measures of depth that need `need`. */
static void store(const mgk_diversity_work *work, const mgk_diversity_group *group, size_t layer,
                  unsigned need, const mgk_depth_view *view)
{
    for (size_t m = 0; m < work->layout->measure_count; m++) {
        const mgk_measure *measure = work->layout->measures[m];
        if (measure->depth && (measure->needs & need))
            *mgk_record_values(work->layout, group->record, layer, m) = measure->depth(view);
    }
}

/* ---- neighbouring layers --------------------------------------------------------------------- */

/* The sum of the products of the entries of two kept matrices. */
static double multiply_entries(const mgk_diversity_work *work, const mgk_group *group, size_t a,
                               size_t b)
{
    const mgk_diversity_worker *worker = &work->workers[omp_get_thread_num()];
    double sum = 0;
    for (size_t i = 0; i < group->queries; i++) {
        mgk_diversity_row(work, a, group->keys, i, worker->rows);
        mgk_diversity_row(work, b, group->keys, i, worker->roots);
        sum += work->kernels->dot(mgk_diversity_keys(work, group->keys, i), worker->rows,
                                  worker->roots);
    }
    return sum;
}

/* Compares the matrices of group g with those of the layer before. */
static void compare(mgk_diversity_work *work, size_t g)
{
    const mgk_diversity_group *group = &work->groups[g];
    const size_t heads = work->layout->heads;
    double *cosines = work->workers[omp_get_thread_num()].pairs;
    mgk_layer_before before;
    if (group->group->n == 0 || !find_before(work, g, &before))
        return;
    for (size_t h = 0; h < heads; h++) {
        const size_t a = (before.place + h) % work->ring;
        const size_t b = mgk_diversity_place(work, group->slot + h);
        cosines[h] = multiply_entries(work, group->group, a, b) / (work->norms[a] * work->norms[b]);
    }
    const mgk_depth_view view = {
        .kernels = work->kernels, .heads = heads, .n = group->group->n, .cosines = cosines};
    store(work, group, before.layer, MGK_NEEDS_NEXT_LAYER, &view);
}

/* ---- rollout (Abnar & Zuidema 2020) ---------------------------------------------------------- */

static double *rollout_of(const mgk_diversity_work *work, size_t g)
{
    return work->rollouts + (g + 1) * work->source->n_max * work->source->n_max;
}

/* Matrices that are too small to be shared by threads. */
enum { SERIAL = 64 };

/* Adds the mean over heads of row i of a group's matrices. */
static void add_mean(const mgk_diversity_work *work, const mgk_diversity_group *group, size_t i,
                     double *row)
{
    const size_t heads = work->layout->heads, keys = group->group->keys;
    double *own = work->workers[omp_get_thread_num()].rows;
    for (size_t h = 0; h < heads; h++) {
        mgk_diversity_row(work, mgk_diversity_place(work, group->slot + h), keys, i, own);
        for (size_t j = 0; j < mgk_diversity_keys(work, keys, i); j++)
            row[j] += own[j] / (double)heads;
    }
}

/* B: the rows of (mean_h A + I), divided by their sums. */
static void mix(const mgk_diversity_work *work, const mgk_diversity_group *group, double *b)
{
    const size_t n = group->group->n;
#pragma omp parallel for num_threads(work->threads) if (n > SERIAL)
    for (size_t i = 0; i < n; i++) {
        double *row = b + i * n, sum = 0;
        memset(row, 0, n * sizeof(*row));
        add_mean(work, group, i, row);
        row[i] += 1;
        for (size_t j = 0; j < n; j++)
            sum += row[j];
        for (size_t j = 0; j < n; j++)
            row[j] /= sum;
    }
}

/*
 * out = work->mixed times x, [n, n] each, by blocks of rows of a size that does not depend on the
 * number of threads. Where BLAS divides a product among threads, its last digits do.
 */
static void multiply(const mgk_diversity_work *work, size_t n, const double *x, double *out)
{
    enum { ROWS = 128 };
    const blasint order = (blasint)n;
#pragma omp parallel for schedule(dynamic) num_threads(work->threads) if (n > ROWS)
    for (size_t first = 0; first < n; first += ROWS) {
        const blasint rows = (blasint)(n - first < ROWS ? n - first : ROWS);
        mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, order, order, 1,
                       work->mixed + first * n, order, x, order, 0, out + first * n, order);
    }
}

/* The mean is that of all heads of the model. With negative entries a row may have no sum to divide
 * by. */
static bool can_mix(const mgk_diversity_work *work, const mgk_diversity_group *group)
{
    bool negative = false;
    for (size_t h = 0; h < work->layout->heads; h++)
        negative |= mgk_diversity_negative(work, group, h);
    return group->group->n > 0 && !negative && work->layout->heads >= work->source->all_heads;
}

/*
 * The rollout of group g, B_l times that of the layer before, into its place. Returns whether it is
 * defined: all layers from 0 on are there with all heads, and have no negative entries.
 */
static bool roll(mgk_diversity_work *work, size_t g, bool before_defined)
{
    const mgk_diversity_group *group = &work->groups[g];
    mgk_layer_before before;
    double *rollout = rollout_of(work, g);
    const bool first = number_of(work, group->group->layer) == 0;
    if (!can_mix(work, group) || !(first || (before_defined && find_before(work, g, &before))))
        return false;
    mix(work, group, first ? rollout : work->mixed);
    if (!first)
        multiply(work, group->group->n, rollout - work->source->n_max * work->source->n_max,
                 rollout);
    return true;
}

/* Computes the spectrum of a rollout [n, n] into this thread's sigma. */
static mgk_status compute_spectrum(mgk_diversity_work *work, double *rollout, size_t n,
                                   mgk_rank_row *row, mgk_rank_count *count)
{
    const mgk_diversity_run_options *o = work->options;
    mgk_diversity_worker *worker = &work->workers[omp_get_thread_num()];
    const mgk_engine_task task = {.threshold_count = 1,
                                  .thresholds = &o->threshold,
                                  .relative = o->relative,
                                  .copy = worker->matrix};
    mgk_ladder ladder = {0};
    TRY(mgk_rank_measure_entries(n, rollout, work->source->format, NULL, worker->sigma, row));
    return mgk_scaled_rank(worker->engine, &task, &ladder, rollout, row, count, worker->sigma);
}

static mgk_status measure_rollout(mgk_diversity_work *work, size_t g)
{
    const mgk_diversity_group *group = &work->groups[g];
    const size_t n = group->group->n;
    mgk_rank_row row = {0};
    mgk_rank_count count = {0};
    const mgk_spectrum_view spectrum = {
        .n = n, .sigma = work->workers[omp_get_thread_num()].sigma, .row = &row, .count = &count};
    const mgk_depth_view view = {.kernels = work->kernels,
                                 .heads = work->layout->heads,
                                 .n = n,
                                 .rollout = rollout_of(work, g),
                                 .spectrum = &spectrum};
    if (mgk_diversity_wants(work, MGK_NEEDS_ROLLOUT_SPECTRUM))
        TRY(compute_spectrum(work, rollout_of(work, g), n, &row, &count));
    store(work, group, group->group->layer, MGK_NEEDS_ROLLOUT, &view);
    return STATUS_OK;
}

static void measure_rollouts(mgk_diversity_work *work)
{
    for (size_t g = 0; g < work->group_count; g++)
        work->rolled[g + 1] = roll(work, g, work->rolled[g]);
#pragma omp parallel for schedule(dynamic) num_threads(work->threads)
    for (size_t g = 0; g < work->group_count; g++)
        if (work->rolled[g + 1])
            mgk_failure_record(&work->failure, work->groups[g].slot, measure_rollout(work, g));
}

/* ---- outputs of layers ----------------------------------------------------------------------- */

static void measure_output(mgk_diversity_work *work, size_t g)
{
    const mgk_diversity_group *group = &work->groups[g];
    const mgk_record_layout *layout = work->layout;
    const mgk_layer_output output = {.kernels = work->kernels,
                                     .n = group->group->n,
                                     .dim = work->source->model_dim,
                                     .x = mgk_diversity_output(work, g),
                                     .scratch = work->workers[omp_get_thread_num()].hidden};
    for (size_t m = 0; m < layout->measure_count && output.n > 0; m++)
        if (layout->measures[m]->layer_output)
            *mgk_record_values(layout, group->record, group->group->layer, m) =
                layout->measures[m]->layer_output(&output);
}

/* ---- the stage ------------------------------------------------------------------------------- */

/* Keeps the rollout of the round's last group, and its matrices where they lie. Groups that are
 * compared across layers have all layers of a sample in a round, and need no layer before. */
static void keep_last(mgk_diversity_work *work)
{
    const mgk_diversity_group *last = &work->groups[work->group_count - 1];
    const size_t n = last->group->n;
    work->before_known = true;
    work->before = (mgk_layer_before){.layer = last->group->layer,
                                      .sample = last->group->sample,
                                      .place = mgk_diversity_place(work, last->slot)};
    work->ring_start = (work->ring_start + work->matrix_count) % work->ring;
    if (!work->rollouts)
        return;
    work->rolled[0] = work->rolled[work->group_count];
    memcpy(work->rollouts, rollout_of(work, work->group_count - 1), n * n * sizeof(double));
}

void mgk_diversity_layer(mgk_diversity_work *work, size_t g)
{
    if (mgk_diversity_wants(work, MGK_NEEDS_NEXT_LAYER))
        compare(work, g);
    if (work->layer_outputs)
        measure_output(work, g);
}

void mgk_diversity_end_layers(mgk_diversity_work *work)
{
    if (work->rollouts && !work->source->cross)
        measure_rollouts(work);
    keep_last(work);
}
