/* SPDX-License-Identifier: MIT */
/* mgk_network_*: a model in memory that runs one sequence at a time. */
#include <string.h>

#include "api/api.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/tokenizer.h"
#include "model/core/pass.h"
#include "run/arguments.h"
#include "run/input.h"
#include "run/job.h"

struct mgk_network {
    mgk_device *device;
    mgk_model *model;
    mgk_pass *pass; /* NULL until the first sequence */
    int tokens;     /* capacity of the pass */
    int32_t *ids;   /* [sequences, N]; a dual model's second sequence stays empty */
    int32_t *heads; /* 0 … H − 1 on the device, [H] */
    char *path;
    mgk_tokenizer *tokenizer; /* NULL until the first text, and for models of bytes */
};

/* What the pass's observer copies: heads [first, first + heads) of one layer or of all layers. */
typedef struct question {
    mgk_network *network;
    int layer; /* −1: all */
    int first, heads, count;
    double *matrices; /* [1 or L, heads, count, count] */
    void *there;      /* [heads, count, count], of one layer, on the device */
} question;

static int sequences_of(const mgk_network *network)
{
    return network->model->config.dual ? 2 : 1;
}

/* Uploads 0, 1, …, count − 1 to the device. */
static mgk_status number_heads(mgk_device *device, int count, int32_t **out)
{
    mgk_status status;
    const size_t bytes = (size_t)count * sizeof(int32_t);
    int32_t *numbers = NULL;
    CHECK(mgk_alloc((size_t)count, sizeof(*numbers), &numbers));
    for (int h = 0; h < count; h++)
        numbers[h] = h;
    CHECK(device->op->allocate(device, bytes, out));
    CHECK(device->op->upload(device, *out, numbers, bytes));
out:
    mgk_free(numbers);
    return status;
}

static mgk_status open_network(const char *path, const mgk_job *job, bool double_precision,
                               mgk_network **out)
{
    mgk_status status;
    mgk_network *network = NULL;
    CHECK(mgk_check_place("model", path));
    CHECK(mgk_check_place("place for the network", out));
    CHECK(mgk_alloc(1, sizeof(*network), &network));
    CHECK(mgk_job_open_device(job, double_precision, &network->device));
    CHECK(mgk_job_load_model(path, job, network->device, &network->model));
    if (!mgk_config_reads_tokens(&network->model->config))
        CHECK(mgk_fail(STATUS_UNSUPPORTED,
                       "%s: the model reads pictures or sounds, not sequences of tokens", path));
    mgk_device *device = network->device;
    size_t length = (size_t)network->model->config.length;
    int sequences = sequences_of(network);
    CHECK(mgk_copy_string(path, &network->path));
    CHECK(mgk_alloc((size_t)sequences * length, sizeof(*network->ids), &network->ids));
    CHECK(number_heads(device, network->model->config.heads, &network->heads));
    *out = network;
    network = NULL;
out:
    mgk_network_close(network);
    return status;
}

mgk_result mgk_network_open(const char *path, const mgk_job *job, bool double_precision,
                            mgk_network **out)
{
    if (out)
        *out = NULL;
    return mgk_api_result(open_network(path, mgk_job_or_default(job), double_precision, out));
}

void mgk_network_close(mgk_network *network)
{
    if (!network)
        return;
    mgk_pass_free(network->pass);
    if (network->heads)
        network->device->op->release(network->device, network->heads);
    mgk_tokenizer_close(network->tokenizer);
    mgk_free(network->path);
    mgk_free(network->ids);
    mgk_model_free(network->model);
    mgk_device_close(network->device);
    mgk_free(network);
}

mgk_network_shape mgk_network_shape_of(const mgk_network *network)
{
    if (!network)
        return (mgk_network_shape){.attention = NULL};
    const mgk_config *config = &network->model->config;
    return (mgk_network_shape){.attention = config->attention,
                               .layers = config->layers,
                               .heads = config->heads,
                               .head_dim = config->head_dim,
                               .dim = config->dim,
                               .length = config->length,
                               .mixtures = config->mixtures,
                               .vocabulary = config->vocabulary,
                               .causal = config->causal};
}

/* Entries of a layer's matrices. */
static size_t entries_of(const question *q)
{
    return (size_t)q->heads * (size_t)q->count * (size_t)q->count;
}

static mgk_status answer(void *context, mgk_observed *layer)
{
    const question *q = context;
    const size_t entries = entries_of(q);
    double *place = q->matrices + (q->layer < 0 ? (size_t)layer->layer * entries : 0);
    if (q->layer >= 0 && layer->layer != q->layer)
        return STATUS_OK;
    TRY(mgk_observed_matrices(layer, MGK_MATRIX_ATTENTION, 0, q->network->heads + q->first,
                              q->heads, q->there));
    return mgk_device_download(q->network->device, q->there, entries, place);
}

/* Passes are made for the sequences that come, because the length in a model's file may be huge. */
static mgk_status make_room(mgk_network *network, int tokens)
{
    if (tokens <= network->tokens)
        return STATUS_OK;
    mgk_pass_free(network->pass);
    network->pass = NULL;
    network->tokens = 0;
    TRY(mgk_pass_create(network->model, sequences_of(network), tokens, false, &network->pass));
    network->tokens = tokens;
    return STATUS_OK;
}

