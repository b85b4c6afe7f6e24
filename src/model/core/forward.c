/* SPDX-License-Identifier: MIT */
/* The forward pass. */
#include "model/core/pass_private.h"

/* Adds the bias of a map, if it has one, to y [rows, out]. */
static mgk_status add_bias(const mgk_pass *pass, mgk_linear_map map, size_t rows, size_t out,
                           void *y)
{
    mgk_device *device = pass->model->device;
    if (map.bias == MGK_ABSENT)
        return STATUS_OK;
    return device->op->bias_activation(device, MGK_ACTIVATION_NONE, rows, out,
                                       mgk_pass_weight(pass, map.bias), y, NULL);
}

mgk_status mgk_pass_linear(const mgk_pass *pass, mgk_linear_map map, size_t rows, size_t in,
                           size_t out, const void *x, void *y)
{
    mgk_device *device = pass->model->device;
    TRY(device->op->multiply(device, false, true, rows, out, in, 1, x, in,
                             mgk_pass_weight(pass, map.weight), in, 0, y, out));
    return add_bias(pass, map, rows, out, y);
}

mgk_status mgk_pass_norm_of(const mgk_pass *pass, mgk_norm map, int dim, const void *x, void *y,
                            void *mean, void *deviation)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    if (config->norm == MGK_NORMALIZATION_RMS)
        return device->op->rms_norm(device, mgk_pass_stream_rows(pass), (size_t)dim,
                                    config->norm_epsilon, x, mgk_pass_weight(pass, map.weight), y);
    return device->op->layer_norm(device, mgk_pass_stream_rows(pass), (size_t)dim,
                                  config->norm_epsilon, x, mgk_pass_weight(pass, map.weight),
                                  mgk_pass_weight(pass, map.bias), y, mean, deviation);
}

mgk_status mgk_pass_norm(const mgk_pass *pass, mgk_norm map, const void *x, void *y, void *mean,
                         void *deviation)
{
    return mgk_pass_norm_of(pass, map, pass->model->config.dim, x, y, mean, deviation);
}

/* Has its own room for means and deviations, which gradients do not need. */
static mgk_status norm_branch(const mgk_pass *pass, mgk_norm map)
{
    return pass->model->config.branch_norm
               ? mgk_pass_norm(pass, map, pass->branch, pass->branch, pass->mean, pass->deviation)
               : STATUS_OK;
}

mgk_attention_view mgk_pass_view(const mgk_pass *pass, int index)
{
    const mgk_layer_activations *layer = &pass->layers[index];
    const mgk_layer_offsets *offsets = &pass->model->parameters.layers[index];
    const size_t row = offsets->rows;
    const mgk_config *config = &pass->model->config;
    const mgk_device *device = pass->model->device;
    mgk_attention_view view = {
        .samples = pass->sequences,
        .heads = config->heads,
        .tokens = pass->tokens,
        .dim = config->head_dim,
        .mixtures = (int)offsets->mixtures,
        .causal = config->causal,
        .lengths = pass->lengths,
        .masked = pass->has_masked ? pass->masked : NULL,
        .query = layer->qkv,
        .key = mgk_at(device, layer->qkv, pass->width),
        .value = mgk_at(device, layer->qkv, pass->width + offsets->keys),
        .extra = mgk_at(device, layer->qkv, row - offsets->extra),
        .query_stride = row,
        .key_stride = row,
        .value_stride = row,
        .extra_stride = row,
        .extra_width = offsets->extra,
    };
    if (offsets->kind->keys == MGK_KEYS_SHIFTED) {
        view.key = layer->keys;
        view.key_stride = offsets->mixtures * pass->width;
    }
    if (pass->turning) {
        view.query = layer->turned;
        view.key = mgk_at(device, layer->turned, pass->width);
        view.value = mgk_at(device, layer->turned, 2 * pass->width);
        view.query_stride = view.key_stride = view.value_stride = 3 * pass->width;
    }
    return view;
}

