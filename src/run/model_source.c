/* SPDX-License-Identifier: MIT */
/* A running model as a source of matrices, which are not stored. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "analysis/run/selection.h"
#include "base/memory.h"
#include "base/number.h"
#include "kernels/kept_view.h"
#include "model/formats/format.h"
#include "run/arguments.h"
#include "run/model_run.h"
#include "run/source_importance.h"
#include "run/sources.h"
#include "run/vectors.h"

/* The inputs of a layer's matrices. */
typedef struct kept_layer {
    mgk_kept_view vectors;
    mgk_attention_layer attention;
    void *output; /* on the device: [T, C]; NULL: not wanted */
} kept_layer;

typedef struct model_source {
    mgk_job job;            /* without a watcher, because only the calling thread may call it */
    const mgk_job *watched; /* with it, where a batch takes long; borrowed */
    mgk_model_run run;
    int32_t *layers; /* [layer_count] */
    size_t layer_count;
    kept_layer *kept; /* [layer_count], of the last batch */
    size_t depth;     /* columns of a matrix's factors; 0: whole matrices are computed */
    unsigned kinds;   /* bit set of the wanted vectors */
    double *rows;     /* [N, ·], vectors of one sample, on the host */
    mgk_selection selection;
    int32_t *heads_there; /* selection.head, on the device */

    size_t capacity;    /* most matrices prepared at a time */
    size_t held;        /* bytes of these matrices, their vectors and importances on the host */
    void *matrices;     /* on the device: [capacity, N, N], or factors [2, capacity, N, depth] */
    double *vectors[3]; /* of mgk_vectors, the wanted ones, on the host: [capacity, M or 1, N, D],
                           those of a group's heads packed from the group's place on */
    size_t group;       /* matrices of a whole group */
    bool outputs;       /* whether outputs of layers are wanted */
    double *output;     /* on the host: [capacity / group, N, C], of each group */
    mgk_source_importance importance;
    int32_t *tokens;      /* [capacity, N], of each group's sample at the group's place */
    void *block;          /* on the device: [N, N], on its way to the host; NULL: not needed */
    pthread_mutex_t lock; /* held during downloads */
} model_source;

/* Limit of the matrices prepared at a time, in bytes; but always a few matrices per thread, because
 * threads wait for the slowest one, and not more matrices than make that wait short. */
static const size_t prepared_bytes = (size_t)256 << 20;
enum { LARGE_MATRICES = 4, PREPARED_MATRICES = 16 };

/* The same on a GPU: small matrices of several heads together keep it busy. */
static const size_t prepared_bytes_there = (size_t)64 << 20;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void release(mgk_device *device, void *array)
{
    if (array)
        device->op->release(device, array);
}

static void close_layer(mgk_device *device, kept_layer *layer)
{
    mgk_kept_view_release(device, &layer->vectors);
    release(device, layer->output);
}

static void close_model(void *state)
{
    model_source *s = state;
    mgk_device *device = s->run.device;
    for (size_t place = 0; s->kept && place < s->layer_count; place++)
        close_layer(device, &s->kept[place]);
    mgk_source_importance_close(&s->importance);
    release(device, s->heads_there);
    release(device, s->matrices);
    release(device, s->block);
    mgk_selection_free(&s->selection);
    pthread_mutex_destroy(&s->lock);
    mgk_free(s->kept);
    mgk_free(s->rows);
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++)
        mgk_free(s->vectors[which]);
    mgk_free(s->output);
    mgk_free(s->tokens);
    mgk_free(s->layers);
    mgk_model_run_close(&s->run);
    mgk_free(s);
}

/* N of the keys: columns of a matrix on the device. */
static size_t key_tokens(const model_source *s)
{
    return (size_t)mgk_model_run_keys(&s->run)->tokens;
}

/* Most numbers in a token's row, which may contain its queries, keys and values. */
static size_t row_width(const model_source *s)
{
    const mgk_config *config = &s->run.model->config;
    return (2 + (size_t)config->mixtures) * (size_t)config->heads * (size_t)config->head_dim;
}

static size_t mixtures_of(const model_source *s, mgk_vectors which)
{
    return which == MGK_KEYS ? (size_t)s->run.model->config.mixtures : 1;
}

