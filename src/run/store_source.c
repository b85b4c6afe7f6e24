/* SPDX-License-Identifier: MIT */
/* An attention store, or an array of other software, as a source of matrices. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "analysis/run/selection.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "kernels/attention.h"
#include "model/core/config.h"
#include "run/arguments.h"
#include "run/array_axes.h"
#include "run/content.h"
#include "run/recognise.h"
#include "run/sources.h"
#include "store/foreign/axes.h"
#include "store/schema/reader.h"

typedef struct store_source {
    mgk_store_reader *reader;
    const mgk_store_description *description;
    /* The analysed layers and heads: positions in the store and the model's numbers. */
    int32_t *layers, *layer_numbers; /* [layer_count] */
    int32_t *heads, *head_numbers;   /* [head_count] */
    size_t layer_count, head_count;
    size_t mixtures;            /* M of the analysed layer with most keys */
    mgk_layer_keys *layer_keys; /* [layer_count] */
    mgk_selection selection;
    double *weights; /* [M, C, D], of one head; NULL: none */
    double *vectors; /* [M, N, D], of one head; NULL: not wanted */
    int32_t *tokens; /* [N], of one sample; NULL: the store has none */
    bool counts_zero_keys;
    mgk_zero_keys zero_keys;
    pthread_mutex_t lock; /* held while `vectors`, `tokens` or `weights` are used */
} store_source;

static void close_store(void *state)
{
    store_source *s = state;
    mgk_selection_free(&s->selection);
    mgk_free(s->layers);
    mgk_free(s->layer_numbers);
    mgk_free(s->heads);
    mgk_free(s->head_numbers);
    mgk_free(s->layer_keys);
    mgk_free(s->vectors);
    mgk_free(s->weights);
    mgk_free(s->tokens);
    mgk_store_close(s->reader);
    pthread_mutex_destroy(&s->lock);
    mgk_free(s);
}

/* Chooses of `there` layers or heads with these numbers of the model; wanted NULL: all. */
static mgk_status choose(const int32_t *index, int32_t there, const int *wanted,
                         size_t wanted_count, int32_t **places, int32_t **numbers, size_t *count)
{
    TRY(mgk_alloc((size_t)there, sizeof(**places), places));
    TRY(mgk_alloc((size_t)there, sizeof(**numbers), numbers));
    for (int32_t i = 0; i < there; i++)
        if (!wanted || mgk_is_chosen(wanted, wanted_count, index[i])) {
            (*places)[*count] = i;
            (*numbers)[(*count)++] = index[i];
        }
    return STATUS_OK;
}

/* Finds the first wanted number that is not in the index. */
static bool lacks(const int32_t *index, int32_t there, const int *wanted, size_t count,
                  int *missing)
{
    for (size_t i = 0; wanted && i < count; i++)
        if (!mgk_is_chosen(index, (size_t)there, wanted[i])) {
            *missing = wanted[i];
            return true;
        }
    return false;
}

/* The options contain the model's numbers, of which a store may contain a few. */
static mgk_status choose_numbers(const mgk_source_options *o, const char *path, store_source *s)
{
    const mgk_store_description *d = s->description;
    int missing;
    if (lacks(d->layer_index, d->layers, o->layers, o->layer_count, &missing))
        return mgk_fail(STATUS_SHAPE, "%s: no layer %d among its %d %s, %d to %d%s", path, missing,
                        d->layers, MGK_NOUN(d->layers, "layer", "layers"), d->layer_index[0],
                        d->layer_index[d->layers - 1],
                        d->leading.count > 0 && !mgk_axes_have(&d->leading, MGK_LEADING_LAYER)
                            ? "; if an axis of the array is that of layers, say so by `axes`"
                            : "");
    if (lacks(d->head_index, d->heads, o->heads, o->head_count, &missing))
        return mgk_fail(STATUS_SHAPE, "%s: no head %d among its %d %s, %d to %d", path, missing,
                        d->heads, MGK_NOUN(d->heads, "head", "heads"), d->head_index[0],
                        d->head_index[d->heads - 1]);
    TRY(choose(d->layer_index, d->layers, o->layers, o->layer_count, &s->layers, &s->layer_numbers,
               &s->layer_count));
    return choose(d->head_index, d->heads, o->heads, o->head_count, &s->heads, &s->head_numbers,
                  &s->head_count);
}

