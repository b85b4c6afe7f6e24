/* SPDX-License-Identifier: MIT */
/* A running model as a source of matrices, which are not stored. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "run/model_source_private.h"
#include "run/vectors.h"

/* Copies what the layer's kind has prepared, which the next layer overwrites. */
static mgk_status keep_prepared(mgk_device *device, mgk_kept_layer *kept)
{
    if (kept->prepared_bytes == 0)
        return STATUS_OK;
    if (!kept->prepared)
        TRY(device->op->allocate(device, kept->prepared_bytes, &kept->prepared));
    TRY(device->op->copy(device, kept->prepared, kept->attention.kept, kept->prepared_bytes));
    kept->attention.kept = kept->prepared;
    return STATUS_OK;
}

static mgk_status keep_layer(void *context, mgk_observed *layer)
{
    mgk_model_source *s = context;
    const size_t samples = (size_t)s->run.capacity;
    const mgk_kept_room room = {samples * (size_t)s->run.tokens, samples * mgk_source_key_tokens(s),
                                .values = (s->kinds & MGK_VECTORS_BIT(MGK_VALUES)) != 0};
    for (size_t place = 0; place < s->layer_count; place++) {
        if (s->layers[place] != layer->layer)
            continue;
        TRY(mgk_config_check_matrix(layer->config, layer->layer));
        s->kept[place].attention = layer->attention;
        TRY(mgk_kept_view_take(s->run.device, &layer->view, &room, &s->kept[place].vectors));
        TRY(keep_prepared(s->run.device, &s->kept[place]));
    }
    return STATUS_OK;
}

static mgk_status keep_output(void *context, int layer, const void *output)
{
    mgk_model_source *s = context;
    mgk_device *device = s->run.device;
    const size_t bytes = (size_t)s->run.capacity * mgk_source_output_numbers(s) * device->real_size;
    for (size_t place = 0; place < s->layer_count; place++) {
        mgk_kept_layer *kept = &s->kept[place];
        if (s->layers[place] != layer)
            continue;
        if (!kept->output)
            TRY(device->op->allocate(device, bytes, &kept->output));
        TRY(device->op->copy(device, kept->output, output,
                             (size_t)s->run.count * mgk_source_output_numbers(s) *
                                 device->real_size));
    }
    return STATUS_OK;
}

static void *matrix_at(const mgk_model_source *s, size_t place)
{
    return mgk_at(s->run.device, s->matrices,
                  place * (size_t)s->run.tokens * mgk_source_key_tokens(s));
}

/* The right factors follow all left ones. */
static void *right_factors(const mgk_model_source *s)
{
    size_t left = s->capacity * (size_t)s->run.tokens * s->depth;
    return mgk_at(s->run.device, s->matrices, left);
}

/* Computes the group's matrices or factors, of a sample of the last batch, at group->place. */
static mgk_status compute_matrices(const mgk_model_source *s, const mgk_group *group)
{
    mgk_device *device = s->run.device;
    const mgk_kept_layer *kept = &s->kept[group->layer];
    const mgk_attention_methods *methods = kept->attention.kind->methods;
    const int sample = (int)group->sample - s->run.first, count = (int)group->count;
    const int32_t *heads = s->heads_there + (group->heads - s->selection.head);
    const size_t tokens = (size_t)s->run.tokens;
    if (s->depth > 0) {
        size_t before = group->place * tokens * s->depth;
        return methods->factors(device, &kept->vectors.view, &kept->attention, sample, heads, count,
                                mgk_at(device, s->matrices, before),
                                mgk_at(device, right_factors(s), before));
    }
    return methods->matrix(device, &kept->vectors.view, &kept->attention, MGK_MATRIX_ATTENTION,
                           sample, heads, count, matrix_at(s, group->place));
}

static mgk_status next_computed(void *state, size_t most, mgk_group *group, bool *end)
{
    mgk_model_source *s = state;
    *end = !mgk_selection_next(&s->selection, most, group);
    return STATUS_OK;
}

