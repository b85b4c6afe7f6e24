/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints of the paper's Long Range Arena code: pre-norm encoders with learned positions, whose
 * hidden states are summed and divided by the number of positions before the classifier. The
 * tensors determine the design of keys and priors:
 *   mha.W_k2                              a second projection
 *   attn.multi_gauss_kernel.mu            shifts that are subtracted from the keys, in mixtures
 *   attn.mu                               the same in linear attention
 *   attn.pi or multi_gauss_kernel.pi [2]  learned priors; [H, N]: soft-E, of key 1; none: hard-E
 *   attn.E [H, K, N]                      Linformer's maps of positions
 * Linear attention with projected keys has the same tensors as softmax and mixtures: the user must
 * say which it is.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/formats/authors.h"
#include "model/formats/format.h"
#include "model/formats/lra_name.h"

static const mgk_tensor_row rows[] = {
    {.ours = "embedding.token.weight", .theirs = "embeddings.word_embeddings.weight"},
    {.ours = "embedding.position.weight", .theirs = "embeddings.position_embeddings.weight"},
    {.ours = "norm.weight", .theirs = "norm.weight"},
    {.ours = "norm.bias", .theirs = "norm.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row layer_rows[] = {
    {.ours = "norm1.weight", .theirs = "norm1.weight"},
    {.ours = "norm1.bias", .theirs = "norm1.bias"},
    {.ours = "attention.query.weight", .theirs = "mha.W_q.weight"},
    {.ours = "attention.query.bias", .theirs = "mha.W_q.bias"},
    {.ours = "attention.key.weight", .theirs = "mha.W_k.weight"},
    {.ours = "attention.key.bias", .theirs = "mha.W_k.bias"},
    {.ours = "attention.key_shift", .theirs = "mha.attn.multi_gauss_kernel.mu"},
    {.ours = "attention.prior", .theirs = "mha.attn.pi"},
    {.ours = "attention.projection", .theirs = "mha.attn.E"},
    {.ours = "attention.value.weight", .theirs = "mha.W_v.weight"},
    {.ours = "attention.value.bias", .theirs = "mha.W_v.bias"},
    {.ours = "attention.output.weight", .theirs = "mha.ff.weight"},
    {.ours = "attention.output.bias", .theirs = "mha.ff.bias"},
    {.ours = "norm2.weight", .theirs = "norm2.weight"},
    {.ours = "norm2.bias", .theirs = "norm2.bias"},
    {.ours = "feed_forward.in.weight", .theirs = "mlpblock.0.weight"},
    {.ours = "feed_forward.in.bias", .theirs = "mlpblock.0.bias"},
    {.ours = "feed_forward.out.weight", .theirs = "mlpblock.3.weight"},
    {.ours = "feed_forward.out.bias", .theirs = "mlpblock.3.bias"},
    {.ours = NULL},
};

static const mgk_tensor_row classifier_rows[] = {
    {.ours = "classifier.hidden.weight", .theirs = "seq_classifer.mlpblock.0.weight"},
    {.ours = "classifier.hidden.bias", .theirs = "seq_classifer.mlpblock.0.bias"},
    {.ours = "classifier.output.weight", .theirs = "seq_classifer.mlpblock.2.weight"},
    {.ours = "classifier.output.bias", .theirs = "seq_classifer.mlpblock.2.bias"},
    {.ours = NULL},
};

static const char first_query[] = "transformer_0.mha.W_q.weight";
static const char shared_query[] = "transformer.mha.W_q.weight";
static const char classifier[] = "seq_classifer.mlpblock.0.weight";
static const mgk_tensor_names names = {"embeddings.word_embeddings.weight", "transformer_",
                                       layer_rows, rows};
static const mgk_tensor_names classifier_names = {classifier, "", layer_rows, classifier_rows};

/* Tensors that an attention may have besides the required ones. */
static const char *const extras[] = {"mha.W_k2.weight", "mha.W_k2.bias",
                                     "mha.attn.mu",     "mha.attn.multi_gauss_kernel.pi",
                                     "mha.attn.E",      NULL};

static bool matches(const mgk_checkpoint *checkpoint)
{
    char prefix[MGK_TENSOR_NAME];
    return mgk_checkpoint_prefix(checkpoint, first_query, prefix) ||
           mgk_checkpoint_prefix(checkpoint, shared_query, prefix);
}

static bool is_known(const char *name)
{
    if (strcmp(name, "mha.attn.kk_distance") == 0) /* a statistic of training */
        return true;
    for (const mgk_tensor_row *row = layer_rows; row->ours; row++)
        if (strcmp(name, row->theirs) == 0)
            return true;
    for (const char *const *extra = extras; *extra; extra++)
        if (strcmp(name, *extra) == 0)
            return true;
    return false;
}

/* What the name of the file tells, also where its folder was named. */
static mgk_lra_name name_of(const mgk_checkpoint *checkpoint)
{
    size_t count;
    const char *const *files = mgk_tensors_files(checkpoint->tensors, &count);
    return mgk_lra_name_of(count > 0 ? files[0] : checkpoint->path);
}

/* Whether all layers share their weights, whose names have no number then; prefix as
 * mgk_checkpoint_prefix. */
static bool find_prefix(const mgk_checkpoint *checkpoint, char prefix[MGK_TENSOR_NAME])
{
    return !mgk_checkpoint_prefix(checkpoint, first_query, prefix) &&
           mgk_checkpoint_prefix(checkpoint, shared_query, prefix);
}

/* The tensor of a layer. */
static const mgk_tensor_info *tensor_of(const mgk_checkpoint *checkpoint, int layer,
                                        const char *name)
{
    char prefix[MGK_TENSOR_NAME] = "";
    if (find_prefix(checkpoint, prefix))
        return mgk_checkpoint_find(checkpoint, "%.100stransformer.%s", prefix, name);
    return mgk_checkpoint_find(checkpoint, "%.100stransformer_%d.%s", prefix, layer, name);
}

/* Refuses class tokens, Performers and other variants, whose computation differs. */
static mgk_status refuse_unknown(const mgk_checkpoint *checkpoint, const char *prefix)
{
    size_t length = strlen(prefix);
    for (size_t i = 0; i < mgk_tensors_count(checkpoint->tensors); i++) {
        const char *name = mgk_tensors_at(checkpoint->tensors, i)->name;
        if (strncmp(name, prefix, length) != 0)
            continue;
        const char *own = name + length, *rest = strchr(own, '.');
        bool layer = strncmp(own, "transformer", strlen("transformer")) == 0;
        if (strcmp(own, "cls_embed") == 0 || (layer && rest && !is_known(rest + 1)))
            return mgk_fail(
                STATUS_UNSUPPORTED,
                "%s: tensor \"%s\" belongs to a model that is not known; of the "
                "paper's encoders those with softmax, MGK, linear attention and Linformer's are",
                checkpoint->path, name);
    }
    return STATUS_OK;
}

/* The tensors of a layer's keys and priors. */
typedef struct key_tensors {
    const mgk_tensor_info *second, *shift, *linear_shift, *prior, *map; /* NULL: there is none */
} key_tensors;

static key_tensors find_keys(const mgk_checkpoint *checkpoint, int layer)
{
    key_tensors keys = {.second = tensor_of(checkpoint, layer, "mha.W_k2.weight"),
                        .shift = tensor_of(checkpoint, layer, "mha.attn.multi_gauss_kernel.mu"),
                        .linear_shift = tensor_of(checkpoint, layer, "mha.attn.mu"),
                        .prior = tensor_of(checkpoint, layer, "mha.attn.pi"),
                        .map = tensor_of(checkpoint, layer, "mha.attn.E")};
    if (!keys.prior)
        keys.prior = tensor_of(checkpoint, layer, "mha.attn.multi_gauss_kernel.pi");
    return keys;
}

/* Layers whose keys are not shifted stand beside others (mg_layer1, mg_layer2). */
static bool is_plain(key_tensors keys)
{
    return !keys.second && !keys.shift && !keys.linear_shift && !keys.prior && !keys.map;
}

static bool same_kind(key_tensors a, key_tensors b)
{
    return !a.second == !b.second && !a.shift == !b.shift && !a.linear_shift == !b.linear_shift &&
           !a.prior == !b.prior && !a.map == !b.map;
}

/* The keys of the first layer that has several, or of layer 0; checks that all layers have this
 * design, or, beside shifted keys, one key. */
static mgk_status choose_keys(const mgk_checkpoint *checkpoint, int layers, key_tensors *out)
{
    *out = find_keys(checkpoint, 0);
    for (int layer = 1; layer < layers && is_plain(*out); layer++)
        *out = find_keys(checkpoint, layer);
    if (is_plain(*out))
        *out = find_keys(checkpoint, 0);
    for (int layer = 0; layer < layers; layer++) {
        const key_tensors keys = find_keys(checkpoint, layer);
        const bool beside = is_plain(keys) && (out->shift || out->linear_shift);
        if (!same_kind(*out, keys) && !beside)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: layers 0 and %d have different kinds of attention, of which only "
                            "one key beside shifted keys is known",
                            checkpoint->path, layer > 0 ? layer : 1);
    }
    return STATUS_OK;
}