static mgk_status ask(mgk_network *network, const int32_t *tokens, int count, question *q)
{
    TRY(mgk_check_place("tokens", tokens));
    TRY(mgk_check_place("place for matrices", q->matrices));
    const mgk_config *config = &network->model->config;
    int sequences = sequences_of(network);
    int32_t lengths[2] = {count, 0};
    if (count < 1 || count > config->length)
        return mgk_fail(STATUS_USAGE, "%d tokens: expected 1 to %d", count, config->length);
    for (int i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= config->vocabulary)
            return mgk_fail(STATUS_USAGE, "token id %d: expected 0 to %d", tokens[i],
                            config->vocabulary - 1);
        network->ids[i] = tokens[i];
    }
    for (int i = count; i < sequences * count; i++)
        network->ids[i] = -1;
    TRY(make_room(network, count));
    const mgk_batch batch = {sequences, count, network->ids, lengths, NULL};
    const mgk_observer observer = {
        .layer = answer, .context = q, .layers = q->layer < 0 ? config->layers : q->layer + 1};
    TRY(mgk_pass_load(network->pass, &batch, NULL, 0, 0));
    mgk_device *device = network->device;
    TRY(device->op->allocate(device, entries_of(q) * device->real_size, &q->there));
    mgk_status status = mgk_pass_forward(network->pass, &observer);
    device->op->release(device, q->there);
    return status;
}

static mgk_status ask_one(mgk_network *network, const int32_t *tokens, int count, int layer,
                          int head, double *matrix)
{
    question q = {network, layer, head, 1, count, matrix, NULL};
    TRY(mgk_check_place("network", network));
    const mgk_config *config = &network->model->config;
    if (layer < 0 || layer >= config->layers || head < 0 || head >= config->heads)
        return mgk_fail(STATUS_USAGE, "layer %d, head %d: the model has %d and %d", layer, head,
                        config->layers, config->heads);
    return ask(network, tokens, count, &q);
}

mgk_result mgk_network_attention(mgk_network *network, const int32_t *tokens, int count, int layer,
                                 int head, double *matrix)
{
    return mgk_api_result(ask_one(network, tokens, count, layer, head, matrix));
}

static mgk_status ask_all(mgk_network *network, const int32_t *tokens, int count, double *matrices)
{
    TRY(mgk_check_place("network", network));
    question q = {network, -1, 0, network->model->config.heads, count, matrices, NULL};
    return ask(network, tokens, count, &q);
}

mgk_result mgk_network_attention_all(mgk_network *network, const int32_t *tokens, int count,
                                     double *matrices)
{
    return mgk_api_result(ask_all(network, tokens, count, matrices));
}

static mgk_status encode(const mgk_tokenizer *tokenizer, const char *text, size_t size,
                         mgk_buffer *ids)
{
    mgk_token_encoder *encoder;
    const mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
    TRY(mgk_utf8_check(text, size, 0));
    TRY(mgk_token_encoder_open(tokenizer, &encoder));
    mgk_status status =
        mgk_buffer_append(ids, frame.before, frame.before_count * sizeof(*frame.before));
    if (status == STATUS_OK)
        status = mgk_token_encode(encoder, text, size, ids);
    if (status == STATUS_OK)
        status = mgk_buffer_append(ids, frame.after, frame.after_count * sizeof(*frame.after));
    mgk_token_encoder_close(encoder);
    return status;
}

static mgk_status append_bytes(const char *text, size_t size, mgk_buffer *ids)
{
    for (size_t i = 0; i < size; i++) {
        const int32_t id = (unsigned char)text[i];
        TRY(mgk_buffer_append(ids, &id, sizeof(id)));
    }
    return STATUS_OK;
}

static mgk_status tokenize(mgk_network *network, const char *text, size_t size, int32_t **tokens,
                           int *count)
{
    mgk_status status = STATUS_OK;
    mgk_buffer ids = {0};
    TRY(mgk_check_place("network", network));
    TRY(mgk_check_place("place for the tokens", tokens));
    TRY(mgk_check_place("place for their number", count));
    TRY(mgk_check_array("bytes of text", text, size));
    *tokens = NULL;
    *count = 0;
    if (size > INT32_MAX / 2)
        return mgk_fail(STATUS_SHAPE, "a text of %zu bytes, expected at most %d", size,
                        INT32_MAX / 2);
    if (!network->tokenizer)
        TRY(mgk_input_open_tokenizer(&(mgk_input){.text_count = 1}, network->model, network->path,
                                     &network->tokenizer));
    CHECK(network->tokenizer ? encode(network->tokenizer, text, size, &ids)
                             : append_bytes(text, size, &ids));
    CHECK(mgk_alloc(ids.size, 1, tokens));
    if (ids.size > 0)
        memcpy(*tokens, ids.data, ids.size);
    *count = (int)(ids.size / sizeof(**tokens));
out:
    mgk_buffer_free(&ids);
    return status;
}

mgk_result mgk_network_tokenize(mgk_network *network, const char *text, size_t size,
                                int32_t **tokens, int *count)
{
    return mgk_api_result(tokenize(network, text, size, tokens, count));
}