/* Runs the batch that contains the sample, unless it was the last one. */
static mgk_status run_batch(mgk_model_source *s, int sample)
{
    const mgk_observer observer = {.layer = keep_layer,
                                   .context = s,
                                   .layers = s->layers[s->layer_count - 1] + 1,
                                   .output = s->outputs ? keep_output : NULL};
    bool end;
    if (sample >= s->run.first && sample < s->run.first + s->run.count)
        return STATUS_OK;
    mgk_model_run_seek(&s->run, sample);
    TRY(mgk_model_run_next(&s->run, &s->job, &observer, &end));
    return s->importance.heads ? mgk_head_importance_measure(s->importance.heads, s->watched)
                               : STATUS_OK;
}

/* Copies the tokens of a sample of the last batch to the group's place. */
static void keep_tokens(const mgk_model_source *s, const mgk_group *group)
{
    const size_t tokens = (size_t)s->run.tokens, sample = group->sample - (size_t)s->run.first;
    memcpy(s->tokens + group->place * tokens, s->run.ids + sample * tokens,
           group->queries * sizeof(*s->tokens));
}

/* Copies vectors of a sample of the last batch to the group's place. */
static mgk_status keep_vectors(const mgk_model_source *s, const mgk_group *group, mgk_vectors which)
{
    mgk_device *device = s->run.device;
    const mgk_attention_view *view = &s->kept[group->layer].vectors.view;
    const size_t strides[] = {view->query_stride, view->key_stride, view->value_stride};
    const void *const values[] = {view->query, view->key, view->value};
    const mgk_vector_rows rows = {.values = s->rows,
                                  .element = sizeof(*s->rows),
                                  .length = group->n,
                                  .stride = strides[which],
                                  .heads = (size_t)view->heads,
                                  .mixtures = which == MGK_KEYS ? (size_t)view->mixtures : 1,
                                  .size = (size_t)view->dim,
                                  .most = mgk_source_mixtures(s, which)};
    const size_t sample = group->sample - (size_t)s->run.first;
    const size_t first = sample * (size_t)view->tokens * rows.stride;
    if (group->n > 0)
        TRY(mgk_device_download(
            device, mgk_at(device, values[which], first),
            (group->n - 1) * rows.stride + rows.mixtures * rows.heads * rows.size, s->rows));
    mgk_vector_rows_take(&rows, s->numbers + (group->heads - s->selection.head), group->count,
                         group->n,
                         s->vectors[which] + group->place * mgk_source_head_numbers(s, which));
    return STATUS_OK;
}

static double *output_at(const mgk_model_source *s, const mgk_group *group)
{
    return s->output + group->place / s->group * mgk_source_output_numbers(s);
}

/* Copies the output of a layer on a sample of the last batch to the group's place. */
static mgk_status keep_group_output(const mgk_model_source *s, const mgk_group *group)
{
    mgk_device *device = s->run.device;
    const size_t before = (group->sample - (size_t)s->run.first) * mgk_source_output_numbers(s);
    return mgk_device_download(device, mgk_at(device, s->kept[group->layer].output, before),
                               group->n * (size_t)s->run.model->config.dim, output_at(s, group));
}

/* Groups that are prepared together may belong to several batches, of which only the last one stays
 * on the device. */
static mgk_status keep_group(const mgk_model_source *s, const mgk_group *group)
{
    keep_tokens(s, group);
    mgk_source_importance_keep(&s->importance, group, group->sample - (size_t)s->run.first);
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++)
        if (s->kinds & MGK_VECTORS_BIT(which))
            TRY(keep_vectors(s, group, (mgk_vectors)which));
    return s->outputs && group->n > 0 ? keep_group_output(s, group) : STATUS_OK;
}

/* The valid rows and columns of a group of the last batch. */
static void set_lengths(const mgk_model_source *s, mgk_group *group)
{
    const size_t sample = group->sample - (size_t)s->run.first;
    mgk_group_set(group, (size_t)s->run.lengths[sample],
                  (size_t)mgk_model_run_keys(&s->run)->lengths[sample]);
}

