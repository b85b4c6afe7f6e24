/* SPDX-License-Identifier: MIT */
#include "run/joined_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum { PARTS = 2 };

/* What is known of a sample, from whichever part prepared it first. */
typedef struct sample_facts {
    bool known, checked[PARTS];
    size_t queries, keys;
    uint64_t tokens; /* a hash; 0: not known */
} sample_facts;

typedef struct joined {
    mgk_source_input parts[PARTS];
    size_t current; /* the part whose groups come next */
    size_t left;    /* matrices of the sample that this part has not named */
    bool end;
    mgk_group *groups; /* [room], those of one part that are prepared */
    size_t room;
    sample_facts *samples; /* [S] */
    int32_t *ids;          /* [n_max] */
    int32_t *layers;       /* [L] */
    mgk_layer_keys *layer_keys;
    const char *name;
} joined;

static size_t part_of(const joined *j, size_t layer)
{
    return layer < j->parts[0].layer_count ? 0 : 1;
}

/* The source of a group's part, and the group as this part numbers its layers. */
static const mgk_source *resolve(const joined *j, const mgk_group *group, mgk_group *own)
{
    const size_t part = part_of(j, group->layer);
    *own = *group;
    own->layer -= part * j->parts[0].layer_count;
    return &j->parts[part].source;
}

static size_t matrices_of_sample(const joined *j)
{
    const mgk_source_input *part = &j->parts[j->current];
    return part->layer_count * part->head_count;
}

