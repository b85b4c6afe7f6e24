/* SPDX-License-Identifier: MIT */
/* The memory of a pass. */
#include "model/core/pass.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "model/core/pass_private.h"

/* One array of a pass: the location of its pointer, and its shape. */
typedef struct piece {
    void *address; /* of the pointer to the array */
    size_t rows, columns, element;
} piece;

/* Pieces are adjacent in one allocation, each on a 256-byte boundary. */
typedef struct plan {
    piece *list; /* [count] */
    size_t count, room;
    mgk_status status; /* of the first piece that could not be added */
} plan;

enum { BOUNDARY = 256 };

/* Only plan_bytes multiplies rows and columns, and checks for overflow. */
static void add(plan *p, void *address, size_t rows, size_t columns, size_t element)
{
    if (p->status == STATUS_OK)
        p->status = mgk_grow(p->count, sizeof(*p->list), &p->room, &p->list);
    if (p->status == STATUS_OK)
        p->list[p->count++] = (piece){address, rows, columns, element};
}

static void plan_layer(mgk_pass *pass, mgk_layer_activations *layer, plan *p)
{
    const mgk_config *config = &pass->model->config;
    const int widest =
        config->experts_shared > config->hidden ? config->experts_shared : config->hidden;
    size_t rows = pass->capacity_rows, dim = (size_t)config->dim, hidden = (size_t)widest;
    size_t real = pass->model->device->real_size;
    add(p, &layer->norm1, rows, dim, real);
    add(p, &layer->mean1, rows, 1, real);
    add(p, &layer->deviation1, rows, 1, real);
    add(p, &layer->qkv, rows, pass->qkv_width, real);
    add(p, &layer->keys, rows, pass->shifted, real);
    add(p, &layer->turned, rows, pass->turning ? 3 * pass->width : 0, real);
    add(p, &layer->kept, pass->kept_reals, 1, real);
    add(p, &layer->attended, rows, pass->width, real);
    add(p, &layer->capsules, config->aggregate == MGK_AGGREGATION_CAPSULES ? rows : 0, pass->width,
        real);
    add(p, &layer->sum1, rows, dim, real);
    add(p, &layer->norm2, rows, dim, real);
    add(p, &layer->mean2, rows, 1, real);
    add(p, &layer->deviation2, rows, 1, real);
    add(p, &layer->hidden, rows, config->gated ? 2 * hidden : hidden, real);
    add(p, &layer->activated, rows, hidden, real);
    add(p, &layer->sum2, rows, dim, real);
}

/*
 * Rows of logits that exist at a time. Without training a language model computes them in blocks:
 * those of a large vocabulary would take more memory than everything else.
 */
static size_t logit_capacity(const mgk_pass *pass)
{
    const mgk_config *config = &pass->model->config;
    enum { BLOCK = 1 << 24 }; /* numbers */
    size_t rows = pass->capacity_rows, block = BLOCK / (size_t)config->vocabulary;
    if (config->family != MGK_FAMILY_LM)
        return pass->capacity_sequences;
    if (mgk_pass_has_clusters(pass))
        return 0;
    return pass->training || block >= rows ? rows : block > 0 ? block : 1;
}

/* Tables of computed positions, and what relative ones need. */
static void plan_positions(mgk_pass *pass, plan *p)
{
    const mgk_config *config = &pass->model->config;
    const size_t rows = pass->capacity_rows, tokens = pass->capacity_tokens;
    const size_t real = pass->model->device->real_size, head = (size_t)config->head_dim;
    const bool sinusoidal = config->positions == MGK_POSITIONS_SINUSOIDAL;
    const bool rotary = config->positions == MGK_POSITIONS_ROTARY;
    const size_t biased = mgk_config_has_distances(config) ? (size_t)config->heads : 0;
    const size_t places = 2 * (size_t)config->relative;
    add(p, &pass->positions, sinusoidal ? tokens : 0, (size_t)config->embedding, real);
    add(p, &pass->relative, places, 2 * pass->width, real);
    for (size_t side = 0; side < 2; side++)
        add(p, &pass->relative_sides[side], places > 0 ? rows : 0, (size_t)config->heads * places,
            real);
    add(p, &pass->relative_places, places > 0 ? 2 * tokens - 1 : 0, 1, sizeof(int32_t));
    add(p, &pass->angles, rotary ? tokens : 0, head, real);
    add(p, &pass->far_angles, mgk_pass_has_far(config) ? tokens : 0, head, real);
    add(p, &pass->local_angles, rotary && config->local_base > 0 ? tokens : 0, head, real);
    add(p, &pass->distances, biased, 2 * tokens - 1, real);
    add(p, &pass->places, config->positions_skip_padding ? rows : 0, 1, sizeof(int32_t));
    add(p, &pass->masked, config->padding_masked ? rows : 0, 1, sizeof(int32_t));
}

