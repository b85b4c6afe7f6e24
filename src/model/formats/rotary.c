/* SPDX-License-Identifier: MIT */
/* Written against transformers 5.24; older files have the keys of earlier versions. */
#include "model/formats/rotary.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 1 << 20 };

/* The objects with rotary settings: of all layers or of the global ones, and of local ones. */
typedef struct objects {
    const cJSON *all, *local; /* NULL: none */
    const cJSON *around;      /* the object that has both */
    bool nested;              /* an object for each type of layers */
} objects;

/* transformers takes an object without members for none; *out is NULL then, too. */
static mgk_status find_object(const mgk_checkpoint *checkpoint, const char *key, const cJSON **out)
{
    TRY(mgk_checkpoint_object(checkpoint, key, out));
    if (*out && !(*out)->child)
        *out = NULL;
    return STATUS_OK;
}

/*
 * Without local layers settings of all may stand for themselves. With local layers there is an
 * object for each type of layers, and transformers ignores settings outside of these.
 */
static mgk_status find_objects(const mgk_checkpoint *checkpoint, bool local, objects *out)
{
    const cJSON *newer, *older, *global;
    TRY(find_object(checkpoint, "rope_parameters", &newer));
    TRY(find_object(checkpoint, "rope_scaling", &older));
    if (local && newer && older)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: \"rope_parameters\" and \"rope_scaling\": expected one of them",
                        checkpoint->config_path);
    *out = (objects){.all = newer, .around = newer, .nested = local};
    global = cJSON_GetObjectItemCaseSensitive(newer, "full_attention");
    if (local || cJSON_IsObject(global)) {
        out->all = global;
        out->local = cJSON_GetObjectItemCaseSensitive(newer, "sliding_attention");
        out->nested = local || !older;
    }
    if (older) /* transformers prefers it if both exist */
        out->all = older;
    return STATUS_OK;
}

/* A number that may be in an object, else in config.json itself, else is *out. */
static mgk_status read_real(const mgk_checkpoint *checkpoint, const cJSON *object, const char *key,
                            double *out)
{
    TRY(mgk_checkpoint_real(checkpoint, key, *out, out));
    return mgk_checkpoint_real_of(checkpoint, object, key, out);
}

/* Whether the family calls its positions in pictures "mrope". */
static bool has_directions(const mgk_checkpoint *checkpoint)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "model_type");
    const char *type = cJSON_GetStringValue(item);
    return type && (strcmp(type, "qwen2_vl_text") == 0 || strcmp(type, "qwen2_5_vl_text") == 0);
}

static mgk_status read_type(const mgk_checkpoint *checkpoint, const cJSON *object,
                            mgk_rotary_scaling *out)
{
    static const struct {
        const char *name;
        mgk_rotary_scaling scaling;
    } rows[] = {
        {"default", MGK_ROTARY_PLAIN},
        {"dynamic", MGK_ROTARY_PLAIN}, /* scales beyond max_position_embeddings alone */
        {"linear", MGK_ROTARY_LINEAR},
        {"llama3", MGK_ROTARY_LLAMA3},
        {"yarn", MGK_ROTARY_YARN},
        {"longrope", MGK_ROTARY_LONG},
        {"su", MGK_ROTARY_LONG},
        {"proportional", MGK_ROTARY_PROPORTIONAL},
    };
    const char *name = "default";
    TRY(mgk_checkpoint_string_of(checkpoint, object, "type", &name));
    TRY(mgk_checkpoint_string_of(checkpoint, object, "rope_type", &name));
    if (strcmp(name, "mrope") == 0 && has_directions(checkpoint))
        name = "default"; /* a text has the same positions in all three directions */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0) {
            *out = rows[i].scaling;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_UNSUPPORTED, "%s: rope_type \"%.64s\" is not known",
                    checkpoint->config_path, name);
}

/* The factor; without one, YaRN and LongRoPE take the ratio of the lengths. */
static mgk_status read_factor(const mgk_checkpoint *checkpoint, const cJSON *object,
                              mgk_config *config)
{
    const bool ratio =
        config->rotary_scaling == MGK_ROTARY_YARN || config->rotary_scaling == MGK_ROTARY_LONG;
    double factor = config->rotary_scaling == MGK_ROTARY_PROPORTIONAL ? 1 : (double)NAN;
    if (ratio)
        factor = (double)config->length / config->rotary_original;
    TRY(mgk_checkpoint_real_of(checkpoint, object, "factor", &factor));
    if (isnan(factor))
        return mgk_fail(STATUS_FORMAT, "%s: a rope_type without a \"factor\"",
                        checkpoint->config_path);
    config->rotary_factor = factor;
    return STATUS_OK;
}

