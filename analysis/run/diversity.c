#include "analysis/run/diversity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/run/diversity_work.h"
#include "base/hash.h"
#include "base/memory.h"
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

unsigned mgk_measures_importances(const mgk_measure *const *measures, size_t count)
{
    unsigned importances = 0;
    for (size_t m = 0; m < count; m++)
        if (measures[m]->needs & MGK_NEEDS_IMPORTANCE)
            importances |= MGK_IMPORTANCE_BIT(measures[m]->importance);
    return importances;
}

bool mgk_measures_need_groups(const mgk_measure *const *measures, size_t count)
{
    return (mgk_measures_needs(measures, count) & (MGK_NEEDS_PAIRS | MGK_NEEDS_LAYERS)) != 0;
}

bool mgk_diversity_cancelled(mgk_diversity_work *work, size_t part)
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

/* Names the groups of a round; across layers they are those of whole samples. */
static mgk_status name_groups(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    const size_t least = mgk_diversity_needs_groups(work) ? work->layout->heads : 1;
    bool end = false;
    work->group_count = work->matrix_count = 0;
    while (work->room - work->matrix_count >= least && work->record_count < work->record_room) {
        mgk_group *named = &work->named[work->group_count];
        *named = (mgk_group){0};
        TRY(source->next(source->state, work->room - work->matrix_count, named, &end));
        if (end)
            return STATUS_OK;
        if (mgk_diversity_needs_groups(work) && named->count != least)
            return mgk_fail(STATUS_SHAPE, "a group of %zu heads, expected all %zu", named->count,
                            least);
        if (named->sample < work->options->finished) {
            work->done += named->count;
            continue;
        }
        work->groups[work->group_count++] =
            (mgk_diversity_group){.group = named,
                                  .slot = work->matrix_count,
                                  .tokens = NAN,
                                  .record = find_record(work, named->sample)};
        work->matrix_count += named->count;
    }
    return STATUS_OK;
}

static int compare_places(const void *a, const void *b)
{
    const mgk_place *x = a, *y = b;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

/* places [n]: those of the tokens [n], sorted. */
static void sort_tokens(size_t n, const int32_t *tokens, mgk_place *places)
{
    for (size_t i = 0; i < n; i++)
        places[i] = (mgk_place){tokens[i], (int32_t)i};
    if (n > 0)
        qsort(places, n, sizeof(*places), compare_places);
}

/* Takes the tokens of a group's sample, unless the group before has them. */
static mgk_status take_tokens(mgk_diversity_work *work, size_t g)
{
    const mgk_source *source = work->source;
    mgk_diversity_group *group = &work->groups[g];
    const size_t n = group->group->n;
    if (g > 0 && work->groups[g - 1].group->sample == group->group->sample) {
        group->places = work->groups[g - 1].places;
        group->tokens = work->groups[g - 1].tokens;
        return STATUS_OK;
    }
    mgk_place *places = work->places + g * source->n_max;
    int32_t *tokens;
    mgk_status status;
    TRY(mgk_alloc(source->n_max, sizeof(*tokens), &tokens));
    CHECK(source->tokens(source->state, group->group, tokens));
    group->tokens = (double)(mgk_hash(MGK_HASH_START, tokens, n * sizeof(*tokens)) >> 12);
    sort_tokens(n, tokens, places);
    group->places = places;
out:
    mgk_free(tokens);
    return status;
}

/* STATUS_NUMERIC unless all numbers of an array are finite. */
static mgk_status check_finite(const mgk_diversity_work *work, const mgk_group *group,
                               const char *what, const double *values, size_t count)
{
    if (isfinite(work->kernels->sum(count, values)))
        return STATUS_OK;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return mgk_fail(STATUS_NUMERIC, "sample %zu, layer %zu: the %s include %g",
                            mgk_source_number(work->source->samples, group->sample),
                            mgk_source_number(work->source->layers, group->layer), what, values[i]);
    return STATUS_OK;
}

/* Takes vectors of a group, of `each` numbers for each head. */
static mgk_status take_vectors(mgk_diversity_work *work, const mgk_group *group, mgk_vectors which,
                               size_t each, double *out)
{
    static const char *const names[] = {"queries", "keys", "values"};
    const mgk_source *source = work->source;
    if (!out)
        return STATUS_OK;
    TRY(source->vectors(source->state, group, which, out));
    return check_finite(work, group, names[which], out, group->count * each);
}

/* Takes what the source knows of the heads of a group. */
static mgk_status take_importances(mgk_diversity_work *work, const mgk_diversity_group *group)
{
    const mgk_source *source = work->source;
    const mgk_record_layout *layout = work->layout;
    for (size_t m = 0; m < layout->measure_count; m++) {
        const mgk_measure *measure = layout->measures[m];
        if ((measure->needs & MGK_NEEDS_IMPORTANCE) &&
            (source->importances & MGK_IMPORTANCE_BIT(measure->importance)))
            TRY(source->importance(
                source->state, group->group, measure->importance,
                mgk_record_values(layout, group->record, group->group->layer, m)));
    }
    return STATUS_OK;
}

/* STATUS_SHAPE unless a group has at most n_max rows, and as many as that of the layer before. */
static mgk_status check_order(const mgk_diversity_work *work, size_t g)
{
    const mgk_group *group = work->groups[g].group;
    if (group->n > work->source->n_max)
        return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", group->n,
                        work->source->n_max);
    if (g % work->span_groups > 0 && group->n != work->groups[g - 1].group->n)
        return mgk_fail(STATUS_SHAPE, "layers of %zu and %zu rows in a sample",
                        work->groups[g - 1].group->n, group->n);
    return STATUS_OK;
}