/* The votes of heads for capsules, a block of tokens. */
static void plan_votes(mgk_pass *pass, plan *p)
{
    const mgk_config *config = &pass->model->config;
    const size_t rows = pass->capacity_rows, real = pass->model->device->real_size;
    const size_t block = config->aggregate != MGK_AGGREGATION_CAPSULES ? 0
                         : rows < MGK_ROUTED_TOKENS                    ? rows
                                                                       : MGK_ROUTED_TOKENS;
    add(p, &pass->votes, block, (size_t)config->heads * pass->width, real);
    add(p, &pass->dvotes, pass->training ? block : 0, (size_t)config->heads * pass->width, real);
}

/* The products of clusters.c. */
static void plan_words(mgk_pass *pass, plan *p)
{
    const mgk_config *config = &pass->model->config;
    const size_t dim = (size_t)config->dim, real = pass->model->device->real_size;
    const size_t words = config->cutoff_divisor > 0 ? (size_t)config->vocabulary : 0;
    const size_t frequent = words > 0 ? (size_t)config->cutoffs[0] : 0;
    const size_t clusters = words > 0 ? (size_t)config->cutoff_count : 0;
    add(p, &pass->words, words, dim, real);
    add(p, &pass->frequent_words, frequent, dim, real);
    add(p, &pass->cluster_words, clusters, dim, real);
    add(p, &pass->dwords, pass->training ? words : 0, dim, real);
    add(p, &pass->dfrequent_words, pass->training ? frequent : 0, dim, real);
    add(p, &pass->dcluster_words, pass->training ? clusters : 0, dim, real);
}

/* What a backward pass needs; `pooled` vectors go into the classifier. */
static void plan_gradients(mgk_pass *pass, plan *p, size_t pooled)
{
    const mgk_config *config = &pass->model->config;
    const size_t rows = pass->training ? pass->capacity_rows : 0, dim = (size_t)config->dim;
    const size_t real = pass->model->device->real_size;
    add(p, &pass->dstream, rows, dim, real);
    add(p, &pass->dbranch, rows, dim, real);
    add(p, &pass->dother, rows, dim, real);
    for (int i = 0; i < 2; i++)
        add(p, &pass->dkept[i],
            pass->training && mgk_model_reads_below(pass->model) ? pass->kept_reals : 0, 1, real);
    add(p, &pass->dqkv, rows, pass->qkv_width, real);
    add(p, &pass->dkeys, rows, pass->shifted, real);
    add(p, &pass->dattended, rows, pass->width, real);
    add(p, &pass->dhidden, rows, (size_t)config->hidden, real);
    add(p, &pass->dpooled, pass->training ? pooled : 0, 4 * dim, real);
    add(p, &pass->prior_sums, pass->training ? mgk_pass_prior_numbers(pass) : 0, 1,
        sizeof(*pass->prior_sums));
}

