/* SPDX-License-Identifier: MIT */
/* Attention matrices in the caller's memory as a source of matrices. */
#include <string.h>

#include "analysis/run/selection.h"
#include "base/memory.h"
#include "base/number.h"
#include "run/arguments.h"
#include "run/array_context.h"
#include "run/sources.h"
#include "run/strided.h"

/* One side of the matrices: its tokens, and the valid ones of each sample. */
typedef struct array_side {
    const char *token; /* "token", of its messages */
    int32_t tokens;
    const int32_t *first, *lengths; /* [S], or NULL */
} array_side;

static array_side queries_of(const mgk_array *a)
{
    return (array_side){"token", a->tokens, a->first, a->lengths};
}

/* Keys are the queries' tokens unless they are of another sequence. */
static array_side keys_of(const mgk_array *a)
{
    return a->keys > 0 ? (array_side){"key", a->keys, a->first_key, a->key_lengths} : queries_of(a);
}

static size_t first_of(const array_side *side, size_t sample)
{
    return side->first ? (size_t)side->first[sample] : 0;
}

static size_t length_of(const array_side *side, size_t sample)
{
    return side->lengths ? (size_t)side->lengths[sample]
                         : (size_t)side->tokens - first_of(side, sample);
}

typedef struct array_source {
    const mgk_array *array; /* borrowed */
    int32_t *layers;        /* positions in the array of the analysed layers, [layer_count] */
    int32_t *heads;         /* the analysed heads, [head_count] */
    size_t layer_count, head_count;
    mgk_selection selection;
    array_side queries, keys;
    mgk_float_format format; /* of entries */
    mgk_zero_keys zero_keys; /* only looked for if the array has no lengths of keys */
} array_source;

static mgk_status check_places(const mgk_array *a)
{
    TRY(mgk_check_array("layers of an array", a->layers, a->layer_count));
    for (size_t l = 0; l < a->layer_count; l++)
        if (!a->layers[l])
            return mgk_fail(STATUS_USAGE, "%s: layer %zu is NULL", mgk_array_name(a), l);
    return STATUS_OK;
}

static mgk_status check_lengths(const mgk_array *a, const array_side *side)
{
    for (int s = 0; s < a->samples; s++) {
        const int32_t first = side->first ? side->first[s] : 0;
        if (first < 0 || first >= side->tokens)
            return mgk_fail(STATUS_USAGE, "%s: sample %d begins at %s %d of %d", mgk_array_name(a),
                            s, side->token, first, side->tokens);
        if (side->lengths && (side->lengths[s] < 1 || side->lengths[s] > side->tokens - first))
            return mgk_fail(STATUS_USAGE, "%s: sample %d has %d valid %ss from %s %d of %d",
                            mgk_array_name(a), s, side->lengths[s], side->token, side->token, first,
                            side->tokens);
    }
    return STATUS_OK;
}

/* The keys of another sequence, where there are any. */
static mgk_status check_keys(const mgk_array *a)
{
    const array_side keys = keys_of(a);
    if (a->keys < 0 || (a->keys == 0 && (a->first_key || a->key_lengths)))
        return mgk_fail(STATUS_USAGE, "%s: %d keys", mgk_array_name(a), a->keys);
    return check_lengths(a, &keys);
}

mgk_status mgk_array_check(const mgk_array *a)
{
    TRY(mgk_check_place("array", a));
    mgk_float_format format;
    if (!mgk_strided_format(a->dtype, &format))
        return mgk_fail(STATUS_USAGE, "%s: `dtype` is \"%s\", expected " MGK_ARRAY_DTYPES,
                        mgk_array_name(a), a->dtype ? a->dtype : "");
    if (a->layer_count < 1 || a->layer_count > INT32_MAX || a->samples < 1 || a->heads < 1 ||
        a->tokens < 1)
        return mgk_fail(STATUS_USAGE, "%s: no matrices: %d x %zu x %d of %d tokens",
                        mgk_array_name(a), a->samples, a->layer_count, a->heads, a->tokens);
    TRY(check_places(a));
    const array_side queries = queries_of(a);
    TRY(check_lengths(a, &queries));
    TRY(check_keys(a));
    return mgk_array_context_check(a);
}

static mgk_status next_group(void *state, size_t most, mgk_group *group, bool *end)
{
    array_source *s = state;
    *end = !mgk_selection_next(&s->selection, most, group);
    if (*end)
        return STATUS_OK;
    mgk_group_set(group, length_of(&s->queries, group->sample), length_of(&s->keys, group->sample));
    return STATUS_OK;
}

/* Nothing is to be prepared. */
static mgk_status prepare_groups(void *state, mgk_group *groups, size_t count, size_t *prepared)
{
    (void)state;
    (void)groups;
    *prepared = count;
    return STATUS_OK;
}