static mgk_status read_original(const mgk_checkpoint *checkpoint, const objects *found,
                                mgk_config *config)
{
    static const char key[] = "original_max_position_embeddings";
    double original = config->length;
    TRY(mgk_checkpoint_real_of(checkpoint, found->all, key, &original));
    if (!found->nested) /* that of config.json goes first */
        TRY(mgk_checkpoint_real(checkpoint, key, original, &original));
    if (original != config->length && !(original >= 1 && original <= LONGEST))
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %g, expected 1 to %d",
                        checkpoint->config_path, key, original, LONGEST);
    config->rotary_original =
        original >= 1 ? (int)original : 1; /* a wrong length is refused later */
    return STATUS_OK;
}

static double yarn_amplitude(double factor, double scale)
{
    return factor > 1 ? 0.1 * scale * log(factor) + 1 : 1;
}

/* transformers looks for it in the object around those of types of layers, and not in these. */
static mgk_status read_truncate(const mgk_checkpoint *checkpoint, const objects *found,
                                mgk_config *config)
{
    static const char key[] = "truncate";
    config->rotary_whole = !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(found->all, key));
    if (found->nested && (!config->rotary_whole ||
                          cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(found->around, key))))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: \"%s\" is false, expected true in settings of types of layers",
                        checkpoint->config_path, key);
    return STATUS_OK;
}

/* YaRN: 0.1 ln factor + 1, or a quotient of two such numbers. */
static mgk_status read_yarn(const mgk_checkpoint *checkpoint, const objects *found,
                            mgk_config *config)
{
    const cJSON *object = found->all;
    double scale = 0, all = 0;
    config->rotary_high = 32;
    TRY(read_truncate(checkpoint, found, config));
    TRY(mgk_checkpoint_real_of(checkpoint, object, "beta_slow", &config->rotary_low));
    TRY(mgk_checkpoint_real_of(checkpoint, object, "beta_fast", &config->rotary_high));
    TRY(mgk_checkpoint_real_of(checkpoint, object, "mscale", &scale));
    TRY(mgk_checkpoint_real_of(checkpoint, object, "mscale_all_dim", &all));
    config->rotary_amplitude = yarn_amplitude(config->rotary_factor, 1);
    if (scale != 0 && all != 0)
        config->rotary_amplitude = yarn_amplitude(config->rotary_factor, scale) /
                                   yarn_amplitude(config->rotary_factor, all);
    return mgk_checkpoint_real_of(checkpoint, object, "attention_factor",
                                  &config->rotary_amplitude);
}

static mgk_status read_factors(const mgk_checkpoint *checkpoint, const cJSON *object,
                               const char *key, int count, double *out)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(object, key), *item;
    int i = 0;
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != count || count > MGK_MAX_FREQUENCIES)
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is not an array of %d numbers, %d at most",
                        checkpoint->config_path, key, count, MGK_MAX_FREQUENCIES);
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item))
            return mgk_fail(STATUS_FORMAT, "%s: \"%s\"[%d] is not a number",
                            checkpoint->config_path, key, i);
        out[i++] = item->valuedouble;
    }
    return STATUS_OK;
}

/* LongRoPE: √(1 + ln factor / ln original). */
static mgk_status read_long(const mgk_checkpoint *checkpoint, const cJSON *object,
                            mgk_config *config)
{
    const int count = config->rotary_dim / 2;
    const double factor = config->rotary_factor;
    TRY(read_factors(checkpoint, object, "short_factor", count, config->rotary_short));
    TRY(read_factors(checkpoint, object, "long_factor", count, config->rotary_long));
    config->rotary_amplitude =
        factor > 1 ? sqrt(1 + log(factor) / log(config->rotary_original)) : 1;
    return mgk_checkpoint_real_of(checkpoint, object, "attention_factor",
                                  &config->rotary_amplitude);
}

/* A number that a rope_type needs; transformers has no default for it. */
static mgk_status need_real(const mgk_checkpoint *checkpoint, const cJSON *object, const char *key)
{
    return cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(object, key))
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "%s: a rope_type without a \"%s\"",
                          checkpoint->config_path, key);
}

