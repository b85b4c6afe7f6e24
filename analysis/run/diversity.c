/* SPDX-License-Identifier: MIT */
#include "analysis/run/diversity.h"

#include <math.h>
#include <string.h>

#include "analysis/run/diversity_work.h"
#include "analysis/run/pipeline.h"
#include "base/cores.h"
#include "kernels/blas.h"

unsigned mgk_measures_needs(const mgk_measure *const *measures, size_t count)
{
    unsigned needs = 0;
    for (size_t m = 0; m < count; m++)
        needs |= measures[m]->needs | (measures[m]->of ? measures[m]->of->needs : 0);
    return needs;
}

unsigned mgk_measures_vectors(unsigned needs)
{
    return (needs & MGK_NEEDS_QUERIES ? MGK_VECTORS_BIT(MGK_QUERIES) : 0) |
           (needs & MGK_NEEDS_KEYS ? MGK_VECTORS_BIT(MGK_KEYS) : 0) |
           (needs & MGK_NEEDS_VALUES ? MGK_VECTORS_BIT(MGK_VALUES) : 0);
}

unsigned mgk_measure_importance(const mgk_measure *measure)
{
    return measure->needs & MGK_NEEDS_IMPORTANCE ? MGK_IMPORTANCE_BIT(measure->importance) : 0;
}

bool mgk_measures_need_groups(const mgk_measure *const *measures, size_t count)
{
    return (mgk_measures_needs(measures, count) & (MGK_NEEDS_PAIRS | MGK_NEEDS_LAYERS)) != 0;
}