static mgk_status prepare_computed(void *state, mgk_group *groups, size_t count, size_t *prepared)
{
    mgk_model_source *s = state;
    size_t place = 0;
    for (*prepared = 0; *prepared < count; ++*prepared) {
        mgk_group *group = &groups[*prepared];
        TRY(run_batch(s, (int)group->sample));
        set_lengths(s, group);
        group->place = place;
        place += group->count;
        TRY(keep_group(s, group));
        TRY(compute_matrices(s, group));
    }
    return STATUS_OK;
}

/* Copies the valid rows of both factors of a matrix to host memory. */
static mgk_status take_factors(const mgk_model_source *s, size_t place, size_t n, double *data)
{
    mgk_device *device = s->run.device;
    size_t valid = n * s->depth, before = place * (size_t)s->run.tokens * s->depth;
    TRY(mgk_device_download(device, mgk_at(device, s->matrices, before), valid, data));
    return mgk_device_download(device, mgk_at(device, right_factors(s), before), valid,
                               data + valid);
}

/* Copies the valid block of a matrix on the device to host memory. */
static mgk_status take_through(const mgk_model_source *s, size_t place, size_t n, double *data)
{
    mgk_device *device = s->run.device;
    TRY(device->op->take_block(device, n, (size_t)s->run.tokens, matrix_at(s, place), s->block));
    return device->op->download(device, data, s->block, n * n * sizeof(*data));
}

/* Copies the valid rectangle of a matrix, with zeros around it. Only the CPU has rectangles. */
static mgk_status take_rectangle(const mgk_model_source *s, const mgk_group *group,
                                 const void *matrix, double *data)
{
    mgk_device *device = s->run.device;
    const size_t n = group->n, keys = group->keys;
    for (size_t i = 0; i < n; i++) {
        double *row = data + i * n;
        const size_t count = i < group->queries ? keys : 0;
        if (count > 0)
            TRY(mgk_device_download(device, mgk_at(device, matrix, i * mgk_source_key_tokens(s)),
                                    count, row));
        memset(row + count, 0, (n - count) * sizeof(*row));
    }
    return STATUS_OK;
}

static mgk_status take_computed(void *state, const mgk_group *group, size_t which, double *data)
{
    mgk_model_source *s = state;
    mgk_device *device = s->run.device;
    size_t tokens = (size_t)s->run.tokens, place = group->place + which;
    if (s->run.cross)
        return take_rectangle(s, group, matrix_at(s, place), data);
    if (s->depth == 0 && !s->block)
        return device->op->take_block(device, group->n, tokens, matrix_at(s, place), data);
    pthread_mutex_lock(&s->lock);
    mgk_status status = s->depth > 0 ? take_factors(s, place, group->n, data)
                                     : take_through(s, place, group->n, data);
    pthread_mutex_unlock(&s->lock);
    return status;
}

static mgk_status give_tokens(void *state, const mgk_group *group, int32_t *ids)
{
    const mgk_model_source *s = state;
    memcpy(ids, s->tokens + group->place * (size_t)s->run.tokens, group->n * sizeof(*ids));
    return STATUS_OK;
}

static mgk_status give_vectors(void *state, const mgk_group *group, mgk_vectors which, double *data)
{
    const mgk_model_source *s = state;
    const size_t head =
        mgk_source_mixtures(s, which) * group->n * (size_t)s->run.model->config.head_dim;
    memcpy(data, s->vectors[which] + group->place * mgk_source_head_numbers(s, which),
           group->count * head * sizeof(*data));
    return STATUS_OK;
}

static mgk_status give_output(void *state, const mgk_group *group, double *data)
{
    const mgk_model_source *s = state;
    memcpy(data, output_at(s, group), group->n * (size_t)s->run.model->config.dim * sizeof(*data));
    return STATUS_OK;
}

static mgk_status give_importance(void *state, const mgk_group *group, mgk_importance which,
                                  double *values)
{
    const mgk_model_source *s = state;
    mgk_source_importance_give(&s->importance, group, which, values);
    return STATUS_OK;
}