static void plan_rest(mgk_pass *pass, plan *p)
{
    const mgk_config *config = &pass->model->config;
    const size_t rows = pass->capacity_rows, dim = (size_t)config->dim;
    const size_t sequences = pass->capacity_sequences, real = pass->model->device->real_size;
    const bool lm = config->family == MGK_FAMILY_LM, classifies = !lm && config->classes > 0;
    const bool has_final = mgk_config_has_final_norm(config);
    const size_t pooled = classifies ? sequences : 0;
    const size_t normed = has_final || config->embedding_norm || config->memory > 0 ? rows : 0;
    const size_t hidden = (size_t)config->classifier;
    const size_t heard =
        config->sound.bands > 0 ? sequences * mgk_sound_rows((int)pass->capacity_tokens) : 0;
    plan_positions(pass, p);
    add(p, &pass->narrow, config->embedding != config->dim ? rows : 0, (size_t)config->embedding,
        real);
    add(p, &pass->embedded, rows, dim, real);
    add(p, &pass->branch, rows, dim, real);
    add(p, &pass->final, has_final ? rows : 0, (size_t)mgk_config_hidden_width(config), real);
    add(p, &pass->mean, normed, 1, real);
    add(p, &pass->deviation, normed, 1, real);
    add(p, &pass->pooled, pooled, dim, real);
    add(p, &pass->features, config->dual ? pooled : 0, 2 * dim, real);
    add(p, &pass->classified, pooled, hidden, real);
    add(p, &pass->rectified, pooled, hidden > dim ? hidden : dim, real);
    pass->logit_capacity = logit_capacity(pass);
    add(p, &pass->logits, pass->logit_capacity, (size_t)(lm ? config->vocabulary : config->classes),
        real);
    add(p, &pass->scratch, pass->scratch_reals, 1, real);
    plan_words(pass, p);
    plan_votes(pass, p);
    plan_gradients(pass, p, pooled);
    add(p, &pass->ids, rows, 1, sizeof(int32_t));
    add(p, &pass->input, sequences, mgk_pass_input_size(config), real);
    add(p, &pass->convolved, heard, dim, real);
    add(p, &pass->lengths, sequences, 1, sizeof(int32_t));
    add(p, &pass->pooled_tokens, pooled, 1, sizeof(int32_t));
    add(p, &pass->targets, lm ? rows : sequences, 1, sizeof(int32_t));
    add(p, &pass->draw, 1, 1, sizeof(mgk_draw));
}

static void plan_cross(mgk_pass *pass, plan *p)
{
    const mgk_config *config = &pass->model->config;
    const size_t real = pass->model->device->real_size, dim = (size_t)config->dim;
    const size_t sequences = config->memory > 0 ? pass->capacity_sequences : 0;
    const size_t rows = config->memory > 0 ? pass->capacity_rows : 0;
    add(p, &pass->cross.lengths, sequences, 1, sizeof(int32_t));
    add(p, &pass->cross.query, rows, pass->width, real);
    add(p, &pass->cross.keys, sequences * pass->capacity_memory, 2 * pass->width, real);
    add(p, &pass->cross.normed, rows, dim, real);
    add(p, &pass->cross.sum, rows, dim, real);
}

static void plan_routing(mgk_pass *pass, plan *p)
{
    const mgk_config *config = &pass->model->config;
    const size_t rows = config->experts > 0 ? pass->capacity_rows : 0;
    const size_t used = (size_t)config->experts_used, real = pass->model->device->real_size;
    const size_t blocks = used + (config->experts_shared > 0 ? 1 : 0);
    add(p, &pass->routing.scores, rows, (size_t)config->experts, real);
    add(p, &pass->routing.chosen, rows, used, sizeof(int32_t));
    add(p, &pass->routing.order, rows, blocks, sizeof(int32_t));
    add(p, &pass->routing.weights, rows, blocks, real);
    add(p, &pass->routing.gathered, rows, (size_t)config->dim, real);
}

/* Bytes of the plan, checked for overflow. */
static mgk_status plan_bytes(const plan *p, size_t *total)
{
    *total = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t bytes;
        TRY(mgk_multiply(p->list[i].rows, p->list[i].columns, &bytes));
        TRY(mgk_multiply(bytes, p->list[i].element, &bytes));
        if (bytes > SIZE_MAX / 4 - *total)
            return mgk_fail(STATUS_MEMORY, "the activations of such a batch do not fit in memory");
        *total += (bytes + BOUNDARY - 1) / BOUNDARY * BOUNDARY;
    }
    return STATUS_OK;
}

static void carve(const plan *p, void *arrays)
{
    size_t offset = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t bytes = p->list[i].rows * p->list[i].columns * p->list[i].element;
        void *address = bytes ? (unsigned char *)arrays + offset : NULL;
        memcpy(p->list[i].address, &address, sizeof(address));
        offset += (bytes + BOUNDARY - 1) / BOUNDARY * BOUNDARY;
    }
}

