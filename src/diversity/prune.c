/* SPDX-License-Identifier: MIT */
/* Curves of pruning: what is left of a model without its least important, its most redundant, or
 * any of its heads. */
#include <math.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "analysis/measures/removal.h"
#include "base/memory.h"
#include "base/number.h"
#include "diversity/diversity.h"
#include "run/pruning.h"

enum { BY_IMPORTANCE, BY_REDUNDANCY, FIRST_RANDOM };

/* A pruning of one part. */
typedef struct pruner {
    mgk_diversity_part *part;
    size_t heads;   /* of all layers */
    size_t *orders; /* [MGK_PRUNING_ORDERS, heads] */
} pruner;

static const mgk_measure *importance_of(mgk_importance which)
{
    return which == MGK_IMPORTANCE_ABLATION     ? &mgk_measure_importance_ablation
           : which == MGK_IMPORTANCE_DIVERGENCE ? &mgk_measure_importance_divergence
                                                : &mgk_measure_importance_hidden;
}

/* The means of the samples that choose the orders. */
static const mgk_diversity_means *choosing(const mgk_diversity_part *part)
{
    return part->choosing.size > 0 ? &part->choosing : &part->means;
}

/* The means [count] of a measure in a layer of the part; NaN where no sample has a value. */
static void take_means(const mgk_diversity_part *part, const mgk_measure *measure, size_t layer,
                       size_t count, double *out)
{
    const mgk_record_layout *layout = &part->layout;
    size_t m = 0;
    while (layout->measures[m] != measure)
        m++;
    const mgk_diversity_means *means = choosing(part);
    const double *first = mgk_record_values(layout, means->mean, layer, m);
    for (size_t i = 0; i < count; i++)
        out[i] = mgk_diversity_mean(means, (size_t)(first - means->mean) + i);
}