/* Sequences first … end − 1 of turn, which have these angles. */
static mgk_status turn_sequences(const mgk_pass *pass, int index, int first, int end,
                                 const void *angles)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_layer_activations *layer = &pass->layers[index];
    const size_t heads = (size_t)config->heads, shared = (size_t)config->key_heads;
    const size_t row = (size_t)first * (size_t)pass->tokens;
    const mgk_layer_offsets *offsets = &pass->model->parameters.layers[index];
    const size_t width = offsets->rows;
    const struct {
        size_t heads;
        const void *angles;
        size_t from;
    } parts[] = {{heads, angles, 0},
                 {shared, angles, pass->width},
                 {shared, NULL, pass->width + offsets->keys}};
    for (size_t i = 0; i < 3; i++)
        TRY(device->op->rotary_embedding(
            device, (size_t)(end - first), (size_t)pass->tokens, heads, parts[i].heads,
            (size_t)config->head_dim, parts[i].angles,
            mgk_at(device, layer->qkv, row * width + parts[i].from), width,
            mgk_at(device, layer->turned, (3 * row + i) * pass->width), 3 * pass->width));
    return STATUS_OK;
}

/*
 * layer->turned: rotates queries and keys by their positions, unless the layer has none, and copies
 * shared keys and values to every head.
 */
static mgk_status turn(const mgk_pass *pass, int index)
{
    const mgk_config *config = &pass->model->config;
    if (mgk_config_is_unrotated(config, index))
        return turn_sequences(pass, index, 0, pass->sequences, NULL);
    if (pass->local_angles && mgk_config_is_local(config, index))
        return turn_sequences(pass, index, 0, pass->sequences, pass->local_angles);
    if (!pass->far)
        return turn_sequences(pass, index, 0, pass->sequences, pass->angles);
    for (int first = 0, end; first < pass->sequences; first = end) {
        for (end = first + 1; end < pass->sequences && pass->far[end] == pass->far[first];)
            end++;
        TRY(turn_sequences(pass, index, first, end,
                           pass->far[first] ? pass->far_angles : pass->angles));
    }
    return STATUS_OK;
}

mgk_status mgk_pass_dropout_add(const mgk_pass *pass, uint64_t site, const void *x,
                                const void *residual, void *y)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    return device->op->dropout_add(device, mgk_pass_stream_rows(pass), (size_t)config->dim,
                                   pass->training && !pass->frozen ? config->dropout : 0,
                                   pass->draw, site, x, residual, y);
}

/* Without dropout the array stays as it is. */
static mgk_status drop(const mgk_pass *pass, double rate, uint64_t site, size_t width, void *x)
{
    mgk_device *device = pass->model->device;
    if (!pass->training || pass->frozen || rate == 0)
        return STATUS_OK;
    return device->op->dropout_add(device, mgk_pass_stream_rows(pass), width, rate, pass->draw,
                                   site, x, NULL, x);
}

mgk_status mgk_pass_drop_hidden(const mgk_pass *pass, int index, void *x)
{
    const mgk_config *config = &pass->model->config;
    return drop(pass, config->dropout_hidden, (uint64_t)(2 * config->layers + 1 + index),
                (size_t)config->hidden, x);
}

mgk_status mgk_pass_drop_output(const mgk_pass *pass, void *x)
{
    const mgk_config *config = &pass->model->config;
    return drop(pass, config->dropout_output, (uint64_t)(3 * config->layers + 1),
                (size_t)mgk_config_hidden_width(config), x);
}

