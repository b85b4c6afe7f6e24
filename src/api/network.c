/* SPDX-License-Identifier: MIT */
/* mgk_network_*: a model in memory that runs one sequence at a time. */
#include <string.h>

#include "api/api.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/token_text.h"
#include "base/utf8.h"
#include "data/tokenizers/tokenizer.h"
#include "model/core/pass.h"
#include "run/arguments.h"
#include "run/input.h"
#include "run/job.h"
#include "run/part.h"
#include "run/target.h"

struct mgk_network {
    mgk_device *device;
    mgk_model *model;
    mgk_pass *pass; /* NULL until the first sequence */
    int tokens;     /* capacity of the pass */
    int32_t *ids;   /* [sequences, N]; a dual model's second sequence stays empty */
    int32_t *heads; /* the chosen heads on the device, room for [H] */
    char *path;
    mgk_tokenizer *tokenizer; /* NULL until the first text, and for models of bytes */

    /* Of a decoder: its encoder, on the same device; tokens of the source that it has read, 0 until
     * then; the capacity of the pass for them; whether attention to the source is wanted. */
    mgk_network *encoder;
    int source, source_room;
    bool cross;
    bool borrows_device;
    bool encoded; /* of an encoder: its pass has the hidden states of the decoder's source */
};

/* What the pass's observer copies. */
typedef struct question {
    mgk_network *network;
    const int32_t *layers; /* [layer_count], ascending */
    size_t layer_count;
    int32_t *heads; /* [head_count], on the device */
    int head_count, count, keys;
    double *matrices; /* [layer_count, head_count, count, keys] */
    void *there;      /* [head_count, count, keys], of one layer, on the device */
} question;

static int sequences_of(const mgk_network *network)
{
    return network->model->config.dual ? 2 : 1;
}

/* Loads the model of a network that has its device. */
static mgk_status load_network(mgk_network *network, const char *path, const mgk_job *job)
{
    TRY(mgk_job_load_model(path, job, network->device, &network->model));
    TRY(mgk_job_check_encoder(job, network->model, path));
    TRY(mgk_job_run_as(job, network->model));
    const mgk_config *config = &network->model->config;
    if (!mgk_config_reads_tokens(config))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: the model reads pictures or sounds, not sequences of tokens", path);
    TRY(mgk_copy_string(path, &network->path));
    TRY(mgk_alloc((size_t)sequences_of(network) * (size_t)config->length, sizeof(*network->ids),
                  &network->ids));
    return network->device->op->allocate(network->device, (size_t)config->heads * sizeof(int32_t),
                                         &network->heads);
}

static mgk_status load_encoder(mgk_network *network, const char *path, const mgk_job *job)
{
    mgk_job own = *job;
    own.part = "encoder";
    network->cross = strcmp(job->part, "cross") == 0;
    TRY(mgk_alloc(1, sizeof(*network->encoder), &network->encoder));
    network->encoder->device = network->device;
    network->encoder->borrows_device = true;
    return load_network(network->encoder, path, &own);
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
    CHECK(load_network(network, path, job));
    if (mgk_part_decodes(job->part))
        CHECK(load_encoder(network, path, job));
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
    mgk_network_close(network->encoder);
    if (!network->borrows_device)
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
                               .causal = config->causal && !network->cross,
                               .padding = config->padding,
                               .padding_word = config->padding_word,
                               .has_source = network->encoder != NULL,
                               .cross = network->cross};
}

/* Entries of a layer's matrices. */
static size_t entries_of(const question *q)
{
    return (size_t)q->head_count * (size_t)q->count * (size_t)q->keys;
}

static mgk_status answer(void *context, mgk_observed *layer)
{
    const question *q = context;
    const size_t entries = entries_of(q);
    size_t place = 0;
    while (place < q->layer_count && q->layers[place] != layer->layer)
        place++;
    if (place == q->layer_count)
        return STATUS_OK;
    TRY(mgk_observed_matrices(layer, MGK_MATRIX_ATTENTION, 0, 1, q->heads, q->head_count,
                              q->there));
    return mgk_device_download(q->network->device, q->there, entries,
                               q->matrices + place * entries);
}

/* Passes are made for the sequences that come, because the length in a model's file may be huge. */
static mgk_status make_room(mgk_network *network, int tokens)
{
    if (tokens <= network->tokens && network->source <= network->source_room)
        return STATUS_OK;
    mgk_pass_free(network->pass);
    network->pass = NULL;
    network->tokens = 0;
    TRY(mgk_pass_create(network->model, sequences_of(network), tokens, network->source, false,
                        &network->pass));
    network->tokens = tokens;
    network->source_room = network->source;
    return STATUS_OK;
}