/* A sample has all groups of one part, then those of the other. */
static mgk_status next_joined(void *state, size_t most, mgk_group *group, bool *end)
{
    joined *j = state;
    if (j->left == 0) {
        j->current = j->end ? j->current : (j->current + 1) % PARTS;
        j->left = matrices_of_sample(j);
    }
    const mgk_source *source = &j->parts[j->current].source;
    TRY(source->next(source->state, most, group, end));
    if ((j->end = *end))
        return STATUS_OK;
    j->left -= group->count;
    group->layer += j->current * j->parts[0].layer_count;
    return STATUS_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static mgk_status refuse_sample(const joined *j, size_t sample, const char *what)
{
    const int32_t *numbers = j->parts[0].source.samples;
    return mgk_fail(STATUS_SHAPE,
                    "%s: sample %zu has other %s in one than in the other: heads are compared on "
                    "the same tokens",
                    j->name, mgk_source_number(numbers, sample), what);
}

/* Checks that both parts have the same sample; `group` is a prepared one, as its part numbers it.
 */
static mgk_status check_sample(joined *j, size_t part, const mgk_group *group)
{
    const mgk_source *source = &j->parts[part].source;
    sample_facts *known = &j->samples[group->sample];
    sample_facts found = {.known = true, .queries = group->queries, .keys = group->keys};
    if (known->checked[part])
        return STATUS_OK;
    if (source->tokens) {
        TRY(source->tokens(source->state, group, j->ids));
        found.tokens = mgk_hash(MGK_HASH_START, j->ids, group->n * sizeof(*j->ids));
    }
    if (!known->known)
        *known = found;
    known->checked[part] = true;
    if (found.queries != known->queries || found.keys != known->keys)
        return refuse_sample(j, group->sample, "numbers of tokens");
    if (found.tokens != known->tokens && found.tokens != 0 && known->tokens != 0)
        return refuse_sample(j, group->sample, "tokens");
    return STATUS_OK;
}

/* Prepares the groups of one part; done [count]: which of all are prepared. */
static mgk_status prepare_part(joined *j, size_t part, mgk_group *groups, size_t count, bool *done)
{
    const mgk_source *source = &j->parts[part].source;
    size_t own = 0, prepared = 0, next = 0;
    for (size_t i = 0; i < count; i++)
        if (part_of(j, groups[i].layer) == part)
            resolve(j, &groups[i], &j->groups[own++]);
    if (own == 0)
        return STATUS_OK;
    mgk_status status = source->prepare(source->state, j->groups, own, &prepared);
    for (size_t i = 0; i < count && next < prepared; i++) {
        if (part_of(j, groups[i].layer) != part)
            continue;
        mgk_group *group = &j->groups[next++];
        mgk_group_settle(source, group);
        TRY(check_sample(j, part, group));
        const size_t layer = groups[i].layer;
        groups[i] = *group;
        groups[i].layer = layer;
        done[i] = true;
    }
    return status;
}

static mgk_status prepare_joined(void *state, mgk_group *groups, size_t count, size_t *prepared)
{
    joined *j = state;
    bool *done;
    mgk_status status = STATUS_OK;
    *prepared = 0;
    if (count > j->room) {
        mgk_free(j->groups);
        j->groups = NULL;
        j->room = 0;
        TRY(mgk_alloc(count, sizeof(*j->groups), &j->groups));
        j->room = count;
    }
    TRY(mgk_alloc(count + 1, sizeof(*done), &done));
    for (size_t part = 0; part < PARTS && status == STATUS_OK; part++)
        status = prepare_part(j, part, groups, count, done);
    while (*prepared < count && done[*prepared])
        ++*prepared;
    mgk_free(done);
    return status;
}

/* ---- contents -------------------------------------------------------------------------------- */

static mgk_status take_joined(void *state, const mgk_group *group, size_t which, double *data)
{
    mgk_group own;
    const mgk_source *source = resolve(state, group, &own);
    return source->take(source->state, &own, which, data);
}

static mgk_status give_vectors(void *state, const mgk_group *group, mgk_vectors which, double *data)
{
    mgk_group own;
    const mgk_source *source = resolve(state, group, &own);
    return source->vectors(source->state, &own, which, data);
}

static mgk_status give_tokens(void *state, const mgk_group *group, int32_t *ids)
{
    mgk_group own;
    const mgk_source *source = resolve(state, group, &own);
    return source->tokens(source->state, &own, ids);
}

static mgk_status give_projections(void *state, mgk_projection which, size_t layer, double *data)
{
    const joined *j = state;
    const size_t part = part_of(j, layer);
    const mgk_source *source = &j->parts[part].source;
    return source->projections(source->state, which, layer - part * j->parts[0].layer_count, data);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_joined(void *state)
{
    joined *j = state;
    for (size_t i = 0; i < PARTS; i++)
        mgk_source_close(&j->parts[i]);
    mgk_free(j->groups);
    mgk_free(j->samples);
    mgk_free(j->ids);
    mgk_free(j->layers);
    mgk_free(j->layer_keys);
    mgk_free(j);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Refuses two lists of numbers, [a_count] and [b_count], that differ. */
static mgk_status check_numbers(const joined *j, const char *what, const int32_t *a, size_t a_count,
                                const int32_t *b, size_t b_count)
{
    if (a_count != b_count)
        return mgk_fail(STATUS_SHAPE, "%s: %zu and %zu %s, expected the same number%s", j->name,
                        a_count, b_count, what,
                        strcmp(what, "heads") == 0 ? " (`heads` chooses some of them)" : "");
    for (size_t i = 0; i < a_count; i++)
        if (mgk_source_number(a, i) != mgk_source_number(b, i))
            return mgk_fail(STATUS_SHAPE,
                            "%s: other %s, expected the same ones: number %zu of the first stands "
                            "where the second has number %zu",
                            j->name, what, mgk_source_number(a, i), mgk_source_number(b, i));
    return STATUS_OK;
}

static mgk_status check(const joined *j)
{
    const mgk_source_input *a = &j->parts[0], *b = &j->parts[1];
    TRY(check_numbers(j, "samples", a->source.samples, a->sample_count, b->source.samples,
                      b->sample_count));
    TRY(check_numbers(j, "heads", a->source.heads, a->head_count, b->source.heads, b->head_count));
    if (a->source.cross != b->source.cross)
        return mgk_fail(STATUS_SHAPE, "%s: only one is attention of one sequence to another",
                        j->name);
    if (a->all_layers + b->all_layers > INT32_MAX)
        return mgk_fail(STATUS_SHAPE, "%s: layers of too large numbers", j->name);
    return STATUS_OK;
}

static mgk_status number_layers(joined *j)
{
    size_t l = 0;
    const size_t count = j->parts[0].layer_count + j->parts[1].layer_count;
    TRY(mgk_alloc(count, sizeof(*j->layers), &j->layers));
    TRY(mgk_alloc(count, sizeof(*j->layer_keys), &j->layer_keys));
    for (size_t part = 0; part < PARTS; part++) {
        const mgk_source *source = &j->parts[part].source;
        for (size_t own = 0; own < j->parts[part].layer_count; own++, l++) {
            j->layers[l] = (int32_t)(mgk_source_number(source->layers, own) +
                                     (part > 0 ? j->parts[0].all_layers : 0));
            j->layer_keys[l] = (mgk_layer_keys){mgk_source_components(source, own),
                                                mgk_source_is_gaussian(source, own)};
        }
    }
    return STATUS_OK;
}

static mgk_status make_arrays(joined *j)
{
    const size_t n_max = larger(j->parts[0].source.n_max, j->parts[1].source.n_max);
    TRY(mgk_alloc(j->parts[0].sample_count + 1, sizeof(*j->samples), &j->samples));
    TRY(mgk_alloc(n_max + 1, sizeof(*j->ids), &j->ids));
    return number_layers(j);
}

/* The vectors that both have in the same sizes. */
static unsigned common_vectors(const mgk_source *a, const mgk_source *b)
{
    const unsigned both = a->dim == b->dim ? a->kinds & b->kinds : 0;
    return a->mixtures == b->mixtures ? both : both & ~MGK_VECTORS_BIT(MGK_KEYS);
}

static size_t least_ahead(const mgk_source *a, const mgk_source *b)
{
    if (a->ahead == 0 || b->ahead == 0)
        return a->ahead + b->ahead;
    return a->ahead < b->ahead ? a->ahead : b->ahead;
}

/* The least common multiple; of 0 the other. */
static size_t common_multiple(size_t a, size_t b)
{
    size_t x = a, y = b;
    while (y > 0) {
        const size_t rest = x % y;
        x = y;
        y = rest;
    }
    return a > 0 && b > 0 ? a / x * b : larger(a, b);
}

static mgk_source source_of(joined *j)
{
    const mgk_source *a = &j->parts[0].source, *b = &j->parts[1].source;
    const unsigned vectors = common_vectors(a, b);
    const bool weights =
        a->projections && b->projections && a->width == b->width && a->dim == b->dim;
    return (mgk_source){.n_max = larger(a->n_max, b->n_max),
                        .count = a->count + b->count,
                        .dim = vectors || weights ? a->dim : 0,
                        .kinds = vectors,
                        .mixtures = vectors ? larger(a->mixtures, b->mixtures) : 0,
                        .components = larger(a->components, b->components),
                        .layer_keys = j->layer_keys,
                        .width = weights ? a->width : 0,
                        .all_heads = a->all_heads == b->all_heads ? a->all_heads : 0,
                        .ahead = least_ahead(a, b),
                        .batch = common_multiple(a->batch, b->batch),
                        .format = a->format > b->format ? a->format : b->format,
                        .floats = a->floats && b->floats,
                        .causal = a->causal && b->causal,
                        .unnormalized = a->unnormalized || b->unnormalized,
                        .merged_heads = a->merged_heads || b->merged_heads,
                        .other_values = a->other_values || b->other_values,
                        .may_be_blank = a->may_be_blank || b->may_be_blank,
                        .cross = a->cross,
                        .samples = a->samples,
                        .layers = j->layers,
                        .heads = a->heads,
                        .next = next_joined,
                        .prepare = prepare_joined,
                        .take = take_joined,
                        .vectors = vectors ? give_vectors : NULL,
                        .tokens = a->tokens && b->tokens ? give_tokens : NULL,
                        .projections = weights ? give_projections : NULL,
                        .state = j};
}

static mgk_source_input input_of(joined *j)
{
    const mgk_source_input *a = &j->parts[0], *b = &j->parts[1];
    uint64_t hash = mgk_hash(MGK_HASH_START, a->sha256, sizeof(a->sha256));
    mgk_source_input out = {.name = j->name,
                            .content = mgk_hash(a->content, &b->content, sizeof(b->content)),
                            .training_step = -1,
                            .sample_count = a->sample_count,
                            .head_count = a->head_count,
                            .mixtures = larger(a->mixtures, b->mixtures),
                            .layer_count = a->layer_count + b->layer_count,
                            .all_layers = a->all_layers + b->all_layers,
                            .per_layer = a->per_layer,
                            .source = source_of(j),
                            .keys = larger(a->keys, b->keys),
                            .held = a->held + b->held,
                            .joined = j->parts,
                            .close = close_joined};
    hash = mgk_hash(hash, b->sha256, sizeof(b->sha256));
    if (*a->sha256 && *b->sha256)
        snprintf(out.sha256, sizeof(out.sha256), "%016" PRIx64, hash);
    return out;
}

mgk_status mgk_join_sources(mgk_source_input inputs[2], const char *name, mgk_source_input *out)
{
    mgk_status status;
    joined *j = NULL;
    *out = (mgk_source_input){0};
    CHECK(mgk_alloc(1, sizeof(*j), &j));
    for (size_t i = 0; i < PARTS; i++) {
        j->parts[i] = inputs[i];
        inputs[i] = (mgk_source_input){0};
    }
    j->current = PARTS - 1;
    j->name = name;
    CHECK(check(j));
    CHECK(make_arrays(j));
    *out = input_of(j);
    return STATUS_OK;
out:
    if (j)
        close_joined(j);
    for (size_t i = 0; i < PARTS; i++)
        mgk_source_close(&inputs[i]);
    return status;
}