/* The first part of a model that runs only on devices with all_parts; NULL: none. */
static const char *special_part(const mgk_config *config, int tokens)
{
    if (config->memory > 0)
        return "attention to the output of an encoder";
    if (config->window > 0 && config->window < tokens)
        return "a sliding window";
    if (config->attention_cap > 0 || config->logit_cap > 0)
        return "a cap of its scores or logits";
    if (config->positions == MGK_POSITIONS_ALIBI)
        return "ALiBi";
    if (config->buckets > 0)
        return "a bias by distance";
    if (config->relative > 0)
        return "scores of content and distance";
    if (config->query_norm != MGK_QUERY_NORM_NONE)
        return "norms of its queries and keys";
    if (config->norm == MGK_NORMALIZATION_LAYER && config->norm_parameters != MGK_NORM_ALL)
        return "norms without gain or offset";
    if (config->unit_features)
        return "features divided by their sum";
    if (config->cutoff_divisor > 0)
        return "embeddings of several widths";
    if (config->aggregate == MGK_AGGREGATION_CAPSULES)
        return "capsules of its heads";
    if (config->experts > 0)
        return "a mixture of experts";
    return NULL;
}

static mgk_status check_kinds(const mgk_model *model)
{
    for (int l = 0; model->device && l < model->config.layers; l++) {
        const mgk_attention_kind *kind = mgk_model_kind(model, l);
        if (!mgk_attention_runs_on(kind, model->device))
            return mgk_fail(STATUS_UNSUPPORTED, "%s does not run attention \"%s\"; the CPU does",
                            model->device->name, kind->name);
    }
    return STATUS_OK;
}

static mgk_status check_device(const mgk_model *model, int tokens)
{
    const char *part = special_part(&model->config, tokens);
    TRY(check_kinds(model));
    if (!model->device || model->device->all_parts || !part)
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED, "%s does not run a model with %s; the CPU does",
                    model->device->name, part);
}

/* Adds what the kinds of the layers need to the sizes. */
static void size_kinds(mgk_pass *pass)
{
    const mgk_model *model = pass->model;
    pass->qkv_width = 0;
    pass->kept_reals = pass->scratch_reals = 0;
    for (int l = 0; l < model->config.layers; l++) {
        const mgk_layer_offsets *layer = &model->parameters.layers[l];
        const mgk_attention_size size =
            mgk_attention_size_of(&model->config, l, (int)pass->capacity_tokens);
        const mgk_kind_memory memory =
            layer->kind->methods->memory(&size, (int)pass->capacity_sequences, pass->training);
        pass->qkv_width = layer->rows > pass->qkv_width ? layer->rows : pass->qkv_width;
        pass->kept_reals = memory.kept > pass->kept_reals ? memory.kept : pass->kept_reals;
        pass->scratch_reals =
            memory.scratch > pass->scratch_reals ? memory.scratch : pass->scratch_reals;
    }
}

mgk_status mgk_pass_set_sizes(mgk_pass *pass, mgk_model *model, int sequences, int tokens,
                              int memory_tokens)
{
    const mgk_config *config = &model->config;
    TRY(check_device(model, tokens));
    if (sequences < 1 || tokens < 1 || tokens > config->length)
        return mgk_fail(STATUS_SHAPE,
                        "a batch of %d sequences of %d tokens: expected at least 1 "
                        "of 1 to %d, the model's positions",
                        sequences, tokens, config->length);
    if (!mgk_config_reads_tokens(config) && tokens != config->length)
        return mgk_fail(STATUS_SHAPE, "%d tokens of a %s: expected %d", tokens,
                        config->picture.patch > 0 ? "picture" : "recording", config->length);
    if (config->memory > 0 ? memory_tokens < 1 : memory_tokens != 0)
        return mgk_fail(STATUS_SHAPE, "a memory of %d tokens: expected %s", memory_tokens,
                        config->memory > 0 ? "the tokens that an encoder read"
                                           : "0 of a model without an encoder");
    if (config->dual && sequences % 2)
        return mgk_fail(STATUS_SHAPE, "%d sequences are not pairs of documents", sequences);
    pass->model = model;
    pass->capacity_sequences = (size_t)sequences;
    pass->capacity_tokens = (size_t)tokens;
    pass->capacity_rows = (size_t)sequences * (size_t)tokens;
    pass->capacity_memory = (size_t)memory_tokens;
    pass->width = (size_t)config->heads * (size_t)config->head_dim;
    pass->shifted = mgk_model_shifts_keys(model) ? (size_t)config->mixtures * pass->width : 0;
    pass->turning = config->positions == MGK_POSITIONS_ROTARY || config->key_heads != config->heads;
    /* Kinds have a few maps of all pairs, of tokens and features, or of tokens and all keys, times
     * rounds of hashing. */
    const double rows = (double)sequences * config->heads * tokens, width = (double)pass->width;
    const double columns = fmax(fmax(tokens, width), MGK_MOST_FEATURES);
    if (rows * columns > 0x1p48)
        return mgk_fail(STATUS_MEMORY, "the activations of such a batch do not fit in memory");
    size_kinds(pass);
    return STATUS_OK;
}