static mgk_status check_tokens(const mgk_network *network, const int32_t *tokens, int count)
{
    const mgk_config *config = &network->model->config;
    TRY(mgk_check_place("tokens", tokens));
    if (count < 1 || count > config->length)
        return mgk_fail(STATUS_USAGE, "%d tokens: expected 1 to %d", count, config->length);
    for (int i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= config->vocabulary)
            return mgk_fail(STATUS_USAGE, "token id %d: expected 0 to %d", tokens[i],
                            config->vocabulary - 1);
    return STATUS_OK;
}

/* Loads a sequence into the pass, and into that of a decoder what its encoder has made. */
static mgk_status load_tokens(mgk_network *network, const int32_t *tokens, int count)
{
    const int sequences = sequences_of(network);
    const int32_t lengths[2] = {count, 0}, source = network->source;
    network->encoded = false;
    memcpy(network->ids, tokens, (size_t)count * sizeof(*tokens));
    for (int i = count; i < sequences * count; i++)
        network->ids[i] = -1;
    TRY(make_room(network, count));
    const mgk_batch batch = {sequences, count, network->ids, lengths, NULL};
    TRY(mgk_pass_load(network->pass, &batch, NULL, 0, 0));
    return network->encoder ? mgk_pass_set_memory(network->pass, source, &source,
                                                  mgk_pass_hidden(network->encoder->pass))
                            : STATUS_OK;
}

static mgk_status encode_source(mgk_network *network, const int32_t *source, int count)
{
    TRY(mgk_check_place("network", network));
    mgk_network *encoder = network->encoder;
    if (!encoder)
        return mgk_fail(STATUS_USAGE, "%s: not opened as a decoder, which has a source",
                        network->path);
    TRY(check_tokens(encoder, source, count));
    TRY(load_tokens(encoder, source, count));
    TRY(mgk_pass_forward(encoder->pass, NULL));
    network->source = count;
    encoder->encoded = true;
    return STATUS_OK;
}

mgk_result mgk_network_encode(mgk_network *network, const int32_t *source, int count)
{
    return mgk_api_result(encode_source(network, source, count));
}

mgk_network *mgk_network_encoder(mgk_network *network)
{
    return network ? network->encoder : NULL;
}

static mgk_status shift(const mgk_network *network, int32_t *ids, int *count)
{
    TRY(mgk_check_place("network", network));
    TRY(mgk_check_place("ids", ids));
    TRY(mgk_check_place("their number", count));
    if (!network->encoder)
        return mgk_fail(STATUS_USAGE, "%s: not opened as a decoder", network->path);
    TRY(check_tokens(network, ids, *count));
    int32_t length = *count;
    mgk_target_shift(&network->model->config, ids, NULL, &length);
    *count = length;
    return STATUS_OK;
}

mgk_result mgk_network_shift(const mgk_network *network, int32_t *ids, int *count)
{
    return mgk_api_result(shift(network, ids, count));
}

static mgk_status run(mgk_network *network, const int32_t *tokens, question *q)
{
    mgk_device *device = network->device;
    const mgk_observer observer = {.layer = answer,
                                   .context = q,
                                   .layers = q->layers[q->layer_count - 1] + 1,
                                   .cross = network->cross};
    TRY(load_tokens(network, tokens, q->count));
    TRY(device->op->allocate(device, entries_of(q) * device->real_size, &q->there));
    mgk_status status = mgk_pass_forward(network->pass, &observer);
    device->op->release(device, q->there);
    return status;
}

static mgk_status ask(mgk_network *network, const int32_t *tokens, int count, const int *layers,
                      size_t layer_count, const int *heads, size_t head_count, double *matrices)
{
    mgk_status status;
    int32_t *chosen_layers = NULL, *chosen_heads = NULL;
    question q = {.network = network, .count = count, .matrices = matrices};
    size_t chosen;
    TRY(mgk_check_place("network", network));
    TRY(mgk_check_place("place for matrices", matrices));
    if (network->encoder && !network->encoder->encoded)
        return mgk_fail(STATUS_USAGE, "a decoder needs a source: call mgk_network_encode first");
    q.keys = network->cross ? network->source : count;
    TRY(check_tokens(network, tokens, count));
    const mgk_config *config = &network->model->config;
    if ((layers && layer_count == 0) || (heads && head_count == 0))
        return mgk_fail(STATUS_USAGE, "no %s", layers && layer_count == 0 ? "layers" : "heads");
    CHECK(mgk_choose_numbers("layer", layers, layer_count, config->layers, &chosen_layers,
                             &q.layer_count));
    CHECK(mgk_choose_numbers("head", heads, head_count, config->heads, &chosen_heads, &chosen));
    mgk_device *device = network->device;
    CHECK(device->op->upload(device, network->heads, chosen_heads, chosen * sizeof(int32_t)));
    q.layers = chosen_layers;
    q.heads = network->heads;
    q.head_count = (int)chosen;
    CHECK(run(network, tokens, &q));
out:
    mgk_free(chosen_layers);
    mgk_free(chosen_heads);
    return status;
}