/* Numbers in the vectors of one head. */
static size_t head_numbers(const model_source *s, mgk_vectors which)
{
    return mixtures_of(s, which) * (size_t)s->run.tokens * (size_t)s->run.model->config.head_dim;
}

/* Numbers in the output of a layer on one sample. */
static size_t output_numbers(const model_source *s)
{
    return (size_t)s->run.tokens * (size_t)s->run.model->config.dim;
}

/* Most bytes kept of a sequence: in each layer its rows, shifted keys, which have their own rows,
 * and the output. */
static size_t kept_bytes(const model_source *s, unsigned importances)
{
    const bool shifted = s->run.model->kind->keys == MGK_KEYS_SHIFTED;
    const size_t rows = (size_t)s->run.tokens * (shifted ? 2 : 1) * row_width(s);
    const size_t layers = s->layer_count * (rows + (s->outputs ? output_numbers(s) : 0));
    return layers * s->run.device->real_size +
           mgk_head_importance_bytes(&s->run, importances, s->layer_count, false);
}

static mgk_status keep_layer(void *context, mgk_observed *layer)
{
    model_source *s = context;
    const size_t samples = (size_t)s->run.capacity;
    const mgk_kept_room room = {samples * (size_t)s->run.tokens, samples * key_tokens(s),
                                .values = (s->kinds & MGK_VECTORS_BIT(MGK_VALUES)) != 0};
    for (size_t place = 0; place < s->layer_count; place++) {
        if (s->layers[place] != layer->layer)
            continue;
        s->kept[place].attention = layer->attention;
        TRY(mgk_kept_view_take(s->run.device, &layer->view, &room, &s->kept[place].vectors));
    }
    return STATUS_OK;
}

static mgk_status keep_output(void *context, int layer, const void *output)
{
    model_source *s = context;
    mgk_device *device = s->run.device;
    const size_t bytes = (size_t)s->run.capacity * output_numbers(s) * device->real_size;
    for (size_t place = 0; place < s->layer_count; place++) {
        kept_layer *kept = &s->kept[place];
        if (s->layers[place] != layer)
            continue;
        if (!kept->output)
            TRY(device->op->allocate(device, bytes, &kept->output));
        TRY(device->op->copy(device, kept->output, output,
                             (size_t)s->run.count * output_numbers(s) * device->real_size));
    }
    return STATUS_OK;
}

static void *matrix_at(const model_source *s, size_t place)
{
    return mgk_at(s->run.device, s->matrices, place * (size_t)s->run.tokens * key_tokens(s));
}

/* The right factors follow all left ones. */
static void *right_factors(const model_source *s)
{
    size_t left = s->capacity * (size_t)s->run.tokens * s->depth;
    return mgk_at(s->run.device, s->matrices, left);
}

/* Computes the group's matrices or factors, of a sample of the last batch, at group->place. */
static mgk_status compute_matrices(const model_source *s, const mgk_group *group)
{
    mgk_device *device = s->run.device;
    const kept_layer *kept = &s->kept[group->layer];
    const mgk_attention_kind *kind = s->run.model->kind;
    const int sample = (int)group->sample - s->run.first, count = (int)group->count;
    const int32_t *heads = s->heads_there + (group->heads - s->selection.head);
    const size_t tokens = (size_t)s->run.tokens;
    if (s->depth > 0) {
        size_t before = group->place * tokens * s->depth;
        return kind->factors(device, &kept->vectors.view, &kept->attention, sample, heads, count,
                             mgk_at(device, s->matrices, before),
                             mgk_at(device, right_factors(s), before));
    }
    return kind->matrix(device, &kept->vectors.view, &kept->attention, MGK_MATRIX_ATTENTION, sample,
                        heads, count, matrix_at(s, group->place));
}

static mgk_status next_computed(void *state, size_t most, mgk_group *group, bool *end)
{
    model_source *s = state;
    *end = !mgk_selection_next(&s->selection, most, group);
    return STATUS_OK;
}

/* Runs the batch that contains the sample, unless it was the last one. */
static mgk_status run_batch(model_source *s, int sample)
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
static void keep_tokens(const model_source *s, const mgk_group *group)
{
    const size_t tokens = (size_t)s->run.tokens, sample = group->sample - (size_t)s->run.first;
    memcpy(s->tokens + group->place * tokens, s->run.ids + sample * tokens,
           group->queries * sizeof(*s->tokens));
}