/* A list of kinds, if some layers have one key beside shifted ones. */
static void list_kinds(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    char shifted[MGK_KIND_NAME];
    const char *plain = config->row_normalized ? "softmax" : "linear";
    bool mixed = false;
    if (config->mixtures == 1)
        return;
    mgk_config_kind_name(config, 0, shifted);
    for (int layer = 0; layer < config->layers; layer++)
        mixed |= is_plain(find_keys(checkpoint, layer));
    if (mixed)
        *config->attention = '\0';
    for (int layer = 0; mixed && layer < config->layers; layer++)
        mgk_append(config->attention, MGK_KINDS_SIZE, "%s%s", layer > 0 ? "," : "",
                   is_plain(find_keys(checkpoint, layer)) ? plain : shifted);
}

static mgk_status set_prior(const mgk_checkpoint *checkpoint, const key_tensors *keys,
                            mgk_config *config)
{
    config->prior = MGK_PRIOR_HARD;
    config->prior_shape = MGK_PRIOR_LAYER;
    if (!keys->prior)
        return STATUS_OK;
    config->prior = MGK_PRIOR_LEARNED;
    if (keys->prior->axes == 1)
        return STATUS_OK;
    config->prior = MGK_PRIOR_EM;
    config->prior_shape = MGK_PRIOR_POSITION;
    if (keys->prior->axes != 2)
        return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" has %d axes, expected [2] or [H, N]",
                        checkpoint->path, keys->prior->name, keys->prior->axes);
    return STATUS_OK;
}