static mgk_status give_mixture(void *state, size_t layer, size_t head, double *priors,
                               double *variances)
{
    const mgk_model_source *s = state;
    const mgk_model *model = s->run.model;
    const int number = s->layers[layer];
    const size_t of_model = (size_t)s->heads[head];
    const mgk_attention_layer attention = mgk_model_attention(model, number, s->run.tokens);
    const mgk_prior_view view = attention.prior;
    const size_t tokens = (size_t)s->run.tokens;
    for (size_t r = 0; r < s->mixtures; r++) {
        double *prior = priors + r * tokens;
        variances[r] = attention.variance[r];
        prior[0] = 1; /* hard-E has none */
        if (view.values)
            TRY(mgk_model_read(model,
                               model->parameters.layers[number].prior +
                                   of_model * view.head_stride + r * view.component_stride,
                               view.key_stride ? tokens : 1, prior));
        for (size_t j = 0; j < tokens; j++)
            prior[j] = fmin(1, fmax(0, prior[view.values && view.key_stride ? j : 0]));
    }
    return STATUS_OK;
}

static mgk_status give_key_weight(void *state, size_t layer, size_t head, size_t component,
                                  double *data)
{
    const mgk_model_source *s = state;
    return mgk_key_weight(s->run.model, s->layers[layer], s->heads[head], (int)component, data);
}

static mgk_status give_projections(void *state, mgk_projection which, size_t layer, double *data)
{
    const mgk_model_source *s = state;
    return mgk_model_projections(s->run.model, which, s->layers[layer], s->heads, s->head_count,
                                 data);
}

static bool rows_sum_to_one(const mgk_model_source *s)
{
    bool sum = true;
    for (size_t l = 0; l < s->layer_count; l++)
        sum &= mgk_config_is_normalized(&s->run.model->config, s->layers[l]);
    return sum;
}

mgk_source mgk_model_source_of(mgk_model_source *s, bool double_precision)
{
    const mgk_model_run *run = &s->run;
    const mgk_config *config = &run->model->config;
    const size_t tokens = (size_t)run->tokens, keys = mgk_source_key_tokens(s);
    const bool there = run->device->accelerator && s->depth == 0 && !s->block;
    size_t components = 0;
    bool gaussian = false;
    for (size_t l = 0; l < s->layer_count; l++) {
        const mgk_layer_keys *keys_of = &s->layer_keys[l];
        components = keys_of->components > components ? keys_of->components : components;
        gaussian |= keys_of->gaussian;
    }
    return (mgk_source){.n_max = keys > tokens ? keys : tokens,
                        .count = s->layer_count * s->selection.per_layer,
                        .depth = s->depth,
                        .dim = (size_t)config->head_dim,
                        .kinds = s->kinds,
                        .gaussian = gaussian,
                        .components = components,
                        .layer_keys = s->layer_keys,
                        .width = (size_t)config->dim,
                        .mixtures = s->kinds ? s->mixtures : 0,
                        .model_dim = s->outputs ? (size_t)config->dim : 0,
                        .importances = s->importance.wanted,
                        .ahead = s->capacity,
                        .batch = (size_t)run->capacity,
                        .causal = mgk_model_run_is_causal(run),
                        .unnormalized = !rows_sum_to_one(s),
                        .merged_heads = config->aggregate != MGK_AGGREGATION_CONCATENATION,
                        .other_values = mgk_kinds_own_values(config->attention),
                        .may_be_blank = mgk_kinds_may_be_blank(config->attention),
                        .cross = run->cross,
                        .samples = run->index,
                        .layers = s->layers,
                        .heads = s->heads,
                        .all_heads = (size_t)config->heads,
                        .format = double_precision ? MGK_FLOAT_F64 : MGK_FLOAT_F32,
                        .floats = !double_precision,
                        .device = there ? run->device : NULL,
                        .next = next_computed,
                        .prepare = prepare_computed,
                        .take = take_computed,
                        .vectors = s->kinds ? give_vectors : NULL,
                        .output = s->outputs ? give_output : NULL,
                        .importance = s->importance.wanted ? give_importance : NULL,
                        .mixture = gaussian ? give_mixture : NULL,
                        .key_weight = run->cross ? NULL : give_key_weight,
                        .projections = run->cross ? NULL : give_projections,
                        .tokens = run->data && !run->cross ? give_tokens : NULL,
                        .state = s};
}
