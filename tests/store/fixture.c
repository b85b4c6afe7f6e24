/* SPDX-License-Identifier: MIT */
#include "store/fixture.h"

#include "base/memory.h"

mgk_store_description fixture_description(int32_t tokens, mgk_store_real storage, unsigned objects)
{
    static const int32_t samples[] = {7, 8, 9}, layers[] = {1, 3}, heads[] = {0, 4};
    return (mgk_store_description){.samples = FIXTURE_SAMPLES,
                                   .layers = FIXTURE_LAYERS,
                                   .heads = FIXTURE_HEADS,
                                   .tokens = tokens,
                                   .mixtures = FIXTURE_MIXTURES,
                                   .head_dim = FIXTURE_HEAD_DIM,
                                   .model_dim = FIXTURE_MODEL_DIM,
                                   .sample_index = samples,
                                   .layer_index = layers,
                                   .head_index = heads,
                                   .storage = storage,
                                   .objects = objects,
                                   .causal = true,
                                   .row_normalized = true,
                                   .training_step = 3000000000,
                                   .software = "mgk test",
                                   .model = "model.safetensors",
                                   .model_sha256 = "00ff",
                                   .attention = "mgk",
                                   .config = "{\"dim\": 5, \"name\": \"Schl\xc3\xbcssel\"}",
                                   .command = "test",
                                   .precision = "single",
                                   .device = "cpu"};
}

double fixture_value(int object, int sample, int layer, int head, size_t i)
{
    size_t mixed =
        (size_t)object * 31 + (size_t)sample * 17 + (size_t)layer * 11 + (size_t)head * 5 + i * 7;
    double magnitude = (double)(1 + mixed % 1021) / 1024;
    return i % 3 == 1 ? -magnitude : magnitude;
}

int32_t fixture_length(int sample, int32_t tokens)
{
    return tokens > sample ? tokens - sample : tokens;
}

int32_t fixture_token(int sample, int32_t tokens, int32_t i)
{
    return i < fixture_length(sample, tokens) ? sample * 100 + i : -1;
}

int32_t fixture_key_length(int sample, int32_t keys)
{
    return fixture_length(2 - sample % 3, keys);
}

int32_t fixture_key_token(int sample, int32_t keys, int32_t i)
{
    return i < fixture_key_length(sample, keys) ? 5000 + sample * 100 + i : -1;
}

void fixture_cross(mgk_store_description *description, int32_t keys)
{
    description->cross = true;
    description->part = "cross";
    description->key_tokens = keys;
    description->causal = false;
}

size_t fixture_count(const mgk_store_description *description, int object)
{
    size_t n = (size_t)description->tokens, m = (size_t)description->mixtures;
    size_t k = (size_t)mgk_store_keys(description);
    size_t d = (size_t)description->head_dim, c = (size_t)description->model_dim;
    switch (object) {
    case STORE_ATTENTION:
    case STORE_SCORES:
        return n * k;
    case STORE_KEYS:
        return m * k * d;
    case STORE_VALUES:
        return (description->cross ? k : n) * d;
    case STORE_KEY_WEIGHTS:
        return m * c * d;
    case STORE_KEY_BIAS:
        return m * d;
    case STORE_PRIORS:
        return description->priors_per_key ? m * k : m;
    case STORE_VARIANCES:
        return m;
    case STORE_APPROXIMATION_ERROR:
    case STORE_OUTPUT_ERROR:
        return 1;
    default:
        return n * d;
    }
}

static void fill_heads(const mgk_store_description *description, mgk_store_real incoming,
                       int object, int sample, int layer, void *out)
{
    size_t count = fixture_count(description, object);
    for (int head = 0; head < description->heads; head++) {
        for (size_t i = 0; i < count; i++) {
            double value = fixture_value(object, sample, layer, head, i);
            if (incoming == STORE_F32)
                ((float *)out)[(size_t)head * count + i] = (float)value;
            else
                ((double *)out)[(size_t)head * count + i] = value;
        }
    }
}

void fixture_fill(const mgk_store_description *description, mgk_store_real incoming, int sample,
                  int layer, mgk_store_block *block)
{
    block->sample = sample;
    block->layer = layer;
    block->length = fixture_length(sample, description->tokens);
    for (int32_t i = 0; i < description->tokens; i++)
        block->tokens[i] = fixture_token(sample, description->tokens, i);
    if (description->cross) {
        const int32_t keys = mgk_store_keys(description);
        block->key_length = fixture_key_length(sample, keys);
        for (int32_t i = 0; i < keys; i++)
            block->key_tokens[i] = fixture_key_token(sample, keys, i);
    }
    for (int object = 0; object <= STORE_VALUES; object++)
        if (block->arrays[object])
            fill_heads(description, incoming, object, sample, layer, block->arrays[object]);
}

/* Objects of the model have no axis of samples. */
static mgk_status write_whole(mgk_store_writer *writer, const mgk_store_description *description,
                              mgk_store_real incoming, int object)
{
    size_t size = incoming == STORE_F32 ? sizeof(float) : sizeof(double);
    size_t layer_size = (size_t)description->heads * fixture_count(description, object) * size;
    unsigned char *values;
    const int layers = description->layers;
    const int samples = object < STORE_APPROXIMATION_ERROR ? 1 : description->samples;
    TRY(mgk_alloc((size_t)(samples * layers), layer_size, &values));
    for (int place = 0; place < samples * layers; place++)
        fill_heads(description, incoming, object, place / layers, place % layers,
                   values + (size_t)place * layer_size);
    mgk_status status = mgk_store_write_whole(writer, (mgk_store_object)object, values);
    mgk_free(values);
    return status;
}

mgk_status fixture_write(mgk_store_writer *writer, const mgk_store_description *description,
                         mgk_store_real incoming)
{
    for (int object = STORE_KEY_WEIGHTS; object < STORE_OBJECTS; object++)
        if (description->objects & MGK_STORE_BIT(object))
            TRY(write_whole(writer, description, incoming, object));
    for (int sample = 0; sample < description->samples; sample++) {
        for (int layer = 0; layer < description->layers; layer++) {
            mgk_store_block *block;
            TRY(mgk_store_next_block(writer, &block));
            fixture_fill(description, incoming, sample, layer, block);
            TRY(mgk_store_submit(writer, block));
        }
    }
    return STATUS_OK;
}

mgk_status fixture_store_as(const char *path, const mgk_store_description *description,
                            const mgk_store_options *options)
{
    mgk_store_writer *writer;
    TRY(mgk_store_create(path, description, options, &writer));
    mgk_status status = fixture_write(writer, description, options->incoming);
    if (status != STATUS_OK) {
        mgk_store_discard(writer);
        return status;
    }
    return mgk_store_finish(writer, NULL);
}

mgk_status fixture_store(const char *path, const mgk_store_description *description,
                         mgk_store_real incoming, int compress)
{
    mgk_store_options options = {
        .force = true, .incoming = incoming, .compress = compress, .threads = 2};
    return fixture_store_as(path, description, &options);
}