/* The kind that the tensors determine, or `wanted` if several kinds have the same tensors. */
static mgk_status set_kind(const mgk_checkpoint *checkpoint, const key_tensors *keys,
                           const char *wanted, mgk_config *config)
{
    const char *usual = keys->linear_shift ? "smlk" : keys->shift ? "smgk" : "softmax";
    const char *linear = keys->linear_shift ? "smlk" : keys->shift ? "" : "linear";
    if (keys->map) {
        usual = "linformer-heads";
        linear = "";
    }
    if (keys->second) {
        usual = "mgk";
        linear = "mlk";
    }
    const bool none = strcmp(usual, "softmax") == 0;
    if (wanted && strcmp(wanted, usual) != 0 && strcmp(wanted, linear) != 0 &&
        !(none && strcmp(wanted, "none") == 0))
        return mgk_fail(STATUS_USAGE, "%s: attention \"%.32s\": expected \"%s\"%s%s%s%s",
                        checkpoint->path, wanted, usual, *linear ? " or \"" : "", linear,
                        *linear ? "\"" : "", none ? " or \"none\"" : "");
    const char *chosen = wanted ? wanted : usual;
    const mgk_lra_name name = name_of(checkpoint);
    if (!wanted && *linear && strcmp(name.kind, "linear") == 0)
        chosen = linear;
    if (!wanted && none && strcmp(name.kind, "none") == 0)
        chosen = "none";
    if (none && strcmp(chosen, "none") == 0) { /* a token attends to itself alone */
        snprintf(config->attention, sizeof(config->attention), "block");
        config->settings.block = 1;
        config->mixtures = 1;
        return STATUS_OK;
    }
    snprintf(config->attention, sizeof(config->attention), "%s", chosen);
    config->mixtures = keys->second || keys->shift || keys->linear_shift ? 2 : 1;
    config->row_normalized = strcmp(chosen, linear) != 0;
    config->mix_keys = !config->row_normalized && config->mixtures > 1;
    return config->mixtures > 1 ? set_prior(checkpoint, keys, config) : STATUS_OK;
}