/* Copies vectors of a sample of the last batch to the group's place. */
static mgk_status keep_vectors(const model_source *s, const mgk_group *group, mgk_vectors which)
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
                                  .mixtures = mixtures_of(s, which),
                                  .size = (size_t)view->dim};
    const size_t sample = group->sample - (size_t)s->run.first;
    const size_t first = sample * (size_t)view->tokens * rows.stride;
    if (group->n > 0)
        TRY(mgk_device_download(
            device, mgk_at(device, values[which], first),
            (group->n - 1) * rows.stride + rows.mixtures * rows.heads * rows.size, s->rows));
    mgk_vector_rows_take(&rows, group->heads, group->count, group->n,
                         s->vectors[which] + group->place * head_numbers(s, which));
    return STATUS_OK;
}

static double *output_at(const model_source *s, const mgk_group *group)
{
    return s->output + group->place / s->group * output_numbers(s);
}

/* Copies the output of a layer on a sample of the last batch to the group's place. */
static mgk_status keep_group_output(const model_source *s, const mgk_group *group)
{
    mgk_device *device = s->run.device;
    const size_t before = (group->sample - (size_t)s->run.first) * output_numbers(s);
    return mgk_device_download(device, mgk_at(device, s->kept[group->layer].output, before),
                               group->n * (size_t)s->run.model->config.dim, output_at(s, group));
}

/* Groups that are prepared together may belong to several batches, of which only the last one stays
 * on the device. */
static mgk_status keep_group(const model_source *s, const mgk_group *group)
{
    keep_tokens(s, group);
    mgk_source_importance_keep(&s->importance, group, group->sample - (size_t)s->run.first);
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++)
        if (s->kinds & MGK_VECTORS_BIT(which))
            TRY(keep_vectors(s, group, (mgk_vectors)which));
    return s->outputs && group->n > 0 ? keep_group_output(s, group) : STATUS_OK;
}

/* The valid rows and columns of a group of the last batch. */
static void set_lengths(const model_source *s, mgk_group *group)
{
    const size_t sample = group->sample - (size_t)s->run.first;
    group->queries = (size_t)s->run.lengths[sample];
    group->keys = (size_t)mgk_model_run_keys(&s->run)->lengths[sample];
    group->n = larger(group->queries, group->keys);
}