static mgk_status read_scaling(const mgk_checkpoint *checkpoint, const objects *found,
                               mgk_config *config)
{
    const cJSON *object = found->all;
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "rope_type"));
    TRY(read_type(checkpoint, object, &config->rotary_scaling));
    TRY(read_original(checkpoint, found, config));
    if (name && strcmp(name, "dynamic") == 0)
        TRY(need_real(checkpoint, object, "factor"));
    if (config->rotary_scaling == MGK_ROTARY_PLAIN)
        return STATUS_OK;
    if (config->rotary_scaling == MGK_ROTARY_LLAMA3) {
        TRY(need_real(checkpoint, object, "low_freq_factor"));
        TRY(need_real(checkpoint, object, "high_freq_factor"));
    }
    TRY(read_factor(checkpoint, object, config));
    TRY(mgk_checkpoint_real_of(checkpoint, object, "low_freq_factor", &config->rotary_low));
    TRY(mgk_checkpoint_real_of(checkpoint, object, "high_freq_factor", &config->rotary_high));
    if (config->rotary_scaling == MGK_ROTARY_YARN)
        return read_yarn(checkpoint, found, config);
    return config->rotary_scaling == MGK_ROTARY_LONG ? read_long(checkpoint, object, config)
                                                     : STATUS_OK;
}

/* Local layers have a base of their own, and no scaling. */
static mgk_status read_local(const mgk_checkpoint *checkpoint, const cJSON *object,
                             mgk_config *config)
{
    mgk_rotary_scaling scaling;
    TRY(read_type(checkpoint, object, &scaling));
    if (scaling != MGK_ROTARY_PLAIN)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: a rope_type of local layers is not known",
                        checkpoint->config_path);
    return mgk_checkpoint_real_of(checkpoint, object, "rope_theta", &config->local_base);
}

/* The part of a head that is turned; `usual` is 0 where the family turns whole heads. */
static mgk_status read_part(const mgk_checkpoint *checkpoint, const cJSON *object, double usual,
                            double *out)
{
    static const char key[] = "partial_rotary_factor";
    mgk_rotary_scaling scaling;
    *out = 1;
    TRY(read_type(checkpoint, object, &scaling));
    if (usual > 0 && cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(checkpoint->config, key)))
        return mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" is null, expected a number",
                        checkpoint->config_path, key);
    if (usual > 0) /* rotary_pct: gpt_neox before 2026 */
        TRY(mgk_checkpoint_real(checkpoint, "rotary_pct", usual, out));
    TRY(read_real(checkpoint, object, key, out));
    if (!(*out > 0 && *out <= 1))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: partial_rotary_factor %g: expected more than 0, at most 1",
                        checkpoint->config_path, *out);
    if (usual == 0 && *out != 1 && scaling != MGK_ROTARY_PROPORTIONAL)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: partial_rotary_factor %g: this family turns whole heads, expected 1",
                        checkpoint->config_path, *out);
    return STATUS_OK;
}

mgk_status mgk_rotary_configure(const mgk_checkpoint *checkpoint, double usual, mgk_config *config)
{
    objects found = {0};
    double part;
    TRY(find_objects(checkpoint, config->local_base != 0, &found));
    TRY(read_real(checkpoint, found.all, "rope_theta", &config->rotary_base));
    TRY(read_part(checkpoint, found.all, usual, &part));
    if (config->rotary_dim == 0 && config->head_dim > 0)
        config->rotary_dim = (int)(config->head_dim * part);
    TRY(read_scaling(checkpoint, &found, config));
    if (config->rotary_scaling == MGK_ROTARY_PROPORTIONAL)
        config->rotary_dim = (int)(config->head_dim * part / 2) * 2;
    if (config->rotary_dim == 0 && config->head_dim > 0)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: partial_rotary_factor %g turns none of the %d numbers of a head",
                        checkpoint->config_path, part, config->head_dim);
    return read_local(checkpoint, found.local, config);
}

void mgk_rotary_order(const mgk_config *config, bool interleaved, mgk_recipe *recipe)
{
    const bool whole =
        config->rotary_dim == config->head_dim || config->rotary_scaling == MGK_ROTARY_PROPORTIONAL;
    if (config->positions != MGK_POSITIONS_ROTARY || (whole && !interleaved))
        return;
    recipe->head = (size_t)config->head_dim;
    recipe->turned = (size_t)config->rotary_dim;
    recipe->interleaved = interleaved;
}