/* Normalises the queries and keys of a layer, which are not rotated yet. */
static mgk_status norm_queries(const mgk_pass *pass, int index)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    const bool whole = config->query_norm == MGK_QUERY_NORM_WIDTH;
    const size_t dim = (size_t)config->head_dim;
    const struct {
        size_t heads, from;
        mgk_norm norm;
    } parts[] = {{(size_t)config->heads, 0, weights->query_norm},
                 {(size_t)config->key_heads, pass->width, weights->key_norm}};
    for (size_t i = 0; i < 2; i++)
        TRY(device->op->group_norm(device, config->norm == MGK_NORMALIZATION_LAYER,
                                   mgk_pass_rows(pass), whole ? 1 : parts[i].heads,
                                   whole ? parts[i].heads * dim : dim, config->norm_epsilon,
                                   mgk_at(device, pass->layers[index].qkv, parts[i].from),
                                   weights->rows, mgk_pass_weight(pass, parts[i].norm.weight),
                                   mgk_pass_weight(pass, parts[i].norm.bias)));
    return STATUS_OK;
}

/* The queries of a layer from its input before the norm, in place of those after it. */
static mgk_status project_queries(mgk_pass *pass, int index)
{
    mgk_device *device = pass->model->device;
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    const size_t rows = mgk_pass_stream_rows(pass), dim = (size_t)pass->model->config.dim;
    void *query = pass->layers[index].qkv;
    TRY(device->op->multiply(
        device, false, true, rows, pass->width, dim, 1, pass->layers[index].input, dim,
        mgk_pass_weight(pass, weights->query.weight), dim, 0, query, weights->rows));
    return STATUS_OK;
}

/* Queries, keys and values of a layer from `input` [T, C]. */
static mgk_status project(mgk_pass *pass, int index, const void *input)
{
    const mgk_model *model = pass->model;
    mgk_device *device = model->device;
    mgk_layer_activations *layer = &pass->layers[index];
    const mgk_layer_offsets *weights = &model->parameters.layers[index];
    size_t rows = mgk_pass_stream_rows(pass);
    TRY(mgk_pass_linear(pass, weights->query, rows, (size_t)model->config.dim, weights->rows, input,
                        layer->qkv));
    if (model->config.raw_queries)
        TRY(project_queries(pass, index));
    TRY(mgk_pass_unpack(pass, weights->rows, layer->qkv));
    if (weights->kind->keys == MGK_KEYS_SHIFTED)
        TRY(device->op->shift_keys(device, mgk_pass_rows(pass), weights->mixtures, pass->width,
                                   mgk_at(device, layer->qkv, pass->width), weights->rows,
                                   mgk_pass_weight(pass, weights->key_shift), layer->keys));
    if (model->config.query_norm != MGK_QUERY_NORM_NONE)
        TRY(norm_queries(pass, index));
    if (pass->relative)
        TRY(mgk_pass_relative(pass, index));
    return pass->turning ? turn(pass, index) : STATUS_OK;
}

/* Whether the pass ends with this layer, whose output nobody needs. */
static bool is_last(const mgk_observer *observer, int index)
{
    return observer && !observer->output && index + 1 == observer->layers;
}

/* Whether the matrices of `count` heads can give the output of a sample that has none yet. */
static bool gives_output(const mgk_observed *layer, int sample, int count)
{
    return layer->output && sample == layer->attended && count == layer->view.heads &&
           layer->attention.kind->methods->matrix_output &&
           layer->device->op->mixture_matrix_output;
}

/* The matrices of one sample, and its output if they give it. */
static mgk_status sample_matrices(mgk_observed *layer, mgk_matrix_content content, int sample,
                                  const int32_t *heads, int count, void *out)
{
    const size_t stride = layer->output_stride;
    if (content != MGK_MATRIX_ATTENTION || !gives_output(layer, sample, count))
        return layer->attention.kind->methods->matrix(
            layer->device, &layer->view, &layer->attention, content, sample, heads, count, out);
    const size_t first = (size_t)sample * (size_t)layer->view.tokens * stride;
    TRY(layer->attention.kind->methods->matrix_output(
        layer->device, &layer->view, &layer->attention, sample, heads, count, out,
        mgk_at(layer->device, layer->output, first), stride));
    layer->attended++;
    return STATUS_OK;
}