/* Without training all layers share one set of arrays. */
static size_t kept_layers(const mgk_pass *pass)
{
    return pass->training ? (size_t)pass->model->config.layers : 1;
}

/* Lists the arrays of a pass whose sizes are set; release p->list with mgk_free. */
static mgk_status plan_arrays(mgk_pass *pass, plan *p, size_t *bytes)
{
    size_t layers = (size_t)pass->model->config.layers, kept = kept_layers(pass);
    TRY(mgk_alloc(layers, sizeof(*pass->layers), &pass->layers));
    for (size_t l = 0; l < kept; l++)
        plan_layer(pass, &pass->layers[l], p);
    plan_rest(pass, p);
    plan_cross(pass, p);
    plan_routing(pass, p);
    return p->status == STATUS_OK ? plan_bytes(p, bytes) : p->status;
}

static mgk_status allocate(mgk_pass *pass)
{
    mgk_device *device = pass->model->device;
    size_t bytes;
    mgk_status status;
    plan p = {0};
    CHECK(plan_arrays(pass, &p, &bytes));
    CHECK(device->op->allocate(device, bytes, &pass->arrays));
    carve(&p, pass->arrays);
    for (size_t l = kept_layers(pass); l < (size_t)pass->model->config.layers; l++)
        pass->layers[l] = pass->layers[0];
out:
    mgk_free(p.list);
    return status;
}

mgk_status mgk_pass_bytes(mgk_model *model, int sequences, int tokens, int memory_tokens,
                          bool training, size_t *bytes)
{
    mgk_status status;
    mgk_pass pass = {.training = training};
    plan p = {0};
    *bytes = 0;
    CHECK(mgk_pass_set_sizes(&pass, model, sequences, tokens, memory_tokens));
    CHECK(plan_arrays(&pass, &p, bytes));
out:
    mgk_free(p.list);
    mgk_free(pass.layers);
    return status;
}

mgk_status mgk_number_heads(mgk_device *device, size_t heads, int32_t **out)
{
    int32_t *numbers;
    TRY(mgk_alloc(heads, sizeof(*numbers), &numbers));
    for (size_t h = 0; h < heads; h++)
        numbers[h] = (int32_t)h;
    mgk_status status = device->op->allocate(device, heads * sizeof(*numbers), (void **)out);
    if (status == STATUS_OK)
        status = device->op->upload(device, *out, numbers, heads * sizeof(*numbers));
    mgk_free(numbers);
    return status;
}

/* Parts of other software's models, which no backward pass has. */
static bool is_foreign(const mgk_config *config)
{
    return config->branch_norm || config->parallel != MGK_PARALLEL_NO ||
           config->norm_parameters != MGK_NORM_ALL || config->query_norm != MGK_QUERY_NORM_NONE ||
           config->attention_output_bias != MGK_OUTPUT_BIAS_SAME || config->attention_scale > 0 ||
           config->attention_cap > 0 || config->window > 0 || config->logit_cap > 0 ||
           config->logit_scale != 1 || mgk_config_has_distances(config) || config->relative > 0 ||
           config->layer_groups != config->layers || config->embedding != config->dim ||
           config->positions_skip_padding || !config->first_norm || !config->final_norm ||
           config->memory > 0 || config->raw_queries || config->unit_features ||
           config->reversible || config->mask_token > 0;
}