static mgk_status make_orders(pruner *p, uint64_t seed)
{
    const mgk_record_layout *layout = &p->part->layout;
    const size_t heads = layout->heads;
    double *importance = NULL, *distances = NULL;
    mgk_status status;
    CHECK(mgk_alloc(p->heads, sizeof(double), &importance));
    CHECK(mgk_alloc(p->heads, heads * sizeof(double), &distances));
    for (size_t l = 0; l < layout->layers; l++) {
        take_means(p->part, importance_of(p->part->pruned_by), l, heads, importance + l * heads);
        take_means(p->part, &mgk_measure_js, l, heads * heads, distances + l * heads * heads);
    }
    mgk_removal_by_importance(p->heads, importance, p->orders + BY_IMPORTANCE * p->heads);
    CHECK(mgk_removal_by_redundancy(layout->layers, heads, distances, importance,
                                    p->orders + BY_REDUNDANCY * p->heads));
    for (size_t i = FIRST_RANDOM; i < MGK_PRUNING_ORDERS; i++)
        mgk_removal_at_random(seed, i - FIRST_RANDOM, p->heads, p->orders + i * p->heads);
out:
    mgk_free(importance);
    mgk_free(distances);
    return status;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static int32_t number_of(const int32_t *numbers, size_t position)
{
    return (int32_t)mgk_source_number(numbers, position);
}

/* The point of one order without its first k heads. */
static mgk_pruning_point point_of(const pruner *p, size_t order, size_t k)
{
    const size_t i = order * (p->heads + 1) + k, heads = p->part->layout.heads;
    const size_t last = k > 0 ? p->orders[order * p->heads + k - 1] : 0;
    const mgk_source *source = &p->part->input->source;
    return (mgk_pruning_point){.value = mgk_diversity_mean(&p->part->orders, i),
                               .sd = mgk_diversity_sd(&p->part->orders, i),
                               .layer = k > 0 ? number_of(source->layers, last / heads) : -1,
                               .head = k > 0 ? number_of(source->heads, last % heads) : -1};
}

/* The mean and the standard deviation of all random orders. */
static mgk_status average_orders(const pruner *p, mgk_pruning_curve *curve)
{
    mgk_diversity_means means;
    TRY(mgk_diversity_means_make(p->heads + 1, &means));
    for (size_t k = 0; k <= p->heads; k++) {
        for (size_t i = FIRST_RANDOM; i < MGK_PRUNING_ORDERS; i++)
            mgk_diversity_means_add_value(&means, k, point_of(p, i, k).value);
        curve->points[k] = (mgk_pruning_point){.value = mgk_diversity_mean(&means, k),
                                               .sd = mgk_diversity_sd(&means, k),
                                               .layer = -1,
                                               .head = -1};
    }
    mgk_diversity_means_free(&means);
    return STATUS_OK;
}

static mgk_status take_curves(pruner *p)
{
    for (int by = 0; by < MGK_PRUNINGS; by++) {
        mgk_pruning_curve *curve = &p->part->curves[by];
        TRY(mgk_alloc(p->heads + 1, sizeof(*curve->points), &curve->points));
        curve->measure = mgk_pruning_name((mgk_pruning_order)by, p->part->pruned_by);
        curve->heads = p->heads;
        curve->samples = (size_t)p->part->orders.samples[0];
        const size_t order = by == MGK_PRUNE_REDUNDANCY ? BY_REDUNDANCY : BY_IMPORTANCE;
        for (size_t k = 0; by != MGK_PRUNE_RANDOM && k <= p->heads; k++)
            curve->points[k] = point_of(p, order, k);
    }
    return average_orders(p, &p->part->curves[MGK_PRUNE_RANDOM]);
}

mgk_status mgk_diversity_prune_begin(mgk_diversity_part *part, const mgk_model_run *run,
                                     int held_out)
{
    const size_t heads = part->layout.layers * part->layout.heads;
    const size_t samples = part->input->sample_count, pair = (size_t)mgk_model_run_pair(run);
    if (held_out > 0 && samples < (size_t)held_out + pair)
        return mgk_fail(STATUS_SHAPE,
                        "%s: `prune_held_out` is %d of %zu %s, which leaves none to choose heads",
                        part->name, held_out, samples, MGK_NOUN(samples, "sample", "samples"));
    part->pruned_by = mgk_ablation_best(run);
    part->choosers = (samples - (size_t)held_out) / pair * pair;
    if (held_out > 0)
        TRY(mgk_diversity_means_make(mgk_record_size(&part->layout), &part->choosing));
    return mgk_diversity_means_make(MGK_PRUNING_ORDERS * (heads + 1), &part->orders);
}

void mgk_diversity_prune_take(mgk_diversity_part *part, const double *record)
{
    if (part->choosing.size > 0 && part->finished < part->choosers)
        mgk_diversity_means_add(&part->choosing, record);
}

/* Runs the orders that are not finished. */
static mgk_status run_orders(const pruner *p, const mgk_source_input *opened, const mgk_job *job,
                             const mgk_diversity_pruning *follow)
{
    mgk_diversity_part *part = p->part;
    const mgk_pruning pruning = {.which = part->pruned_by,
                                 .layers = opened->source.layers,
                                 .layer_count = part->layout.layers,
                                 .heads = opened->source.heads,
                                 .head_count = part->layout.heads,
                                 .orders = p->orders,
                                 .order_count = MGK_PRUNING_ORDERS,
                                 .first_sample = part->choosing.size > 0 ? part->choosers : 0,
                                 .finished = part->finished_orders,
                                 .progress = follow->progress,
                                 .receive = follow->receive,
                                 .state = follow->state};
    if (part->finished_orders == MGK_PRUNING_ORDERS)
        return STATUS_OK;
    return mgk_prune(opened->run, opened->ablation, job, &pruning, &part->orders);
}

mgk_status mgk_diversity_prune(mgk_diversity_part *part, const mgk_source_input *opened,
                               const mgk_job *job, const mgk_diversity_pruning *follow)
{
    pruner p = {.part = part, .heads = part->layout.layers * part->layout.heads};
    mgk_status status;
    CHECK(mgk_alloc(MGK_PRUNING_ORDERS, p.heads * sizeof(*p.orders), &p.orders));
    CHECK(make_orders(&p, job->seed));
    CHECK(run_orders(&p, opened, job, follow));
    CHECK(take_curves(&p));
out:
    mgk_free(p.orders);
    return status;
}

void mgk_diversity_prune_free(mgk_diversity_part *part)
{
    for (int by = 0; by < MGK_PRUNINGS; by++)
        mgk_free(part->curves[by].points);
    memset(part->curves, 0, sizeof(part->curves));
    mgk_diversity_means_free(&part->orders);
    mgk_diversity_means_free(&part->choosing);
}