/* The rows of all matrices of a prepared group. */
static size_t rows_of(const mgk_diversity_group *group)
{
    return group->group->count * group->group->n;
}

/* Takes what a group has besides its matrices. */
static mgk_status take_inputs(mgk_diversity_work *work, size_t g)
{
    const mgk_source *source = work->source;
    const mgk_group *group = work->groups[g].group;
    const size_t each = group->n * source->dim;
    TRY(check_order(work, g));
    if (g > 0)
        work->groups[g].rows = work->groups[g - 1].rows + rows_of(&work->groups[g - 1]);
    const size_t first = mgk_diversity_vectors(work, &work->groups[g]);
    TRY(take_vectors(work, group, MGK_VALUES, each, work->values ? work->values + first : NULL));
    TRY(take_vectors(work, group, MGK_QUERIES, each, work->queries ? work->queries + first : NULL));
    TRY(take_vectors(work, group, MGK_KEYS, each * source->mixtures,
                     work->keys ? work->keys + source->mixtures * first : NULL));
    TRY(take_importances(work, &work->groups[g]));
    if (work->layer_outputs) {
        double *output = mgk_diversity_output(work, g);
        TRY(source->output(source->state, group, output));
        TRY(check_finite(work, group, "outputs", output, group->n * source->model_dim));
    }
    return work->places ? take_tokens(work, g) : STATUS_OK;
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

/* Takes all groups of the round, and measures their heads. */
static mgk_status take_groups(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    for (size_t first = 0, end; first < work->group_count; first = end) {
        size_t prepared;
        end = find_end(work, first);
        TRY(source->prepare(source->state, work->named + first, end - first, &prepared));
        for (size_t g = first; g < end; g++)
            TRY(take_inputs(work, g));
        mgk_diversity_heads(work, first, end);
        TRY(mgk_failure_return(&work->failure));
    }
    return STATUS_OK;
}

static mgk_status measure_round(mgk_diversity_work *work)
{
    TRY(take_groups(work));
    if (work->sums)
        mgk_diversity_pairs(work);
    if (mgk_diversity_wants(work, MGK_NEEDS_LAYERS))
        mgk_diversity_layers(work);
    return mgk_failure_return(&work->failure);
}

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
    const int wanted = options->threads > 0 ? options->threads : omp_get_max_threads();
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