mgk_status mgk_observed_matrices(mgk_observed *layer, mgk_matrix_content content, int first,
                                 int samples, const int32_t *heads, int count, void *out)
{
    const mgk_attention_methods *methods = layer->attention.kind->methods;
    const size_t each =
        (size_t)count * (size_t)layer->view.tokens * (size_t)mgk_view_keys(&layer->view);
    TRY(mgk_config_check_matrix(layer->config, layer->layer));
    /* Devices that can give outputs with matrices do so sample by sample. */
    const bool gives = methods->matrix_output && layer->device->op->mixture_matrix_output;
    if (methods->matrices && !gives)
        return methods->matrices(layer->device, &layer->view, &layer->attention, content, first,
                                 samples, heads, count, out);
    for (int i = 0; i < samples; i++)
        TRY(sample_matrices(layer, content, first + i, heads, count,
                            mgk_at(layer->device, out, (size_t)i * each)));
    return STATUS_OK;
}

mgk_status mgk_pass_attend(mgk_pass *pass, mgk_observed *observed, bool ends,
                           const mgk_observer *observer)
{
    mgk_device *device = pass->model->device;
    const mgk_attention_methods *methods = observed->attention.kind->methods;
    mgk_layer_activations *layer = &pass->layers[observed->layer];
    const bool keeps = pass->training; /* what `backward` needs */
    observed->device = device;
    observed->output = ends || keeps ? NULL : layer->attended;
    observed->output_stride = pass->width;
    if (methods->prepare)
        TRY(methods->prepare(device, &observed->view, &observed->attention));
    if (observer && observer->layer)
        TRY(observer->layer(observer->context, observed));
    if (ends || observed->attended == observed->view.samples)
        return STATUS_OK;
    return methods->forward(device, &observed->view, &observed->attention, layer->attended,
                            pass->width);
}

mgk_attention_layer mgk_pass_attention(const mgk_pass *pass, int index)
{
    const mgk_config *config = &pass->model->config;
    mgk_attention_layer out = mgk_model_attention(pass->model, index, pass->tokens);
    out.kept = pass->layers[index].kept;
    out.scratch = pass->scratch;
    if (out.size.below)
        out.below = pass->layers[index - 1].kept;
    if (out.kind->pattern)
        out.pattern = &pass->patterns[index];
    out.terms.bias = pass->distances;
    out.terms.bias_tokens = pass->capacity_tokens;
    out.terms.bias_by_key = config->alibi_rounded;
    out.terms.query_side = pass->relative_sides[0];
    out.terms.key_side = pass->relative_sides[1];
    out.terms.places = pass->relative_places;
    out.terms.place_tokens = pass->capacity_tokens;
    out.terms.sides = 2 * (size_t)config->relative;
    if (pass->training && !pass->frozen) {
        out.dropout = config->dropout_attention;
        out.draw = pass->draw;
        out.site = (uint64_t)(3 * config->layers + 2 + index);
    }
    return out;
}

/* The layer's attention to its own tokens. */
static mgk_status attend(mgk_pass *pass, int index, bool ends, const mgk_observer *observer)
{
    mgk_observed observed = {.config = &pass->model->config,
                             .layer = index,
                             .view = mgk_pass_view(pass, index),
                             .attention = mgk_pass_attention(pass, index)};
    return mgk_pass_attend(pass, &observed, ends, observer);
}

