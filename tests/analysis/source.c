/* SPDX-License-Identifier: MIT */
#include "analysis/source.h"

#include <omp.h>
#include <string.h>

enum { HEADS_MOST = 16 };

/* Number of matrix `which` of a group. */
static size_t number_of(const test_source *s, const mgk_group *group, size_t which)
{
    return (group->sample * s->layers + group->layer) * s->heads + (size_t)group->heads[which];
}

static mgk_status fail(size_t i)
{
    return mgk_fail(STATUS_IO, "synthetic: cannot read matrix %zu", i);
}

static mgk_status next(void *state, size_t most, mgk_group *group, bool *end)
{
    static const int32_t heads[HEADS_MOST] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    test_source *s = state;
    size_t first = s->next, last = first - first % s->heads + s->heads;
    s->misused |= omp_get_level() > 0 || most == 0;
    *end = first == s->count;
    if (*end)
        return STATUS_OK;
    if (s->stage == TEST_NEXT && first == s->failing)
        return fail(first);
    if (s->stage == TEST_NEXT && first < s->failing && s->failing < last)
        last = s->failing;
    last = last < s->count ? last : s->count;
    last = last - first < most ? last : first + most;
    group->sample = first / s->heads / s->layers;
    group->layer = first / s->heads % s->layers;
    group->heads = heads + first % s->heads;
    group->count = last - first;
    group->n = s->sides ? 0 : s->order(s->context, first);
    s->next = last;
    s->groups++;
    s->longest = group->count > s->longest ? group->count : s->longest;
    return STATUS_OK;
}

static mgk_status prepare(void *state, mgk_group *groups, size_t count, size_t *prepared)
{
    test_source *s = state;
    size_t matrices = 0;
    s->misused |= omp_get_level() > 0;
    memset(s->prepared, 0, sizeof(s->prepared));
    for (*prepared = 0; *prepared < count; ++*prepared) {
        mgk_group *group = &groups[*prepared];
        for (size_t which = 0; which < group->count; which++) {
            size_t i = number_of(s, group, which);
            if (s->stage == TEST_PREPARE && i == s->failing)
                return fail(i);
            s->prepared[i] = true;
        }
        if (s->sides)
            s->sides(s->context, number_of(s, group, 0), &group->queries, &group->keys);
        group->place = matrices;
        matrices += group->count;
    }
    s->most_prepared = matrices > s->most_prepared ? matrices : s->most_prepared;
    s->misused |= s->ahead > 0 && matrices > s->ahead;
    return STATUS_OK;
}

static mgk_status take(void *state, const mgk_group *group, size_t which, double *data)
{
    test_source *s = state;
    size_t i = number_of(s, group, which);
    if (!s->prepared[i] || s->taken[i] > 0)
#pragma omp atomic write
        s->misused = true;
    if (s->stage == TEST_TAKE && i == s->failing)
        return fail(i);
    s->taken[i]++;
#pragma omp atomic write
    s->threads = omp_get_num_threads();
    s->fill(s->context, i, group->n, data);
    return STATUS_OK;
}

/* The functions between these two are called by one thread at a time. */
static void enter(test_source *s)
{
    int inside;
#pragma omp atomic capture
    inside = ++s->inside;
    if (inside > 1)
#pragma omp atomic write
        s->misused = true;
}

static void leave(test_source *s)
{
#pragma omp atomic
    s->inside--;
}

/* Notes a use of matrix i before it is prepared. */
static void expect_prepared(test_source *s, size_t i)
{
    if (!s->prepared[i])
#pragma omp atomic write
        s->misused = true;
}

static mgk_status vectors(void *state, const mgk_group *group, mgk_vectors which, double *data)
{
    test_source *s = state;
    const size_t first = number_of(s, group, 0);
    void (*const fill[])(const void *, size_t, size_t, double *) = {s->queries, s->keys, s->values};
    const size_t size = group->n * s->dim * (which == MGK_KEYS ? s->mixtures : 1);
    expect_prepared(s, first);
    if (s->stage == TEST_VECTORS && s->failing / s->heads == first / s->heads)
        return fail(s->failing);
    enter(s);
    for (size_t h = 0; h < group->count; h++)
        fill[which](s->context, number_of(s, group, h), group->n, data + h * size);
    leave(s);
    return STATUS_OK;
}