/* The number of heads that the tensors tell; 0: they do not. */
static size_t heads_of(const key_tensors *keys)
{
    const mgk_tensor_info *shift = keys->shift ? keys->shift : keys->linear_shift;
    return keys->map && keys->map->axes == 3       ? keys->map->shape[0]
           : shift && shift->axes == 3             ? shift->shape[1]
           : keys->prior && keys->prior->axes == 2 ? keys->prior->shape[0]
                                                   : 0;
}

/* From the tensors, else as the user says, else as the file's name does, else the usual. */
static mgk_status set_heads(const mgk_checkpoint *checkpoint, const key_tensors *keys,
                            const mgk_tensor_info *query, int wanted, mgk_config *config)
{
    enum { USUAL = 32 };
    const int named = name_of(checkpoint).heads;
    const size_t told = heads_of(keys), width = query->shape[0];
    int dim = wanted;
    if (told == 0 && wanted == 0 && named > 0 && width % (size_t)named == 0)
        dim = mgk_authors_size(width / (size_t)named);
    return mgk_authors_heads(checkpoint, query, width, told, dim, USUAL, config);
}

/*
 * Whether the table of positions still has the distribution of its start, N(0, 0.02): training with
 * learned positions moves it. A table of n numbers has their standard deviation within 0.02 (1 ± 5
 * / sqrt(2 n)), and their mean within 0.1 / sqrt(n).
 */