/* pass->branch = feed-forward of `input` [T, C]. */
static mgk_status feed_forward(mgk_pass *pass, int index, const void *input)
{
    if (pass->model->config.experts > 0)
        return mgk_pass_mix_experts(pass, index, input);
    mgk_model *model = pass->model;
    mgk_device *device = model->device;
    const mgk_config *config = &model->config;
    mgk_layer_activations *layer = &pass->layers[index];
    const mgk_layer_offsets *weights = &model->parameters.layers[index];
    size_t rows = mgk_pass_stream_rows(pass), dim = (size_t)config->dim,
           hidden = (size_t)config->hidden;
    size_t first = config->gated ? 2 * hidden : hidden;
    mgk_linear_map in = {weights->in.weight, MGK_ABSENT};
    TRY(mgk_pass_linear(pass, in, rows, dim, first, input, layer->hidden));
    TRY(device->op->bias_activation(device, config->activation, rows, first,
                                    mgk_pass_weight(pass, weights->in.bias), layer->hidden,
                                    config->gated ? NULL : layer->activated));
    if (config->gated)
        TRY(device->op->gate(device, config->activation, rows, hidden, layer->hidden,
                             layer->activated));
    TRY(mgk_pass_drop_hidden(pass, index, layer->activated));
    return mgk_pass_linear(pass, weights->out, rows, hidden, dim, layer->activated, pass->branch);
}

bool mgk_pass_next_kept(const mgk_pass *pass, int index, int *first, int *end)
{
    const int heads = pass->model->config.heads;
    const bool *removed = pass->removed ? pass->removed + (size_t)index * (size_t)heads : NULL;
    for (*first = *end; removed && *first < heads && removed[*first];)
        ++*first;
    for (*end = *first; *end < heads && !(removed && removed[*end]);)
        ++*end;
    return *first < heads;
}

/* pass->branch = the output projection of the heads that are kept: the sum of what each adds. */
static mgk_status project_heads(mgk_pass *pass, int index)
{
    const mgk_model *model = pass->model;
    mgk_device *device = model->device;
    const mgk_linear_map map = model->parameters.layers[index].output;
    const size_t rows = mgk_pass_stream_rows(pass), dim = (size_t)model->config.dim;
    const size_t head = (size_t)model->config.head_dim;
    const void *weight = mgk_pass_weight(pass, map.weight);
    int first, end = 0;
    bool any = false;
    for (; mgk_pass_next_kept(pass, index, &first, &end); any = true) {
        const size_t before = (size_t)first * head;
        TRY(device->op->multiply(device, false, true, rows, dim, (size_t)(end - first) * head, 1,
                                 mgk_at(device, pass->layers[index].attended, before), pass->width,
                                 mgk_at(device, weight, before), pass->width, any ? 1 : 0,
                                 pass->branch, dim));
    }
    if (!any)
        TRY(device->op->zero(device, pass->branch, rows * dim * device->real_size));
    return add_bias(pass, map, rows, dim, pass->branch);
}

/* pass->branch = the output of the layer's attention. */
static mgk_status project_output(mgk_pass *pass, int index)
{
    const mgk_model *model = pass->model;
    TRY(mgk_pass_pack(pass, pass->width, pass->layers[index].attended));
    if (model->config.aggregate == MGK_AGGREGATION_CONCATENATION)
        return project_heads(pass, index);
    TRY(mgk_pass_aggregate(pass, index));
    return mgk_pass_linear(pass, model->parameters.layers[index].output, mgk_pass_stream_rows(pass),
                           pass->width, (size_t)model->config.dim, pass->layers[index].capsules,
                           pass->branch);
}