static mgk_status check_numbers(const char *path, const int32_t *numbers, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (numbers[i] < 0)
            return mgk_fail(STATUS_FORMAT, "%s: samples, layers and heads include the number %d",
                            path, numbers[i]);
    return STATUS_OK;
}

/* See mgk_source_input. */
static size_t count_layers(const mgk_store_description *d)
{
    int32_t most = 0;
    for (int32_t l = 0; l < d->layers; l++)
        most = d->layer_index[l] > most ? d->layer_index[l] : most;
    return (size_t)most + 1;
}

static mgk_status check_store(const mgk_source_options *options, const char *path,
                              const mgk_store_description *d)
{
    if (!options->dataset && !(d->objects & MGK_STORE_BIT(STORE_ATTENTION)))
        return mgk_fail(STATUS_FORMAT, "%s: the store has no \"attention\"", path);
    if (d->samples == 0 || d->layers == 0 || d->heads == 0)
        return mgk_fail(STATUS_SHAPE, "%s: no matrices", path);
    TRY(mgk_source_check_half(options, path,
                              d->storage == STORE_F16 ? MGK_FLOAT_F16 : MGK_FLOAT_F32));
    TRY(check_numbers(path, d->sample_index, d->samples));
    TRY(check_numbers(path, d->layer_index, d->layers));
    return check_numbers(path, d->head_index, d->heads);
}

static mgk_status next_stored(void *state, size_t most, mgk_group *group, bool *end)
{
    store_source *s = state;
    int32_t queries, keys;
    *end = !mgk_selection_next(&s->selection, most, group);
    if (*end)
        return STATUS_OK;
    TRY(mgk_store_read_length(s->reader, (int32_t)group->sample, &queries));
    TRY(mgk_store_read_key_length(s->reader, (int32_t)group->sample, &keys));
    mgk_group_set(group, (size_t)queries, (size_t)keys);
    return STATUS_OK;
}

/* Stored matrices need no preparation. */
static mgk_status prepare_stored(void *state, mgk_group *groups, size_t count, size_t *prepared)
{
    (void)state;
    (void)groups;
    *prepared = count;
    return STATUS_OK;
}

/* Moves a row of keys from its place in rows of `stride` to that in rows of n, with zeros after it.
 */
static void move_row(double *matrix, size_t i, size_t stride, size_t keys, size_t n)
{
    memmove(matrix + i * n, matrix + i * stride, keys * sizeof(*matrix));
    memset(matrix + i * n + keys, 0, (n - keys) * sizeof(*matrix));
}

/* Makes of the valid block of a matrix, whose rows are `stride` apart, that of the group, whose
 * rows are n apart, in place. Rows that move away from the front move in the order from the last
 * one. */
static void pack(double *matrix, size_t stride, const mgk_group *group)
{
    const size_t rows = group->queries, n = group->n;
    if (n == stride && group->keys == n)
        return;
    for (size_t i = 0; i < rows && n <= stride; i++)
        move_row(matrix, i, stride, group->keys, n);
    for (size_t i = rows; i-- > 0 && n > stride;)
        move_row(matrix, i, stride, group->keys, n);
}

static mgk_status take_stored(void *state, const mgk_group *group, size_t which, double *data)
{
    store_source *s = state;
    TRY(mgk_store_read_matrix(s->reader, (int32_t)group->sample, s->layers[group->layer],
                              s->heads[group->heads[which]], STORE_F64, data, NULL));
    pack(data, (size_t)mgk_store_keys(s->description), group);
    if (s->counts_zero_keys)
        mgk_zero_keys_look(&s->zero_keys, data, group->queries, group->keys, group->n);
    return STATUS_OK;
}

/* Reads the first n rows of each head's object [mixtures, N, D], packed: as they are stored where
 * these are all rows of heads that follow each other. */
