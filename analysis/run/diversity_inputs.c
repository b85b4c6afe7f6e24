/* SPDX-License-Identifier: MIT */
/* What a group of the round has besides its matrices. */
#include <math.h>
#include <stdlib.h>

#include "analysis/run/diversity_work.h"
#include "analysis/run/samples_hash.h"
#include "base/memory.h"

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
    const size_t sample = (size_t)(group->record - work->records) / mgk_record_size(work->layout);
    mgk_place *places = work->places + sample * source->n_max;
    int32_t *tokens;
    mgk_status status;
    TRY(mgk_alloc(source->n_max, sizeof(*tokens), &tokens));
    CHECK(source->tokens(source->state, group->group, tokens));
    group->tokens = mgk_tokens_hash(tokens, n);
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

/* STATUS_SHAPE unless a group has at most n_max rows and, where layers are compared, as many
 * queries and keys as that of the layer before. */
static mgk_status check_order(const mgk_diversity_work *work, size_t g)
{
    const mgk_group *group = work->groups[g].group;
    if (group->n > work->source->n_max)
        return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", group->n,
                        work->source->n_max);
    if (g % work->span_groups == 0)
        return STATUS_OK;
    const mgk_group *before = work->groups[g - 1].group;
    if (group->queries != before->queries)
        return mgk_fail(STATUS_SHAPE, "layers of %zu and %zu rows in a sample", before->queries,
                        group->queries);
    if (group->keys != before->keys)
        return mgk_fail(STATUS_SHAPE, "layers of %zu and %zu keys in a sample", before->keys,
                        group->keys);
    return STATUS_OK;
}

mgk_status mgk_diversity_inputs(mgk_diversity_work *work, size_t g)
{
    const mgk_source *source = work->source;
    const mgk_group *group = work->groups[g].group;
    const size_t each = group->n * source->dim;
    TRY(check_order(work, g));
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