static mgk_status prepare_computed(void *state, mgk_group *groups, size_t count, size_t *prepared)
{
    model_source *s = state;
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
static mgk_status take_factors(const model_source *s, size_t place, size_t n, double *data)
{
    mgk_device *device = s->run.device;
    size_t valid = n * s->depth, before = place * (size_t)s->run.tokens * s->depth;
    TRY(mgk_device_download(device, mgk_at(device, s->matrices, before), valid, data));
    return mgk_device_download(device, mgk_at(device, right_factors(s), before), valid,
                               data + valid);
}

/* Copies the valid block of a matrix on the device to host memory. */
static mgk_status take_through(const model_source *s, size_t place, size_t n, double *data)
{
    mgk_device *device = s->run.device;
    TRY(device->op->take_block(device, n, (size_t)s->run.tokens, matrix_at(s, place), s->block));
    return device->op->download(device, data, s->block, n * n * sizeof(*data));
}

/* Copies the valid rectangle of a matrix, with zeros around it. Only the CPU has rectangles. */
static mgk_status take_rectangle(const model_source *s, const mgk_group *group, const void *matrix,
                                 double *data)
{
    mgk_device *device = s->run.device;
    const size_t n = group->n, keys = group->keys;
    for (size_t i = 0; i < n; i++) {
        double *row = data + i * n;
        const size_t count = i < group->queries ? keys : 0;
        if (count > 0)
            TRY(mgk_device_download(device, mgk_at(device, matrix, i * key_tokens(s)), count, row));
        memset(row + count, 0, (n - count) * sizeof(*row));
    }
    return STATUS_OK;
}

static mgk_status take_computed(void *state, const mgk_group *group, size_t which, double *data)
{
    model_source *s = state;
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
    const model_source *s = state;
    memcpy(ids, s->tokens + group->place * (size_t)s->run.tokens, group->n * sizeof(*ids));
    return STATUS_OK;
}

static mgk_status give_vectors(void *state, const mgk_group *group, mgk_vectors which, double *data)
{
    const model_source *s = state;
    const size_t head = mixtures_of(s, which) * group->n * (size_t)s->run.model->config.head_dim;
    memcpy(data, s->vectors[which] + group->place * head_numbers(s, which),
           group->count * head * sizeof(*data));
    return STATUS_OK;
}

static mgk_status give_output(void *state, const mgk_group *group, double *data)
{
    const model_source *s = state;
    memcpy(data, output_at(s, group), group->n * (size_t)s->run.model->config.dim * sizeof(*data));
    return STATUS_OK;
}

static mgk_status give_importance(void *state, const mgk_group *group, mgk_importance which,
                                  double *values)
{
    const model_source *s = state;
    mgk_source_importance_give(&s->importance, group, which, values);
    return STATUS_OK;
}

static mgk_status give_mixture(void *state, size_t layer, size_t head, double *priors,
                               double *variances)
{
    const model_source *s = state;
    const mgk_model *model = s->run.model;
    const int number = s->layers[layer];
    const mgk_attention_layer attention = mgk_model_attention(model, number);
    const mgk_prior_view view = attention.prior;
    const size_t tokens = (size_t)s->run.tokens, mixtures = (size_t)model->config.mixtures;
    for (size_t r = 0; r < mixtures; r++) {
        double *prior = priors + r * tokens;
        variances[r] = attention.variance[r];
        prior[0] = 1; /* hard-E has none */
        if (view.values)
            TRY(mgk_model_read(model,
                               model->parameters.layers[number].prior + head * view.head_stride +
                                   r * view.component_stride,
                               view.key_stride ? tokens : 1, prior));
        for (size_t j = 0; j < tokens; j++)
            prior[j] = fmin(1, fmax(0, prior[view.values && view.key_stride ? j : 0]));
    }
    return STATUS_OK;
}

static mgk_status give_key_weight(void *state, size_t layer, size_t head, size_t component,
                                  double *data)
{
    const model_source *s = state;
    return mgk_key_weight(s->run.model, s->layers[layer], (int)head, (int)component, data);
}

static mgk_status give_projections(void *state, mgk_projection which, size_t layer, double *data)
{
    const model_source *s = state;
    return mgk_model_projections(s->run.model, which, s->layers[layer], data);
}

/* The input's number of samples, else that of the options, else enough for a layer's matrices. */
static int sample_count(const mgk_source_options *options, const mgk_model_run *run)
{
    int heads = run->model->config.heads;
    int needed = options->matrices / heads + (options->matrices % heads > 0);
    if (options->input->samples > 0)
        return options->input->samples;
    if (options->samples > 0)
        needed = options->samples;
    return needed == 0 || needed > run->available ? run->available : needed;
}

/* Columns of the factors that are given instead of matrices. 0: the matrices have no factors, or
 * none smaller than themselves, or the entries are wanted. */
static size_t factor_depth(const mgk_source_options *options, const mgk_model_run *run)
{
    const mgk_config *config = &run->model->config;
    bool thin = run->model->kind->factors && !mgk_model_run_is_causal(run) && !run->cross &&
                config->head_dim + 1 < run->tokens;
    return thin && options->factors ? (size_t)config->head_dim + 1 : 0;
}

/* Chooses the number of matrices to prepare at a time, each of which takes `bytes` bytes with its
 * vectors, of them `held` on the host. */
static mgk_status choose_capacity(model_source *s, const mgk_source_options *options, size_t bytes,
                                  size_t held)
{
    const mgk_device *device = s->run.device;
    const size_t threads = (size_t)device->threads, heads = (size_t)s->run.model->config.heads;
    const size_t least = options->whole_groups ? smaller(heads, s->selection.per_layer) : 1;
    s->group = least;
    const size_t few = larger(prepared_bytes / bytes, threads * LARGE_MATRICES);
    size_t group_bytes, wanted = device->accelerator ? prepared_bytes_there / bytes
                                                     : smaller(few, threads * PREPARED_MATRICES);
    TRY(mgk_multiply(least, held, &group_bytes));
    if (options->whole_groups && options->memory > 0 && group_bytes > options->memory) {
        char takes[MGK_SIZE_TEXT], left[MGK_SIZE_TEXT];
        mgk_size_text((double)group_bytes, takes);
        mgk_size_text((double)options->memory, left);
        return mgk_fail(STATUS_MEMORY,
                        "the %zu %s of a sample and layer, of %d tokens, take %s together: "
                        "`memory` leaves %s for them",
                        least, MGK_NOUN(least, "matrix", "matrices"), s->run.tokens, takes, left);
    }
    if (options->memory > 0 && held > 0)
        wanted = smaller(wanted, options->memory / held);
    s->capacity = smaller(larger(wanted, least), s->layer_count * s->selection.per_layer);
    return STATUS_OK;
}

/* The bytes of a matrix, or of its factors, on the device, and those of its vectors on the host. */
static mgk_status count_bytes(const model_source *s, size_t *matrix, size_t *vectors)
{
    const size_t tokens = (size_t)s->run.tokens;
    size_t numbers = 0;
    TRY(mgk_multiply(tokens, s->depth > 0 ? 2 * s->depth : key_tokens(s), matrix));
    TRY(mgk_multiply(*matrix, s->run.device->real_size, matrix));
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++)
        if (s->kinds & MGK_VECTORS_BIT(which))
            numbers += head_numbers(s, (mgk_vectors)which);
    if (s->outputs)
        numbers += output_numbers(s) / (size_t)s->run.model->config.heads + 1;
    return mgk_multiply(numbers, sizeof(double), vectors);
}