static mgk_status read_vectors(store_source *s, const mgk_group *group, mgk_store_object object,
                               size_t mixtures, double *out)
{
    const size_t tokens = (size_t)s->description->tokens, dim = (size_t)s->description->head_dim;
    const size_t numbers = group->n * dim;
    const int32_t first = s->heads[group->heads[0]],
                  last = s->heads[group->heads[group->count - 1]];
    const bool packed = group->n == tokens && group->count == (size_t)(last - first) + 1;
    TRY(mgk_store_read_heads(s->reader, object, (int32_t)group->sample, s->layers[group->layer],
                             first, last - first + 1, STORE_F64, packed ? out : s->vectors));
    for (size_t h = 0; h < group->count && !packed; h++)
        for (size_t r = 0; r < mixtures; r++) {
            const size_t row = (size_t)(s->heads[group->heads[h]] - first) * mixtures + r;
            memcpy(out + (h * mixtures + r) * numbers, s->vectors + row * tokens * dim,
                   numbers * sizeof(*out));
        }
    return STATUS_OK;
}

/* The objects of mgk_vectors. */
static const mgk_store_object vector_objects[] = {STORE_QUERIES, STORE_KEYS, STORE_VALUES};

static mgk_status give_vectors(void *state, const mgk_group *group, mgk_vectors which, double *data)
{
    store_source *s = state;
    const size_t mixtures = which == MGK_KEYS ? (size_t)s->description->mixtures : 1;
    pthread_mutex_lock(&s->lock);
    mgk_status status = read_vectors(s, group, vector_objects[which], mixtures, data);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* The wanted vectors that the store contains; no values where its matrices weigh others. */
static unsigned find_vectors(const mgk_store_description *d, unsigned wanted)
{
    unsigned kinds = 0;
    for (int which = MGK_QUERIES; which <= MGK_VALUES; which++)
        if (d->objects & MGK_STORE_BIT(vector_objects[which]))
            kinds |= MGK_VECTORS_BIT(which);
    if (mgk_kinds_own_values(d->attention))
        kinds &= ~MGK_VECTORS_BIT(MGK_VALUES);
    return kinds & wanted;
}

/* The buffer fits a layer's keys, the largest object that is read at once. */
static mgk_status open_vectors(store_source *s, unsigned wanted, mgk_source *source)
{
    const mgk_store_description *d = s->description;
    size_t numbers;
    source->kinds = d->cross ? 0 : find_vectors(d, wanted);
    if (source->kinds == 0)
        return STATUS_OK;
    source->dim = (size_t)d->head_dim;
    source->mixtures = (size_t)d->mixtures;
    source->vectors = give_vectors;
    TRY(mgk_multiply((size_t)d->tokens * source->mixtures, source->dim, &numbers));
    TRY(mgk_multiply(numbers, (size_t)d->heads, &numbers));
    return mgk_alloc(numbers, sizeof(*s->vectors), &s->vectors);
}

static mgk_status give_mixture(void *state, size_t layer, size_t head, double *priors,
                               double *variances)
{
    store_source *s = state;
    const mgk_store_description *d = s->description;
    const size_t tokens = (size_t)d->tokens, mixtures = (size_t)d->mixtures;
    TRY(mgk_store_read(s->reader, STORE_VARIANCES, 0, s->layers[layer], s->heads[head], STORE_F64,
                       variances));
    for (size_t i = 0; i < mixtures * tokens; i++)
        priors[i] = 1; /* hard-E has none */
    if (!(d->objects & MGK_STORE_BIT(STORE_PRIORS)))
        return STATUS_OK;
    TRY(mgk_store_read(s->reader, STORE_PRIORS, 0, s->layers[layer], s->heads[head], STORE_F64,
                       priors));
    for (size_t r = mixtures; !d->priors_per_key && r-- > 0;)
        for (size_t j = tokens; j-- > 0;)
            priors[r * tokens + j] = priors[r];
    return STATUS_OK;
}

static mgk_status give_key_weight(void *state, size_t layer, size_t head, size_t component,
                                  double *data)
{
    store_source *s = state;
    const mgk_store_description *d = s->description;
    const size_t numbers = (size_t)d->model_dim * (size_t)d->head_dim;
    TRY(mgk_store_read(s->reader, STORE_KEY_WEIGHTS, 0, s->layers[layer], s->heads[head], STORE_F64,
                       s->weights));
    memcpy(data, s->weights + component * numbers, numbers * sizeof(*data));
    return STATUS_OK;
}

/*
 * The store has components for the layer with most keys. Which of them a layer has is that of its
 * kind; all of them if the kind is not known.
 */
static mgk_status open_keys(store_source *s)
{
    const mgk_store_description *d = s->description;
    const bool variances = (d->objects & MGK_STORE_BIT(STORE_VARIANCES)) != 0;
    const bool weights = (d->objects & MGK_STORE_BIT(STORE_KEY_WEIGHTS)) != 0;
    TRY(mgk_alloc(s->layer_count, sizeof(*s->layer_keys), &s->layer_keys));
    s->mixtures = 1;
    for (size_t l = 0; l < s->layer_count; l++) {
        const mgk_attention_kind *kind = mgk_kinds_of_layer(d->attention, s->layer_numbers[l]);
        const size_t mixtures = kind && !kind->mixture ? 1 : (size_t)d->mixtures;
        /* Shifted keys have one projection, which is stored for each component. */
        const size_t projections = kind && kind->keys == MGK_KEYS_SHIFTED ? 1 : mixtures;
        s->mixtures = mixtures > s->mixtures ? mixtures : s->mixtures;
        s->layer_keys[l] = (mgk_layer_keys){.components = weights && !d->cross ? projections : 0,
                                            .gaussian = variances && !d->cross && mixtures > 1 &&
                                                        (!kind || kind->gaussian)};
    }
    return STATUS_OK;
}

static mgk_status open_parameters(store_source *s, mgk_source *source)
{
    const mgk_store_description *d = s->description;
    size_t numbers;
    source->layer_keys = s->layer_keys;
    for (size_t l = 0; l < s->layer_count; l++) {
        const mgk_layer_keys *keys = &s->layer_keys[l];
        source->gaussian |= keys->gaussian;
        source->components =
            keys->components > source->components ? keys->components : source->components;
    }
    if (source->gaussian)
        source->mixture = give_mixture;
    if (d->cross || !(d->objects & MGK_STORE_BIT(STORE_KEY_WEIGHTS)))
        return STATUS_OK;
    source->dim = (size_t)d->head_dim;
    source->width = (size_t)d->model_dim;
    source->key_weight = give_key_weight;
    TRY(mgk_multiply((size_t)d->mixtures * source->width, source->dim, &numbers));
    return mgk_alloc(numbers, sizeof(*s->weights), &s->weights);
}

static mgk_status give_tokens(void *state, const mgk_group *group, int32_t *ids)
{
    store_source *s = state;
    int32_t length;
    pthread_mutex_lock(&s->lock);
    mgk_status status =
        mgk_store_read_tokens(s->reader, (int32_t)group->sample, s->tokens, &length);
    if (status == STATUS_OK)
        memcpy(ids, s->tokens, group->n * sizeof(*ids));
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* The tokens of pictures and sounds are positions. */
static mgk_status open_tokens(store_source *s, const mgk_config *config, mgk_source *source)
{
    const mgk_store_description *d = s->description;
    if (d->cross || !mgk_store_has_tokens(s->reader) || !mgk_config_reads_tokens(config))
        return STATUS_OK;
    source->tokens = give_tokens;
    return mgk_alloc((size_t)d->tokens, sizeof(*s->tokens), &s->tokens);
}

/* What the configuration of the store's model says; a store of other software may have none. */
static mgk_status open_config(store_source *s, mgk_source *source)
{
    const mgk_store_description *d = s->description;
    mgk_config config;
    mgk_status status = mgk_config_from_json(d->config, strlen(d->config), &config);
    if (status == STATUS_MEMORY)
        return status;
    if (status != STATUS_OK)
        config = (mgk_config){.heads = 0};
    source->all_heads = (size_t)(config.heads > 0 ? config.heads : d->heads);
    return open_tokens(s, &config, source);
}

/* Extends the hash by shard i; *exists: there is one. */
static mgk_status hash_shard(const mgk_store_reader *reader, size_t i, bool *exists, uint64_t *hash)
{
    char *path;
    TRY(mgk_store_shard_path(reader, i, &path));
    *exists = path != NULL;
    const mgk_status status = path ? mgk_content_of_file(path, hash) : STATUS_OK;
    mgk_free(path);
    return status;
}

/* Of all files that are read. */
static mgk_status hash_files(const store_source *s, const char *path, const char *mask,
                             uint64_t *hash)
{
    bool exists = true;
    TRY(mgk_content_of_file(path, hash));
    if (mask)
        TRY(mgk_content_of_file(mask, hash));
    for (size_t i = 0; exists; i++)
        TRY(hash_shard(s->reader, i, &exists, hash));
    return STATUS_OK;
}

/* Opens the store, and chooses what is taken from it. */
static mgk_status open_store(const mgk_source_options *options, const char *path, store_source *s)
{
    TRY(mgk_expect_arrays(path, "a model is given by `model`"));
    TRY(mgk_store_open_as(path, options->dataset, options->axes, &s->reader));
    const mgk_store_description *d = s->description = mgk_store_describe(s->reader);
    TRY(check_store(options, path, d));
    TRY(mgk_source_check_causal(options, path, d->cross));
    if (options->mask)
        TRY(mgk_store_mask(s->reader, options->mask));
    s->zero_keys.cross = d->cross;
    s->counts_zero_keys = !options->mask && !mgk_store_has_tokens(s->reader);
    TRY(choose_numbers(options, path, s));
    TRY(open_keys(s));
    return mgk_selection_make(options->job->seed, (size_t)d->samples, s->layer_count,
                              s->layer_numbers, s->head_count, (size_t)options->matrices,
                              &s->selection);
}

static mgk_status make_source(const mgk_source_options *options, store_source *s, mgk_source *out)
{
    static const mgk_float_format grids[] = {
        [STORE_F16] = MGK_FLOAT_F16, [STORE_F32] = MGK_FLOAT_F32, [STORE_F64] = MGK_FLOAT_F64};
    const mgk_store_description *d = s->description;
    const int32_t keys = mgk_store_keys(d);
    *out = (mgk_source){.n_max = (size_t)(d->tokens > keys ? d->tokens : keys),
                        .count = s->layer_count * s->selection.per_layer,
                        .format = grids[d->storage],
                        .floats = mgk_store_widest(s->reader) <= STORE_F32,
                        .causal = d->causal || options->causal,
                        .unnormalized = *d->attention && !d->row_normalized,
                        .other_values = mgk_kinds_own_values(d->attention),
                        .may_be_blank = mgk_kinds_may_be_blank(d->attention),
                        .cross = d->cross,
                        .samples = d->sample_index,
                        .layers = s->layer_numbers,
                        .heads = s->head_numbers,
                        .next = next_stored,
                        .prepare = prepare_stored,
                        .take = take_stored,
                        .state = s};
    TRY(open_vectors(s, options->vectors, out));
    TRY(open_parameters(s, out));
    return open_config(s, out);
}

/* What the store tells of itself. */
static void describe_input(const store_source *s, mgk_source_input *out)
{
    const mgk_store_description *d = s->description;
    out->training_step = d->training_step;
    out->sample_count = (size_t)d->samples;
    out->layer_count = s->layer_count;
    out->all_layers = count_layers(d);
    out->head_count = s->head_count;
    out->mixtures = s->mixtures;
    out->per_layer = s->selection.per_layer;
    out->keys = (size_t)mgk_store_keys(d);
    mgk_array_axes(d, out->axes);
    if (d->model)
        mgk_utf8_copy(d->model, SIZE_MAX, out->model, sizeof(out->model));
    if (d->model_sha256 && mgk_sha256_is_hex(d->model_sha256))
        memcpy(out->sha256, d->model_sha256, sizeof(out->sha256));
}

mgk_status mgk_open_store_source(const mgk_source_options *options, const char *path,
                                 mgk_source_input *out)
{
    mgk_status status;
    mgk_file_identity file;
    mgk_source source;
    uint64_t content = 0;
    store_source *s;
    TRY(mgk_alloc(1, sizeof(*s), &s));
    mgk_file_identify(path, &file); /* before it is opened: a later file is another one */
    pthread_mutex_init(&s->lock, NULL);
    CHECK(open_store(options, path, s));
    CHECK(make_source(options, s, &source));
    if (options->job->cluster)
        CHECK(hash_files(s, path, options->mask, &content));
    *out = (mgk_source_input){.name = path,
                              .file = file,
                              .content = content,
                              .zero_keys = s->counts_zero_keys ? &s->zero_keys : NULL,
                              .source = source,
                              .close = close_store};
    describe_input(s, out);
out:
    if (status != STATUS_OK)
        close_store(s);
    return status;
}