static bool kinds_have_gradients(const mgk_model *model)
{
    bool have = true;
    for (int l = 0; l < model->config.layers; l++)
        have &= mgk_model_kind(model, l)->methods->backward != NULL;
    return have;
}

bool mgk_model_has_gradients(const mgk_model *model)
{
    const mgk_config *config = &model->config;
    return !is_foreign(config) && mgk_config_reads_tokens(config) &&
           config->norm == MGK_NORMALIZATION_LAYER && !config->gated && config->tied &&
           !config->embedding_norm && config->output_bias && config->feed_forward_bias &&
           config->key_heads == config->heads && config->positions != MGK_POSITIONS_ROTARY &&
           kinds_have_gradients(model) && (config->family == MGK_FAMILY_LM || config->classes > 0);
}

mgk_status mgk_pass_check_dropout(const mgk_model *model)
{
    if (model->config.dropout_attention == 0)
        return STATUS_OK;
    if (!model->device->all_parts)
        return mgk_fail(STATUS_UNSUPPORTED, "%s does not run `dropout_attention`; the CPU does",
                        model->device->name);
    for (int l = 0; l < model->config.layers; l++)
        if (!mgk_attention_drops(mgk_model_kind(model, l)))
            return mgk_fail(
                STATUS_UNSUPPORTED,
                "`dropout_attention`: attention \"%s\" has none; softmax, mgk, smgk and "
                "others that weigh values entry by entry do",
                mgk_model_kind(model, l)->name);
    return STATUS_OK;
}

mgk_status mgk_pass_create(mgk_model *model, int sequences, int tokens, int memory_tokens,
                           bool training, mgk_pass **out)
{
    mgk_status status;
    mgk_pass *pass = NULL;
    *out = NULL;
    if (training && !mgk_model_has_gradients(model))
        return mgk_fail(STATUS_UNSUPPORTED, "models of this architecture can be run, not trained");
    if (training && model->config.cutoff_count > 0 && !model->device->all_parts)
        return mgk_fail(STATUS_UNSUPPORTED, "%s does not train an adaptive softmax; the CPU does",
                        model->device->name);
    CHECK(mgk_alloc(1, sizeof(*pass), &pass));
    pass->training = training;
    CHECK(mgk_pass_set_sizes(pass, model, sequences, tokens, memory_tokens));
    CHECK(allocate(pass));
    if (pass->far_angles)
        CHECK(mgk_alloc((size_t)sequences, sizeof(*pass->far), &pass->far));
    if (model->config.mask_token > 0)
        CHECK(mgk_alloc((size_t)sequences, sizeof(*pass->unmasked), &pass->unmasked));
    CHECK(mgk_pass_upload_positions(pass));
    *out = pass;
    pass = NULL;
out:
    mgk_pass_free(pass);
    return status;
}

void mgk_pass_free(mgk_pass *pass)
{
    if (!pass)
        return;
    if (pass->arrays)
        pass->model->device->op->release(pass->model->device, pass->arrays);
    mgk_regulariser_free(pass->regulariser);
    mgk_pass_release_patterns(pass);
    mgk_free(pass->patterns);
    mgk_free(pass->layers);
    mgk_free(pass->far);
    mgk_free(pass->unmasked);
    mgk_free(pass);
}

size_t mgk_pass_rows(const mgk_pass *pass)
{
    return (size_t)pass->sequences * (size_t)pass->tokens;
}

mgk_status mgk_pass_pack(const mgk_pass *pass, size_t width, void *x)
{
    mgk_device *device = pass->model->device;
    return pass->packed ? device->op->pack_tokens(device, (size_t)pass->sequences,
                                                  (size_t)pass->tokens, width, pass->lengths, x)
                        : STATUS_OK;
}

mgk_status mgk_pass_unpack(const mgk_pass *pass, size_t width, void *x)
{
    mgk_device *device = pass->model->device;
    return pass->packed ? device->op->unpack_tokens(device, (size_t)pass->sequences,
                                                    (size_t)pass->tokens, width, pass->lengths, x)
                        : STATUS_OK;
}

void mgk_pass_freeze(mgk_pass *pass)
{
    pass->frozen = true;
}