static mgk_status allocate_vectors(model_source *s)
{
    size_t numbers;
    if (s->outputs) {
        TRY(mgk_multiply(s->capacity / s->group, output_numbers(s), &numbers));
        TRY(mgk_alloc(numbers, sizeof(double), &s->output));
    }
    if (s->kinds == 0)
        return STATUS_OK;
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++)
        if (s->kinds & MGK_VECTORS_BIT(which)) {
            TRY(mgk_multiply(s->capacity, head_numbers(s, (mgk_vectors)which), &numbers));
            TRY(mgk_alloc(numbers, sizeof(double), &s->vectors[which]));
        }
    return mgk_alloc((size_t)s->run.tokens, row_width(s) * sizeof(*s->rows), &s->rows);
}

static mgk_status allocate_matrices(model_source *s, const mgk_source_options *options)
{
    mgk_device *device = s->run.device;
    const size_t chosen = s->layer_count * s->selection.per_layer, tokens = (size_t)s->run.tokens;
    size_t matrix, vectors, bytes;
    TRY(count_bytes(s, &matrix, &vectors));
    const size_t held = vectors + (device->accelerator ? 0 : matrix);
    TRY(choose_capacity(s, options, matrix + vectors, held));
    TRY(mgk_multiply(s->capacity, held, &s->held));
    TRY(mgk_multiply(s->capacity, matrix, &bytes));
    TRY(allocate_vectors(s));
    TRY(mgk_alloc(s->capacity * tokens, sizeof(*s->tokens), &s->tokens));
    TRY(device->op->allocate(device, bytes, &s->matrices));
    if (device->accelerator && options->on_host && s->depth == 0)
        TRY(device->op->allocate(device, tokens * tokens * sizeof(double), &s->block));
    TRY(device->op->allocate(device, chosen * sizeof(*s->heads_there), &s->heads_there));
    return device->op->upload(device, s->heads_there, s->selection.head,
                              chosen * sizeof(*s->heads_there));
}

/* Of attention to another sequence there are the matrices alone. */
static mgk_status allow_vectors(const mgk_source_options *options, model_source *s)
{
    if (!s->run.cross)
        return STATUS_OK;
    s->kinds = 0;
    s->outputs = false;
    return options->best_importance
               ? mgk_fail(STATUS_UNSUPPORTED, "part \"cross\": the heads that attend to the "
                                              "encoder cannot be removed one by one")
               : STATUS_OK;
}