static mgk_status is_fresh(const mgk_checkpoint *checkpoint, const char *prefix, bool *fresh)
{
    const mgk_tensor_info *table;
    double *values, sum = 0, squares = 0;
    TRY(mgk_authors_need(checkpoint, 2, &table, "%.100sembeddings.position_embeddings.weight",
                         prefix));
    const double n = (double)table->count;
    TRY(mgk_alloc(table->count, sizeof(*values), &values));
    mgk_status status =
        mgk_tensors_read(checkpoint->tensors, table, 0, table->count, MGK_DTYPE_F64, values);
    for (size_t i = 0; status == STATUS_OK && i < table->count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    mgk_free(values);
    const double spread = sqrt(squares / n) / 0.02;
    *fresh = fabs(spread - 1) <= 5 / sqrt(2 * n) && fabs(sum / n) <= 0.1 / sqrt(n);
    return status;
}

static mgk_status set_classifier(const mgk_checkpoint *checkpoint, mgk_config *config)
{
    const mgk_tensor_info *hidden, *output;
    char prefix[MGK_TENSOR_NAME];
    config->classes = 0;
    if (!mgk_checkpoint_prefix(checkpoint, classifier, prefix))
        return STATUS_OK;
    TRY(mgk_authors_need(checkpoint, 2, &hidden, "%.100s%s", prefix, classifier));
    TRY(mgk_authors_need(checkpoint, 2, &output, "%.100s%s", prefix,
                         "seq_classifer.mlpblock.2.weight"));
    config->classifier = mgk_authors_size(hidden->shape[0]);
    config->classes = mgk_authors_size(output->shape[0]);
    config->dual = hidden->shape[1] == 4 * (size_t)config->dim;
    return STATUS_OK;
}

static mgk_status set_sizes(const mgk_checkpoint *checkpoint, const char *prefix, bool tied,
                            const mgk_tensor_info **query, mgk_config *config)
{
    const mgk_tensor_info *words, *positions, *in;
    TRY(mgk_authors_need(checkpoint, 2, &words, "%.100sembeddings.word_embeddings.weight", prefix));
    TRY(mgk_authors_need(checkpoint, 2, &positions, "%.100sembeddings.position_embeddings.weight",
                         prefix));
    const char *first = tied ? "transformer" : "transformer_0";
    TRY(mgk_authors_need(checkpoint, 2, &in, "%.100s%s.mlpblock.0.weight", prefix, first));
    TRY(mgk_authors_need(checkpoint, 2, query, "%.100s%s.mha.W_q.weight", prefix, first));
    config->vocabulary = mgk_authors_size(words->shape[0]);
    config->dim = mgk_authors_size(words->shape[1]);
    config->length = mgk_authors_size(positions->shape[0]);
    config->hidden = mgk_authors_size(in->shape[0]);
    return STATUS_OK;
}

static const char *const flags[] = {"fixed_pos_emb", "num_layers=", NULL};
enum { FIXED_POSITIONS, LAYERS, FLAGS };

/* Layers that share their weights are as many as the user or the file's name says, else as many as
 * the training code's default. */
static mgk_status set_layers(const mgk_checkpoint *checkpoint, const char *prefix,
                             const mgk_model_options *options, mgk_config *config)
{
    enum { USUAL = 2 };
    char own[MGK_TENSOR_NAME];
    int told[FLAGS];
    const int named = name_of(checkpoint).layers;
    TRY(mgk_authors_flags(checkpoint, options->trained_with, flags, told));
    config->layers = mgk_authors_layers(checkpoint, prefix, "transformer_");
    if (!find_prefix(checkpoint, own)) {
        if (told[LAYERS] > 0 && told[LAYERS] != config->layers)
            return mgk_fail(STATUS_USAGE, "%s: num_layers is %d in its tensors, not %d",
                            checkpoint->path, config->layers, told[LAYERS]);
        return STATUS_OK;
    }
    config->layers = told[LAYERS] > 0 ? told[LAYERS] : named > 0 ? named : USUAL;
    config->layer_groups = 1;
    return STATUS_OK;
}

/* Fixed positions leave the table in the file as it began. */
static mgk_status set_positions(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                                mgk_config *config)
{
    int told[FLAGS];
    TRY(mgk_authors_flags(checkpoint, options->trained_with, flags, told));
    const bool fixed =
        told[FIXED_POSITIONS] || (!options->trained_with && name_of(checkpoint).fixed);
    if (!fixed)
        return STATUS_OK;
    if (config->dim % 2)
        return mgk_fail(STATUS_USAGE, "%s: fixed positions of %d numbers, expected an even number",
                        checkpoint->path, config->dim);
    config->positions = MGK_POSITIONS_SINUSOIDAL;
    config->positions_alternate = true;
    return STATUS_OK;
}

static mgk_status configure(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                            mgk_config *config)
{
    const mgk_tensor_info *query;
    char prefix[MGK_TENSOR_NAME];
    const bool tied = find_prefix(checkpoint, prefix);
    key_tensors keys;
    mgk_config_defaults(MGK_FAMILY_ENCODER, config);
    config->dropout = 0;
    config->pooling = MGK_POOLING_LENGTH;
    config->padding = 0;
    config->padding_masked = true;
    TRY(refuse_unknown(checkpoint, prefix));
    TRY(set_sizes(checkpoint, prefix, tied, &query, config));
    TRY(set_layers(checkpoint, prefix, options, config));
    TRY(choose_keys(checkpoint, config->layers, &keys));
    TRY(set_kind(checkpoint, &keys, options->attention, config));
    list_kinds(checkpoint, config);
    if (keys.map && keys.map->axes == 3)
        config->settings.projection = mgk_authors_size(keys.map->shape[1]);
    TRY(set_heads(checkpoint, &keys, query, options->head_dim, config));
    TRY(set_positions(checkpoint, options, config));
    return set_classifier(checkpoint, config);
}

/* Recipes of keys and priors that are made of several tensors, or stored differently. */
static void mend_recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                        const mgk_parameter *parameter, mgk_recipe *out)
{
    int layer;
    const char *name = mgk_layer_of_name(parameter->name, &layer);
    key_tensors keys = find_keys(checkpoint, layer);
    const mgk_tensor_info *shift = keys.shift ? keys.shift : keys.linear_shift;
    bool key = strncmp(name, "attention.key.", strlen("attention.key.")) == 0;
    if (key && keys.second) {
        const char *which = strrchr(name, '.') + 1;
        const size_t before = strlen(keys.second->name) - strlen("weight");
        snprintf(out->plus, sizeof(out->plus), "%.*s%s", (int)before, keys.second->name, which);
        out->compute = mgk_authors_stack;
    } else if (shift && strcmp(name, "attention.key_shift") == 0) {
        snprintf(out->name, sizeof(out->name), "%s", shift->name);
        out->compute = mgk_authors_negate;
    } else if (keys.prior && strcmp(name, "attention.prior") == 0) {
        snprintf(out->name, sizeof(out->name), "%s", keys.prior->name);
        if (config->prior_shape == MGK_PRIOR_POSITION)
            out->compute = mgk_authors_priors;
    }
}

