/* SPDX-License-Identifier: MIT */
/* Opens a model as a source: how many samples and matrices it holds at a time, and their memory. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/formats/format.h"
#include "run/arguments.h"
#include "run/content.h"
#include "run/model_source_private.h"

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

static void close_layer(mgk_device *device, mgk_kept_layer *layer)
{
    mgk_kept_view_release(device, &layer->vectors);
    release(device, layer->prepared);
    release(device, layer->output);
}

static void close_model(void *state)
{
    mgk_model_source *s = state;
    mgk_device *device = s->run.device;
    if (s->watched)
        mgk_model_run_tell_errors(&s->run, s->watched);
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
    mgk_free(s->heads);
    mgk_free(s->numbers);
    mgk_free(s->layer_keys);
    mgk_model_run_close(&s->run);
    mgk_free(s);
}

/* Reals that a layer's kind keeps for its matrices, of so many sequences. */
static size_t kind_reals(const mgk_model_source *s, int layer, int sequences)
{
    const mgk_model *model = s->run.model;
    const mgk_attention_size size = mgk_attention_size_of(&model->config, layer, s->run.tokens);
    const mgk_attention_methods *methods = mgk_model_kind(model, layer)->methods;
    return methods->prepare ? methods->memory(&size, sequences, false).kept : 0;
}

/* Most bytes kept of a sequence: in each layer its rows, shifted keys, which have their own rows,
 * what its kind keeps, and the output. */
static size_t kept_bytes(const mgk_model_source *s, unsigned importances)
{
    const bool shifted = mgk_model_shifts_keys(s->run.model);
    const size_t rows =
        (size_t)s->run.tokens * (shifted ? 2 : 1) * mgk_model_row_width(s->run.model);
    size_t reals = s->layer_count * (rows + (s->outputs ? mgk_source_output_numbers(s) : 0));
    for (size_t place = 0; place < s->layer_count; place++)
        reals += kind_reals(s, s->layers[place], 1);
    return reals * s->run.device->real_size +
           mgk_head_importance_bytes(&s->run, importances, s->layer_count, false);
}

/* The input's number of samples, else that of the options, else enough for a layer's matrices. */
static int sample_count(const mgk_source_options *options, const mgk_model_source *s)
{
    const mgk_model_run *run = &s->run;
    const int heads = (int)s->head_count;
    int needed = options->matrices / heads + (options->matrices % heads > 0);
    if (options->input->samples > 0)
        return options->input->samples;
    if (options->input->samples == MGK_ALL_SAMPLES)
        return run->available;
    if (options->samples > 0)
        needed = options->samples;
    return needed == 0 || needed > run->available ? run->available : needed;
}

/* Columns of the factors of a layer's matrices; 0: there are none. */
static size_t layer_depth(const mgk_model *model, int layer, int tokens)
{
    const mgk_attention_kind *kind = mgk_model_kind(model, layer);
    const mgk_attention_size size = mgk_attention_size_of(&model->config, layer, tokens);
    return kind->methods->factor_columns ? kind->methods->factor_columns(kind, &size) : 0;
}

/* Columns of the factors that are given instead of matrices. 0: some layer has other ones or none,
 * or none smaller than its matrices, or the entries are wanted. */
static size_t factor_depth(const mgk_source_options *options, const mgk_model_run *run)
{
    const size_t depth = layer_depth(run->model, 0, run->tokens);
    bool thin = options->factors && !mgk_model_run_is_causal(run) && !run->cross &&
                depth < (size_t)run->tokens;
    for (int layer = 1; layer < run->model->config.layers; layer++)
        thin &= layer_depth(run->model, layer, run->tokens) == depth;
    return thin ? depth : 0;
}

/* Chooses the number of matrices to prepare at a time, each of which takes `bytes` bytes with its
 * vectors, of them `held` on the host. */
static mgk_status choose_capacity(mgk_model_source *s, const mgk_source_options *options,
                                  size_t bytes, size_t held)
{
    const mgk_device *device = s->run.device;
    const size_t threads = (size_t)device->threads;
    const size_t least = options->whole_groups ? smaller(s->head_count, s->selection.per_layer) : 1;
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
static mgk_status count_bytes(const mgk_model_source *s, size_t *matrix, size_t *vectors)
{
    const size_t tokens = (size_t)s->run.tokens;
    size_t numbers = 0;
    TRY(mgk_multiply(tokens, s->depth > 0 ? 2 * s->depth : mgk_source_key_tokens(s), matrix));
    TRY(mgk_multiply(*matrix, s->run.device->real_size, matrix));
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++)
        if (s->kinds & MGK_VECTORS_BIT(which))
            numbers += mgk_source_head_numbers(s, (mgk_vectors)which);
    if (s->outputs)
        numbers += mgk_source_output_numbers(s) / s->head_count + 1;
    return mgk_multiply(numbers, sizeof(double), vectors);
}

static mgk_status allocate_vectors(mgk_model_source *s)
{
    size_t numbers;
    if (s->outputs) {
        TRY(mgk_multiply(s->capacity / s->group, mgk_source_output_numbers(s), &numbers));
        TRY(mgk_alloc(numbers, sizeof(double), &s->output));
    }
    if (s->kinds == 0)
        return STATUS_OK;
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++)
        if (s->kinds & MGK_VECTORS_BIT(which)) {
            TRY(mgk_multiply(s->capacity, mgk_source_head_numbers(s, (mgk_vectors)which),
                             &numbers));
            TRY(mgk_alloc(numbers, sizeof(double), &s->vectors[which]));
        }
    return mgk_alloc((size_t)s->run.tokens, mgk_model_row_width(s->run.model) * sizeof(*s->rows),
                     &s->rows);
}