static mgk_status output(void *state, const mgk_group *group, double *data)
{
    test_source *s = state;
    enter(s);
    s->output(s->context, number_of(s, group, 0), group->n, data);
    leave(s);
    return STATUS_OK;
}

static mgk_status tokens(void *state, const mgk_group *group, int32_t *ids)
{
    test_source *s = state;
    const size_t first = number_of(s, group, 0);
    expect_prepared(s, first);
    if (s->stage == TEST_TOKENS && s->failing / s->heads / s->layers == group->sample)
        return fail(s->failing);
    enter(s);
    s->tokens(s->context, first, group->n, ids);
    leave(s);
    return STATUS_OK;
}

static mgk_status importance(void *state, const mgk_group *group, mgk_importance which,
                             double *values)
{
    test_source *s = state;
    expect_prepared(s, number_of(s, group, 0));
    enter(s);
    for (size_t h = 0; h < group->count; h++)
        values[group->heads[h]] = s->importance(s->context, number_of(s, group, h), (int)which);
    leave(s);
    return STATUS_OK;
}

static mgk_status mixture(void *state, size_t layer, size_t head, double *priors, double *variances)
{
    test_source *s = state;
    s->misused |= omp_get_level() > 0;
    s->mixture(s->context, layer * s->heads + head, priors, variances);
    return STATUS_OK;
}

static mgk_status key_weight(void *state, size_t layer, size_t head, size_t component, double *data)
{
    test_source *s = state;
    s->misused |= omp_get_level() > 0;
    s->key_weight(s->context, layer * s->heads + head, component, data);
    return STATUS_OK;
}

static mgk_status projections(void *state, mgk_projection which, size_t layer, double *data)
{
    test_source *s = state;
    const size_t size = s->dim * (which == MGK_PROJECTION_KEY ? s->mixtures : 1) * s->width;
    s->misused |= omp_get_level() > 0;
    for (size_t h = 0; h < s->heads; h++)
        s->projection(s->context, layer * s->heads + h, which, data + h * size);
    return STATUS_OK;
}

mgk_source test_source_of(test_source *s)
{
    const unsigned mixed =
        s->mixtures > 0 ? MGK_VECTORS_BIT(MGK_QUERIES) | MGK_VECTORS_BIT(MGK_KEYS) : 0;
    return (mgk_source){.n_max = s->n_max,
                        .count = s->count,
                        .ahead = s->ahead,
                        .dim = s->values || mixed ? s->dim : 0,
                        .mixtures = mixed       ? s->mixtures
                                    : s->values ? 1
                                                : 0,
                        .kinds = mixed | (s->values ? MGK_VECTORS_BIT(MGK_VALUES) : 0),
                        .gaussian = mixed != 0,
                        .components = s->mixtures,
                        .width = s->width,
                        .mixture = mixed ? mixture : NULL,
                        .key_weight = mixed ? key_weight : NULL,
                        .importances = s->importance ? (1u << MGK_IMPORTANCES) - 1 : 0,
                        .importance = s->importance ? importance : NULL,
                        .projections = s->projection ? projections : NULL,
                        .floats = s->floats,
                        .causal = s->causal,
                        .cross = s->sides != NULL,
                        .samples = s->sample_numbers,
                        .layers = s->layer_numbers,
                        .heads = s->head_numbers,
                        .next = next,
                        .prepare = prepare,
                        .take = take,
                        .vectors = s->values || mixed ? vectors : NULL,
                        .tokens = s->tokens ? tokens : NULL,
                        .output = s->output ? output : NULL,
                        .model_dim = s->output ? s->model_dim : 0,
                        .state = s};
}