static mgk_status recipe(const mgk_checkpoint *checkpoint, const mgk_config *config,
                         const mgk_parameter *parameter, mgk_recipe *out)
{
    bool classifies = strncmp(parameter->name, "classifier.", strlen("classifier.")) == 0;
    TRY(mgk_recipe_by_names(checkpoint, classifies ? &classifier_names : &names, parameter, out));
    char prefix[MGK_TENSOR_NAME] = "";
    char *numbered = strstr(out->name, "transformer_0.");
    if (numbered && find_prefix(checkpoint, prefix))
        memmove(numbered + strlen("transformer"), numbered + strlen("transformer_0"),
                strlen(numbered + strlen("transformer_0")) + 1);
    if (!classifies)
        mend_recipe(checkpoint, config, parameter, out);
    return STATUS_OK;
}

static const char *const beside[] = {".attn.pi", ".multi_gauss_kernel.pi", ".kk_distance",
                                     "embeddings.position_embeddings.weight", NULL};

/* Appends a clause to text [size]. */
static void append(char *text, size_t size, const char *clause)
{
    mgk_append(text, size, "%s%s", *text ? "; " : "", clause);
}

/* Other models have the same tensors. */
static mgk_status assumed(const mgk_checkpoint *checkpoint, const mgk_model_options *options,
                          const mgk_config *config, char *text, size_t size)
{
    char prefix[MGK_TENSOR_NAME], clause[160];
    const mgk_lra_name name = name_of(checkpoint);
    const bool tied = find_prefix(checkpoint, prefix);
    key_tensors keys;
    TRY(choose_keys(checkpoint, config->layers, &keys));
    if (name.kind[0] && !options->attention)
        snprintf(text, size, "its name says that attention is %s", name.kind);
    else if (!options->attention && strcmp(config->attention, "softmax") == 0)
        snprintf(text, size,
                 "assumed to be softmax attention: its tensors fit linear attention, too "
                 "(`attention` linear), and none (`attention` none)");
    else if (!options->attention && strcmp(config->attention, "mgk") == 0)
        snprintf(text, size,
                 "assumed to be MGK: its tensors fit linear attention with two keys, too "
                 "(`attention` mlk)");
    if (!options->head_dim && heads_of(&keys) == 0) {
        snprintf(clause, sizeof(clause),
                 name.heads > 0 ? "its name says that it has %d %s"
                                : "assumed to have %d %s of dimension 32, which its tensors do not "
                                  "tell (`head_dim`)",
                 config->heads, MGK_NOUN(config->heads, "head", "heads"));
        append(text, size, clause);
    }
    if (options->trained_with)
        return STATUS_OK;
    if (tied) {
        snprintf(clause, sizeof(clause),
                 name.layers > 0 ? "its name says that it has %d %s, which share their weights"
                                 : "assumed to have %d %s, which share their weights, so that its "
                                   "tensors do not tell (`trained_with` num_layers=L)",
                 config->layers, MGK_NOUN(config->layers, "layer", "layers"));
        append(text, size, clause);
    }
    bool fresh;
    TRY(is_fresh(checkpoint, prefix, &fresh));
    if (name.fixed)
        append(text, size, "its name says that its positions are fixed");
    else if (fresh)
        append(text, size,
               "the table of positions is that of the start, as after training with fixed ones: "
               "then say `trained_with` fixed_pos_emb");
    return STATUS_OK;
}

const mgk_model_format mgk_format_lra = {.name = "encoders of the paper's code",
                                         .root = first_query,
                                         .asks = true,
                                         .trained_with = true,
                                         .assumed = assumed,
                                         .beside = beside,
                                         .matches = matches,
                                         .configure = configure,
                                         .recipe = recipe};