static mgk_status allocate_matrices(mgk_model_source *s, const mgk_source_options *options)
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
    TRY(mgk_alloc(chosen, sizeof(*s->numbers), &s->numbers));
    for (size_t i = 0; i < chosen; i++)
        s->numbers[i] = s->heads[s->selection.head[i]];
    TRY(device->op->allocate(device, chosen * sizeof(*s->heads_there), &s->heads_there));
    return device->op->upload(device, s->heads_there, s->numbers, chosen * sizeof(*s->numbers));
}

/*
 * Of attention to another sequence there are the matrices alone, and no values where matrices weigh
 * others.
 */
static mgk_status allow_vectors(const mgk_source_options *options, mgk_model_source *s)
{
    if (mgk_kinds_own_values(s->run.model->config.attention))
        s->kinds &= ~MGK_VECTORS_BIT(MGK_VALUES);
    if (!s->run.cross)
        return STATUS_OK;
    s->kinds = 0;
    s->outputs = false;
    return options->best_importance
               ? mgk_fail(STATUS_UNSUPPORTED, "part \"cross\": the heads that attend to the "
                                              "encoder cannot be removed one by one")
               : STATUS_OK;
}

static mgk_status open_keys(mgk_model_source *s)
{
    const mgk_model *model = s->run.model;
    TRY(mgk_alloc(s->layer_count, sizeof(*s->layer_keys), &s->layer_keys));
    for (size_t place = 0; place < s->layer_count; place++) {
        const int layer = s->layers[place];
        const size_t mixtures = model->parameters.layers[layer].mixtures;
        s->mixtures = larger(s->mixtures, mixtures);
        s->layer_keys[place] = (mgk_layer_keys){
            .components = s->run.cross ? 0 : (size_t)mgk_model_key_weights(model, layer),
            .gaussian = mixtures > 1 && mgk_model_kind(model, layer)->gaussian};
    }
    return STATUS_OK;
}

static mgk_status open_model(const mgk_source_options *options, mgk_model_source *s)
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
    TRY(mgk_choose_numbers("head", options->heads, options->head_count, run->model->config.heads,
                           &s->heads, &s->head_count));
    TRY(open_keys(s));
    TRY(mgk_model_run_choose(run, s->job.seed, sample_count(options, s)));
    mgk_approximation_choose(run->approximation, s->layers, s->layer_count, s->heads,
                             s->head_count);
    TRY(allow_vectors(options, s));
    mgk_model_run_tell(run, &s->job, options->input);
    wanted = mgk_source_importance_choose(options, run);
    batch_tokens = mgk_source_importance_batch(run, wanted, s->layer_count, options->memory);
    TRY(mgk_model_run_fit(run, batch_tokens, kept_bytes(s, wanted), &capacity));
    TRY(mgk_model_run_prepare(run, capacity));
    TRY(mgk_selection_make(s->job.seed, (size_t)run->samples, s->layer_count, s->layers,
                           s->head_count, (size_t)options->matrices, &s->selection));
    TRY(mgk_alloc(s->layer_count, sizeof(*s->kept), &s->kept));
    for (size_t place = 0; place < s->layer_count; place++)
        s->kept[place].prepared_bytes =
            kind_reals(s, s->layers[place], run->capacity) * run->device->real_size;
    s->depth = factor_depth(options, run);
    TRY(allocate_matrices(s, options));
    TRY(mgk_source_importance_open(run, wanted, s->layers, s->layer_count, s->heads, s->head_count,
                                   s->capacity, &s->importance));
    s->held += s->importance.held;
    return STATUS_OK;
}

mgk_status mgk_open_model_source(const mgk_source_options *options, mgk_source_input *out)
{
    mgk_model_source *s;
    char sha256[MGK_SHA256_HEX_SIZE] = "";
    uint64_t content = 0;
    TRY(mgk_alloc(1, sizeof(*s), &s));
    s->kinds = options->vectors;
    s->outputs = options->outputs;
    pthread_mutex_init(&s->lock, NULL);
    mgk_status status = open_model(options, s);
    if (status == STATUS_OK)
        status = mgk_model_hash_end(s->run.hash, sha256);
    if (status == STATUS_OK && options->job->cluster)
        status = mgk_content_of_run(&s->run, options->input, &content);
    if (status != STATUS_OK) {
        close_model(s);
        return status;
    }
    *out = (mgk_source_input){.name = options->model,
                              .content = content,
                              .training_step = s->run.model->step,
                              .sample_count = (size_t)s->run.samples,
                              .layer_count = s->layer_count,
                              .all_layers = (size_t)s->run.model->config.layers,
                              .head_count = s->head_count,
                              .mixtures = s->mixtures,
                              .per_layer = s->selection.per_layer,
                              .held = s->held,
                              .run = &s->run,
                              .ablation = mgk_head_importance_ablation(s->importance.heads),
                              .source = mgk_model_source_of(s, options->double_precision),
                              .close = close_model};
    memcpy(out->sha256, sha256, sizeof(sha256));
    return STATUS_OK;
}