static mgk_status run_layer(mgk_pass *pass, int index, const mgk_observer *observer)
{
    const mgk_config *config = &pass->model->config;
    mgk_layer_activations *layer = &pass->layers[index];
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    uint64_t site = 2 * (uint64_t)index + 1;
    const bool pre = config->pre_norm, post = !pre && !config->branch_norm;
    const bool cross = observer && observer->cross, last = is_last(observer, index);
    const void *middle = post ? layer->norm1 : layer->sum1; /* between the blocks */
    const bool first = pre && (index > 0 || config->first_norm);
    if (first)
        TRY(mgk_pass_norm(pass, weights->norm1, layer->input, layer->norm1, layer->mean1,
                          layer->deviation1));
    TRY(project(pass, index, first ? layer->norm1 : layer->input));
    TRY(attend(pass, index, last && !cross, cross ? NULL : observer));
    if (last && !cross)
        return STATUS_OK;
    TRY(project_output(pass, index));
    TRY(norm_branch(pass, weights->branch_norm1));
    TRY(mgk_pass_dropout_add(pass, site, pass->branch, layer->other, layer->sum1));
    if (post)
        TRY(mgk_pass_norm(pass, weights->norm1, layer->sum1, layer->norm1, layer->mean1,
                          layer->deviation1));
    if (config->memory > 0)
        TRY(mgk_pass_cross(pass, index, last, cross ? observer : NULL, middle, &middle));
    if (last)
        return STATUS_OK;
    const void *second = middle; /* what the feed-forward reads */
    if (config->parallel == MGK_PARALLEL_SHARED)
        second = layer->norm1;
    else if (pre) {
        second = layer->norm2;
        TRY(mgk_pass_norm(pass, weights->norm2,
                          config->parallel == MGK_PARALLEL_OWN ? layer->input : middle,
                          layer->norm2, layer->mean2, layer->deviation2));
    }
    TRY(feed_forward(pass, index, second));
    TRY(norm_branch(pass, weights->branch_norm2));
    TRY(mgk_pass_dropout_add(pass, site + 1, pass->branch,
                             config->reversible ? layer->input : middle, layer->sum2));
    if (post)
        TRY(mgk_pass_norm(pass, weights->norm2, layer->sum2, layer->norm2, layer->mean2,
                          layer->deviation2));
    return STATUS_OK;
}

/* Runs the layers from `first` on, whose input is `input`. */
static mgk_status run_layers(mgk_pass *pass, int first, void *input, const mgk_observer *observer)
{
    const mgk_config *config = &pass->model->config;
    const bool post = !config->pre_norm && !config->branch_norm;
    void *stream_state = input;
    int layers = observer && observer->layers ? observer->layers : config->layers;
    for (int l = first; l < layers; l++) {
        pass->layers[l].other =
            config->reversible && l > first ? pass->layers[l - 1].sum1 : stream_state;
        pass->layers[l].input = stream_state;
        TRY(run_layer(pass, l, observer));
        stream_state = post ? pass->layers[l].norm2 : pass->layers[l].sum2;
        if (observer && observer->output)
            TRY(observer->output(observer->context, l, stream_state));
    }
    if (!observer || !observer->layers)
        return mgk_pass_finish(pass, stream_state);
    pass->output = stream_state;
    return STATUS_OK;
}

/* A model with a memory needs that of the batch; only such a model has cross-attention. */
static mgk_status check_memory(const mgk_pass *pass, const mgk_observer *observer)
{
    const bool has = pass->model->config.memory > 0;
    if (has && !pass->cross.hidden)
        return mgk_fail(STATUS_USAGE, "the decoder has no output of an encoder to attend to");
    if (!has && observer && observer->cross)
        return mgk_fail(STATUS_USAGE, "the model has no attention to an encoder");
    return STATUS_OK;
}

mgk_status mgk_pass_forward(mgk_pass *pass, const mgk_observer *observer)
{
    TRY(check_memory(pass, observer));
    const bool padded = pass->valid < mgk_pass_rows(pass);
    TRY(mgk_pass_embed(pass, !observer && padded && mgk_pass_can_pack(pass)));
    return run_layers(pass, 0, pass->embedded, observer);
}

mgk_status mgk_pass_forward_from(mgk_pass *pass, int first, void *input,
                                 const mgk_observer *observer)
{
    const bool whole =
        first == 0 || mgk_model_reads_below(pass->model) || pass->model->config.reversible;
    pass->packed = pass->packed && whole; /* an observer received the input */
    return run_layers(pass, whole ? 0 : first, whole ? pass->embedded : input, observer);
}

void mgk_pass_remove_heads(mgk_pass *pass, const bool *removed)
{
    pass->removed = removed;
}

const void *mgk_pass_hidden(const mgk_pass *pass)
{
    return pass->output;
}