static mgk_status open_model(const mgk_source_options *options, model_source *s)
{
    mgk_model_run *run = &s->run;
    unsigned wanted;
    int batch_tokens, capacity;
    s->job = *options->job;
    s->job.watcher = (mgk_watcher){0};
    s->watched = options->job;
    TRY(mgk_model_run_open(options->job, options->model, options->input, options->double_precision,
                           run));
    TRY(mgk_choose_numbers("layer", options->layers, options->layer_count,
                           run->model->config.layers, &s->layers, &s->layer_count));
    TRY(mgk_model_run_choose(run, s->job.seed, sample_count(options, run)));
    TRY(allow_vectors(options, s));
    mgk_model_run_tell(run, &s->job, options->input);
    wanted = mgk_source_importance_choose(options, run);
    batch_tokens = mgk_source_importance_batch(run, wanted, s->layer_count, options->memory);
    TRY(mgk_model_run_fit(run, batch_tokens, kept_bytes(s, wanted), &capacity));
    TRY(mgk_model_run_prepare(run, capacity));
    TRY(mgk_selection_make(s->job.seed, (size_t)run->samples, s->layer_count, s->layers,
                           (size_t)run->model->config.heads, (size_t)options->matrices,
                           &s->selection));
    TRY(mgk_alloc(s->layer_count, sizeof(*s->kept), &s->kept));
    s->depth = factor_depth(options, run);
    TRY(allocate_matrices(s, options));
    TRY(mgk_source_importance_open(run, wanted, s->layers, s->layer_count, s->capacity,
                                   &s->importance));
    s->held += s->importance.held;
    return STATUS_OK;
}

/* The source of a model that is open. */
static mgk_source source_of(model_source *s, bool double_precision)
{
    const mgk_model_run *run = &s->run;
    const mgk_config *config = &run->model->config;
    const bool shifted = run->model->kind->keys == MGK_KEYS_SHIFTED;
    const bool gaussian = run->model->kind->gaussian && config->mixtures > 1;
    const bool there = run->device->accelerator && s->depth == 0 && !s->block;
    return (mgk_source){.n_max = larger((size_t)run->tokens, key_tokens(s)),
                        .count = s->layer_count * s->selection.per_layer,
                        .depth = s->depth,
                        .dim = (size_t)config->head_dim,
                        .kinds = s->kinds,
                        .gaussian = gaussian,
                        .components = run->cross ? 0
                                      : shifted  ? 1
                                                 : (size_t)config->mixtures,
                        .width = (size_t)config->dim,
                        .mixtures = s->kinds ? (size_t)config->mixtures : 0,
                        .model_dim = s->outputs ? (size_t)config->dim : 0,
                        .importances = s->importance.wanted,
                        .ahead = s->capacity,
                        .causal = mgk_model_run_is_causal(run),
                        .cross = run->cross,
                        .samples = run->index,
                        .layers = s->layers,
                        .format = double_precision ? MGK_FLOAT_F64 : MGK_FLOAT_F32,
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

mgk_status mgk_open_model_source(const mgk_source_options *options, mgk_source_input *out)
{
    model_source *s;
    char sha256[MGK_SHA256_HEX_SIZE] = "";
    TRY(mgk_alloc(1, sizeof(*s), &s));
    s->kinds = options->vectors;
    s->outputs = options->outputs;
    pthread_mutex_init(&s->lock, NULL);
    mgk_status status = open_model(options, s);
    if (status == STATUS_OK)
        status = mgk_model_hash_end(s->run.hash, sha256);
    if (status != STATUS_OK) {
        close_model(s);
        return status;
    }
    const mgk_config *config = &s->run.model->config;
    *out = (mgk_source_input){.name = options->model,
                              .training_step = s->run.model->step,
                              .sample_count = (size_t)s->run.samples,
                              .layer_count = s->layer_count,
                              .head_count = (size_t)config->heads,
                              .mixtures = (size_t)config->mixtures,
                              .per_layer = s->selection.per_layer,
                              .held = s->held,
                              .run = &s->run,
                              .ablation = mgk_head_importance_ablation(s->importance.heads),
                              .source = source_of(s, options->double_precision),
                              .close = close_model};
    memcpy(out->sha256, sha256, sizeof(sha256));
    return STATUS_OK;
}