static mgk_status take_matrix(void *state, const mgk_group *group, size_t which, double *data)
{
    array_source *s = state;
    const mgk_array *a = s->array;
    const ptrdiff_t first = (ptrdiff_t)first_of(&s->queries, group->sample);
    const ptrdiff_t first_key = (ptrdiff_t)first_of(&s->keys, group->sample);
    const size_t n = group->n, keys = group->keys;
    const char *at = a->layers[s->layers[group->layer]];
    at += (ptrdiff_t)group->sample * a->sample_stride +
          s->heads[group->heads[which]] * a->head_stride;
    at += first * a->row_stride + first_key * a->column_stride;
    for (size_t i = 0; i < group->queries; i++) {
        mgk_copy_strided(at + (ptrdiff_t)i * a->row_stride, a->column_stride, s->format, keys,
                         data + i * n);
        memset(data + i * n + keys, 0, (n - keys) * sizeof(*data));
    }
    if (!s->keys.lengths)
        mgk_zero_keys_look(&s->zero_keys, data, group->queries, keys, n);
    return STATUS_OK;
}

/* ---- what is known besides ------------------------------------------------------------------- */

/* The values of the group's heads, [count, n, D]. */
static mgk_status give_values(void *state, const mgk_group *group, mgk_vectors which, double *data)
{
    const array_source *s = state;
    const mgk_array_vectors *values = &s->array->context->values;
    const size_t first = first_of(&s->queries, group->sample), n = group->n;
    (void)which;
    for (size_t h = 0; h < group->count; h++) {
        const int head = s->heads[group->heads[h]] / (s->array->heads / values->heads);
        mgk_array_copy_vectors(values, (size_t)s->layers[group->layer], group->sample, head, first,
                               n, data + h * n * (size_t)values->size);
    }
    return STATUS_OK;
}

static mgk_status give_tokens(void *state, const mgk_group *group, int32_t *ids)
{
    const array_source *s = state;
    const size_t before = group->sample * (size_t)s->array->tokens;
    memcpy(ids, s->array->context->tokens + before + first_of(&s->queries, group->sample),
           group->n * sizeof(*ids));
    return STATUS_OK;
}

static mgk_status give_output(void *state, const mgk_group *group, double *data)
{
    const array_source *s = state;
    mgk_array_copy_vectors(&s->array->context->outputs, (size_t)s->layers[group->layer],
                           group->sample, 0, first_of(&s->queries, group->sample), group->n, data);
    return STATUS_OK;
}

/* Tells the source what there is of what is wanted. */
static void add_context(const mgk_source_options *options, const mgk_array_context *context,
                        mgk_source *source)
{
    if (context->tokens)
        source->tokens = give_tokens;
    if (context->values.layers && (options->vectors & MGK_VECTORS_BIT(MGK_VALUES))) {
        source->kinds = MGK_VECTORS_BIT(MGK_VALUES);
        source->dim = (size_t)context->values.size;
        source->mixtures = 1;
        source->vectors = give_values;
    }
    if (context->outputs.layers && options->outputs) {
        source->model_dim = (size_t)context->outputs.size;
        source->output = give_output;
    }
}

static void close_array(void *state)
{
    array_source *s = state;
    mgk_selection_free(&s->selection);
    mgk_free(s->layers);
    mgk_free(s->heads);
    mgk_free(s);
}

mgk_status mgk_open_array_source(const mgk_source_options *options, const mgk_array *array,
                                 mgk_source_input *out)
{
    mgk_status status;
    array_source *s;
    TRY(mgk_alloc(1, sizeof(*s), &s));
    s->array = array;
    s->queries = queries_of(array);
    s->keys = keys_of(array);
    s->zero_keys.cross = array->keys > 0;
    mgk_strided_format(array->dtype, &s->format);
    CHECK(mgk_source_check_half(options, mgk_array_name(array), s->format));
    CHECK(mgk_source_check_causal(options, mgk_array_name(array), array->keys > 0));
    status = mgk_choose_numbers("layer", options->layers, options->layer_count,
                                (int)array->layer_count, &s->layers, &s->layer_count);
    if (status == STATUS_OK)
        status = mgk_choose_numbers("head", options->heads, options->head_count, (int)array->heads,
                                    &s->heads, &s->head_count);
    if (status != STATUS_OK)
        CHECK(mgk_fail_prefix(status, mgk_array_name(array)));
    CHECK(mgk_selection_make(options->job->seed, (size_t)array->samples, s->layer_count, s->layers,
                             s->head_count, (size_t)options->matrices, &s->selection));
    *out = (mgk_source_input){
        .name = mgk_array_name(array),
        .training_step = -1,
        .sample_count = (size_t)array->samples,
        .layer_count = s->layer_count,
        .all_layers = array->layer_count,
        .head_count = s->head_count,
        .mixtures = 1,
        .per_layer = s->selection.per_layer,
        .zero_keys = s->keys.lengths ? NULL : &s->zero_keys,
        .keys = (size_t)s->keys.tokens,
        .source = {.n_max =
                       (size_t)(array->tokens > s->keys.tokens ? array->tokens : s->keys.tokens),
                   .count = s->layer_count * s->selection.per_layer,
                   .format = s->format,
                   .floats = s->format != MGK_FLOAT_F64,
                   .causal = options->causal,
                   .cross = array->keys > 0,
                   .layers = s->layers,
                   .heads = s->heads,
                   .all_heads = (size_t)array->heads,
                   .next = next_group,
                   .prepare = prepare_groups,
                   .take = take_matrix,
                   .state = s},
        .close = close_array,
    };
    if (array->context)
        add_context(options, array->context, &out->source);
out:
    if (status != STATUS_OK)
        close_array(s);
    return status;
}