/* Whether the run shall stop; then records it as a failure of a part. */
static bool is_cancelled(mgk_diversity_work *work, size_t part)
{
    const volatile sig_atomic_t *cancel = work->options->cancel;
    if (!cancel || !*cancel)
        return false;
    mgk_failure_record(&work->failure, part, mgk_fail(STATUS_INTERRUPTED, "interrupted"));
    return true;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static double *record_at(const mgk_diversity_work *work, size_t i)
{
    return work->records + i * mgk_record_size(work->layout);
}

/* The record of a sample: that of the last group, or a new one. */
static double *find_record(mgk_diversity_work *work, size_t sample)
{
    const size_t last = work->record_count;
    if (last == 0 || work->samples[last - 1] != sample) {
        memcpy(record_at(work, last), work->common, mgk_record_size(work->layout) * sizeof(double));
        work->samples[work->record_count++] = sample;
    }
    return record_at(work, work->record_count - 1);
}

/* Whether the run computes the sample of a group; *over, if it computes no more. */
static mgk_status is_wanted(mgk_diversity_work *work, const mgk_group *group, bool *wanted,
                            bool *over)
{
    const mgk_diversity_run_options *o = work->options;
    *wanted = group->sample >= o->finished;
    if (!*wanted)
        work->done += group->count;
    return *wanted && o->part ? o->part->takes(o->part->state, group->sample, wanted, over)
                              : STATUS_OK;
}

/* The matrices that a group may have whose first one takes a seat. */
static size_t seats_left(const mgk_diversity_work *work, size_t seat)
{
    const size_t named = work->most_matrices - work->matrix_count, seats = work->room - seat;
    return named < seats ? named : seats;
}

/* Whether the next group may have a record: that of its span, or a new one. */
static bool has_record(const mgk_diversity_work *work)
{
    return work->group_count % work->span_groups > 0 || work->record_count < work->record_room;
}

/* Names the groups of a round; across layers they are those of whole samples. */
static mgk_status name_groups(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    const size_t least = mgk_diversity_needs_groups(work) ? work->layout->heads : 1;
    bool end = false;
    work->group_count = work->matrix_count = 0;
    while (!end && work->most_matrices - work->matrix_count >= least && has_record(work)) {
        const size_t seat = work->matrix_count % work->room;
        mgk_group *named = &work->named[work->group_count];
        *named = (mgk_group){0};
        TRY(source->next(source->state, seats_left(work, seat), named, &end));
        if (end)
            return STATUS_OK;
        if (mgk_diversity_needs_groups(work) && named->count != least)
            return mgk_fail(STATUS_SHAPE, "a group of %zu heads, expected all %zu", named->count,
                            least);
        bool wanted;
        TRY(is_wanted(work, named, &wanted, &end));
        if (!wanted)
            continue;
        work->groups[work->group_count++] =
            (mgk_diversity_group){.group = named,
                                  .slot = work->matrix_count,
                                  .seat = seat,
                                  .tokens = NAN,
                                  .record = find_record(work, named->sample)};
        work->matrix_count += named->count;
    }
    return STATUS_OK;
}

/* The end of the groups from `first` on that the source prepares at once. */
static size_t find_end(const mgk_diversity_work *work, size_t first)
{
    const size_t ahead = work->source->ahead;
    size_t end = first, matrices = 0;
    while (end < work->group_count &&
           (ahead == 0 || end == first || matrices + work->named[end].count <= ahead))
        matrices += work->named[end++].count;
    return end;
}

/* ---- stages of a round ----------------------------------------------------------------------- */

/* The stages of heads that are compared with each other. Without measures of pairs the first three
 * are all. */
enum { INPUTS, HEADS, LAYERS, SUMS, TOTALS, PAIRS, SUMMARIES, STAGES };

/* The groups first … end − 1 of the round, which the source has prepared. */
typedef struct prepared_groups {
    mgk_diversity_work *work;
    size_t first, end;
} prepared_groups;

/* Those of them that belong to span number `unit`, counted from that of the first one. */
static prepared_groups groups_of(const prepared_groups *all, size_t unit)
{
    const size_t each = all->work->span_groups, first = (all->first / each + unit) * each;
    return (prepared_groups){.work = all->work,
                             .first = first > all->first ? first : all->first,
                             .end = first + each < all->end ? first + each : all->end};
}

static size_t count_matrices(const prepared_groups *groups)
{
    const mgk_diversity_group *last = &groups->work->groups[groups->end - 1];
    return last->slot + last->group->count - groups->work->groups[groups->first].slot;
}

/* The items of a stage. Pairs are left until the source has prepared the whole span. */
static size_t count_items(const void *state, size_t unit, size_t stage)
{
    const prepared_groups groups = groups_of(state, unit);
    const mgk_diversity_work *work = groups.work;
    const bool whole = groups.end % work->span_groups == 0;
    const size_t counts[STAGES] = {[INPUTS] = 1,
                                   [HEADS] = count_matrices(&groups),
                                   [LAYERS] = groups.end - groups.first,
                                   [SUMS] = work->pair_blocks,
                                   [TOTALS] = work->span_heads,
                                   [PAIRS] = work->span_heads,
                                   [SUMMARIES] = 1};
    return stage <= LAYERS || whole ? counts[stage] : 0;
}

/* The group that the span of a unit begins with, perhaps before those prepared. */
static const mgk_diversity_group *find_span(const prepared_groups *all, size_t unit)
{
    const mgk_diversity_work *work = all->work;
    return &work->groups[(all->first / work->span_groups + unit) * work->span_groups];
}

/* Whether there are seats for all heads of the spans of units first … unit. */
static bool has_seats(const void *state, size_t first, size_t unit)
{
    const mgk_diversity_work *work = ((const prepared_groups *)state)->work;
    const mgk_diversity_group *last = find_span(state, unit);
    const size_t heads = mgk_diversity_needs_groups(work) ? work->span_heads : last->group->count;
    return last->slot + heads - find_span(state, first)->slot <= work->room;
}

static void take_inputs(const prepared_groups *groups)
{
    mgk_diversity_work *work = groups->work;
    mgk_status status = STATUS_OK;
    for (size_t g = groups->first; g < groups->end && status == STATUS_OK; g++) {
        status = mgk_diversity_inputs(work, g);
        mgk_failure_record(&work->failure, work->groups[g].slot, status);
    }
}

/* Measures matrix number `item` of the groups. */
static void measure_head(const prepared_groups *groups, size_t item)
{
    mgk_diversity_work *work = groups->work;
    const size_t slot = work->groups[groups->first].slot + item;
    size_t g = groups->first;
    while (slot >= work->groups[g].slot + work->groups[g].group->count)
        g++;
    if (!mgk_failure_before(&work->failure, slot) && !is_cancelled(work, slot))
        mgk_diversity_head(work, g, slot);
}

/* Items after a failure are passed over. */
static void run_item(void *state, size_t unit, size_t stage, size_t item)
{
    const prepared_groups groups = groups_of(state, unit);
    mgk_diversity_work *work = groups.work;
    const size_t span = groups.first / work->span_groups, first = work->groups[groups.first].slot;
    if (stage == HEADS)
        measure_head(&groups, item);
    else if (mgk_failure_before(&work->failure, first + count_matrices(&groups) - 1))
        return;
    else if (stage == INPUTS)
        take_inputs(&groups);
    else if (stage == LAYERS)
        mgk_diversity_layer(work, groups.first + item);
    else if (stage == SUMS)
        mgk_diversity_sum(work, span, item);
    else if (stage == TOTALS)
        mgk_diversity_total(work, span, item);
    else if (stage == PAIRS)
        mgk_diversity_pairs(work, span, item);
    else
        mgk_diversity_summaries(work, span);
}

static mgk_status measure_groups(prepared_groups *groups)
{
    mgk_diversity_work *work = groups->work;
    const size_t spans = (groups->end - 1) / work->span_groups - groups->first / work->span_groups;
    const mgk_pipeline pipeline = {.units = spans + 1,
                                   .stages = work->sums ? STAGES : LAYERS + 1,
                                   .threads = work->threads,
                                   .count = count_items,
                                   .run = run_item,
                                   .fits = has_seats,
                                   .state = groups};
    TRY(mgk_pipeline_run(&pipeline));
    return mgk_failure_return(&work->failure);
}

static mgk_status measure_round(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    for (size_t first = 0, end; first < work->group_count; first = end) {
        size_t prepared;
        end = find_end(work, first);
        TRY(source->prepare(source->state, work->named + first, end - first, &prepared));
        for (size_t g = first; g < end; g++)
            mgk_group_settle(source, &work->named[g]);
        TRY(measure_groups(&(prepared_groups){work, first, end}));
    }
    if (mgk_diversity_wants(work, MGK_NEEDS_LAYERS))
        mgk_diversity_end_layers(work);
    return mgk_failure_return(&work->failure);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Empties values beyond the range of a double, which no file can hold. */
static void empty_infinities(size_t size, double *record)
{
    for (size_t i = 0; i < size; i++)
        if (isinf(record[i]))
            record[i] = NAN;
}

/* Hands over the records of the samples that no later group belongs to. */
static mgk_status hand_over(mgk_diversity_work *work, bool all)
{
    const mgk_diversity_run_options *o = work->options;
    const size_t count = work->record_count, keep = all || count == 0 ? 0 : 1;
    for (size_t i = 0; i + keep < count; i++) {
        empty_infinities(mgk_record_size(work->layout), record_at(work, i));
        TRY(o->receive(o->state, work->samples[i], record_at(work, i)));
    }
    if (keep == 1 && count > 1) {
        memcpy(work->records, record_at(work, count - 1),
               mgk_record_size(work->layout) * sizeof(double));
        work->samples[0] = work->samples[count - 1];
    }
    work->record_count = keep;
    return STATUS_OK;
}

static mgk_status run_rounds(mgk_diversity_work *work)
{
    for (;;) {
        TRY(name_groups(work));
        if (work->group_count == 0)
            return hand_over(work, true);
        TRY(measure_round(work));
        TRY(hand_over(work, false));
    }
}

mgk_status mgk_diversity_run(const mgk_source *source, const mgk_diversity_run_options *options)
{
    const mgk_record_layout *layout = options->layout;
    mgk_diversity_work work = {.source = source, .options = options, .layout = layout};
    const int wanted = options->threads > 0 ? options->threads : mgk_default_threads();
    mgk_status status;
    work.needs = mgk_measures_needs(layout->measures, layout->measure_count);
    TRY(mgk_row_kernels_choose(&work.kernels));
    TRY(mgk_blas_open());
    TRY(mgk_blas_reserve(wanted, &work.granted));
    const int blas_threads = mgk_blas.get_num_threads();
    mgk_blas.set_num_threads(1);
    mgk_failure_open(&work.failure);
    CHECK(mgk_diversity_open(&work));
    CHECK(run_rounds(&work));
out:
    mgk_diversity_close(&work);
    mgk_failure_close(&work.failure);
    mgk_blas.set_num_threads(blas_threads);
    return status;
}