/* Numbers out of range are a misuse of this call, unlike those of a user's choice. */
static mgk_status ask_one(mgk_network *network, const int32_t *tokens, int count, int layer,
                          int head, double *matrix)
{
    TRY(mgk_check_place("network", network));
    const mgk_config *config = &network->model->config;
    if (layer < 0 || layer >= config->layers || head < 0 || head >= config->heads)
        return mgk_fail(STATUS_USAGE, "layer %d, head %d: the model has %d and %d", layer, head,
                        config->layers, config->heads);
    return ask(network, tokens, count, &layer, 1, &head, 1, matrix);
}

mgk_result mgk_network_attention(mgk_network *network, const int32_t *tokens, int count, int layer,
                                 int head, double *matrix)
{
    return mgk_api_result(ask_one(network, tokens, count, layer, head, matrix));
}

mgk_result mgk_network_attention_all(mgk_network *network, const int32_t *tokens, int count,
                                     double *matrices)
{
    return mgk_api_result(ask(network, tokens, count, NULL, 0, NULL, 0, matrices));
}

mgk_result mgk_network_attention_of(mgk_network *network, const int32_t *tokens, int count,
                                    const int *layers, size_t layer_count, const int *heads,
                                    size_t head_count, double *matrices)
{
    return mgk_api_result(
        ask(network, tokens, count, layers, layer_count, heads, head_count, matrices));
}

/* Opens the tokenizer on first use; it stays NULL for models of bytes. */
static mgk_status open_tokenizer(mgk_network *network)
{
    if (network->tokenizer)
        return STATUS_OK;
    return mgk_input_open_tokenizer(&(mgk_input){.text_count = 1}, network->model, network->path,
                                    &network->tokenizer);
}

/* Appends the ids of a text and of its frame; the text's are cut so that all are at most `most`. */
static mgk_status encode(const mgk_tokenizer *tokenizer, const char *text, size_t size, size_t most,
                         mgk_buffer *ids)
{
    mgk_status status;
    mgk_token_encoder *encoder = NULL;
    const mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
    const size_t id = sizeof(*frame.before), around = frame.before_count + frame.after_count;
    if (around >= most)
        return mgk_fail(STATUS_SHAPE,
                        "length %zu leaves no room for text: %zu special %s surround each sequence",
                        most, around, MGK_NOUN(around, "token", "tokens"));
    TRY(mgk_utf8_check(text, size, 0));
    CHECK(mgk_token_encoder_open(tokenizer, &encoder));
    CHECK(mgk_buffer_append(ids, frame.before, frame.before_count * id));
    CHECK(mgk_token_encode(encoder, text, size, ids));
    if (ids->size / id > most - frame.after_count)
        ids->size = (most - frame.after_count) * id;
    CHECK(mgk_buffer_append(ids, frame.after, frame.after_count * id));
out:
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

static mgk_status tokenize(mgk_network *network, const char *text, size_t size, size_t most,
                           int32_t **tokens, int *count)
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
    TRY(open_tokenizer(network));
    if (network->model->config.class_token) {
        const int32_t first = network->model->config.vocabulary - 1;
        CHECK(mgk_buffer_append(&ids, &first, sizeof(first)));
    }
    const size_t room = most - ids.size / sizeof(int32_t);
    CHECK(network->tokenizer ? encode(network->tokenizer, text, size, most, &ids)
                             : append_bytes(text, size < room ? size : room, &ids));
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
    return mgk_api_result(tokenize(network, text, size, SIZE_MAX, tokens, count));
}

mgk_result mgk_network_tokenize_cut(mgk_network *network, const char *text, size_t size, int length,
                                    int32_t **tokens, int *count)
{
    if (length < 1)
        return mgk_api_result(
            mgk_fail(STATUS_USAGE, "length %d: expected a positive number", length));
    return mgk_api_result(tokenize(network, text, size, (size_t)length, tokens, count));
}

static mgk_status find_text(mgk_network *network, int32_t token, const char **text)
{
    TRY(mgk_check_place("network", network));
    TRY(mgk_check_place("place for the text", text));
    *text = NULL;
    if (token < 0 || token >= network->model->config.vocabulary)
        return mgk_fail(STATUS_USAGE, "token id %d: expected 0 to %d", token,
                        network->model->config.vocabulary - 1);
    TRY(open_tokenizer(network));
    const mgk_token_text bytes = mgk_byte_text();
    *text = network->tokenizer ? mgk_tokenizer_text(network->tokenizer, token)
                               : bytes.of(bytes.context, token);
    return STATUS_OK;
}

mgk_result mgk_network_token_text(mgk_network *network, int32_t token, const char **text)
{
    return mgk_api_result(find_text(network, token, text));
}
