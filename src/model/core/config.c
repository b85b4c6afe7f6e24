#include "model/core/config.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "model/core/config_fields.h"

enum { MAX_KEY_WIDTH = 1 << 24 };

void mgk_config_defaults(mgk_family family, mgk_config *config)
{
    static const mgk_config encoder = {
        .family = MGK_FAMILY_ENCODER,
        .attention = "mgk",
        .task = "text",
        .layers = 2,
        .heads = 2,
        .dim = 64,
        .head_dim = 32,
        .hidden = 128,
        .length = 1024,
        .vocabulary = 256,
        .classes = 2,
        .mixtures = 2,
        .norm_epsilon = 1e-5,
        .dropout = 0.1,
        .attention_bias = true,
        .pre_norm = true,
        .activation = MGK_ACTIVATION_GELU,
        .positions = MGK_POSITIONS_LEARNED,
    };
    static const mgk_config lm = {
        .family = MGK_FAMILY_LM,
        .attention = "mgk",
        .task = "lm",
        .layers = 16,
        .heads = 8,
        .dim = 128,
        .head_dim = 16,
        .hidden = 2048,
        .length = 256,
        .vocabulary = 256,
        .mixtures = 2,
        .norm_epsilon = 1e-5,
        .dropout = 0.1,
        .causal = true,
        .activation = MGK_ACTIVATION_RELU,
        .positions = MGK_POSITIONS_SINUSOIDAL,
    };
    *config = family == MGK_FAMILY_LM ? lm : encoder;
    /* What both families leave to other people's models. */
    config->row_normalized = config->feed_forward_bias = true;
    config->tied = config->output_bias = true;
    config->rotary_base = 10000;
    config->rotary_factor = config->rotary_low = 1;
    config->rotary_high = 4;
    config->rotary_original = 8192;
    config->padding = -1;
}

mgk_status mgk_config_check_name(const char *key, const char *name)
{
    size_t length = strnlen(name, MGK_NAME_SIZE);
    if (length == 0 || length == MGK_NAME_SIZE ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") < length)
        return mgk_fail(STATUS_USAGE,
                        "%s is not a name of 1 to %d lower-case letters, digits, - and _", key,
                        MGK_NAME_SIZE - 1);
    return STATUS_OK;
}

static int choice_count(const mgk_config_field *f)
{
    int count = 0;
    while (f->choices[count])
        count++;
    return count;
}

static mgk_status check_field(const mgk_config *config, const mgk_config_field *f)
{
    const char *at = (const char *)config + f->offset;
    int integer;
    double real;
    switch (f->kind) {
    case MGK_FIELD_NAME:
        return mgk_config_check_name(f->name, at);
    case MGK_FIELD_CHOICE:
        memcpy(&integer, at, sizeof(integer));
        if (integer < 0 || integer >= choice_count(f))
            return mgk_fail(STATUS_USAGE, "%s is %d, expected less than %d", f->name, integer,
                            choice_count(f));
        return STATUS_OK;
    case MGK_FIELD_SIZE:
        memcpy(&integer, at, sizeof(integer));
        if (integer < f->low || integer > f->high)
            return mgk_fail(STATUS_USAGE, "%s is %d, expected %.0f to %.0f", f->name, integer,
                            f->low, f->high);
        return STATUS_OK;
    case MGK_FIELD_REAL:
        memcpy(&real, at, sizeof(real));
        if (!(real >= f->low && real < f->high))
            return mgk_fail(STATUS_USAGE, "%s is %g, expected at least %g and less than %g",
                            f->name, real, f->low, f->high);
        return STATUS_OK;
    case MGK_FIELD_FLAG:
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* Models that read pictures have as many positions as a picture has tokens. */
static mgk_status check_picture(const mgk_config *config)
{
    const mgk_picture_form *picture = &config->picture;
    if (picture->patch == 0)
        return STATUS_OK;
    if (picture->side == 0 || picture->side % picture->patch)
        return mgk_fail(STATUS_USAGE, "image is %d, expected a multiple of patch, %d",
                        picture->side, picture->patch);
    size_t tokens = mgk_picture_tokens(picture);
    if ((size_t)config->length != tokens || config->vocabulary != config->length)
        return mgk_fail(STATUS_USAGE,
                        "length and vocabulary are %d and %d, expected %zu, a picture's tokens",
                        config->length, config->vocabulary, tokens);
    if (config->family != MGK_FAMILY_ENCODER || config->dual || config->embedding_scale != 1 ||
        config->positions != MGK_POSITIONS_LEARNED)
        return mgk_fail(
            STATUS_USAGE,
            "patch is %d, expected 0 but for an encoder of single pictures with learned "
            "positions and embedding_scale 1",
            picture->patch);
    for (int c = 0; c < MGK_CHANNELS; c++)
        if (!(fabs(picture->mean[c]) <= FLT_MAX && fabs(picture->deviation[c]) >= FLT_MIN &&
              fabs(picture->deviation[c]) <= FLT_MAX))
            return mgk_fail(STATUS_USAGE,
                            "image_mean[%d] and image_std[%d] are %g and %g, expected finite "
                            "numbers, the second not 0",
                            c, c, picture->mean[c], picture->deviation[c]);
    return STATUS_OK;
}

static mgk_status check_family(const mgk_config *config)
{
    if (config->family == MGK_FAMILY_LM && config->classes != 0)
        return mgk_fail(STATUS_USAGE, "classes is %d, expected 0 for a language model",
                        config->classes);
    if (config->family == MGK_FAMILY_LM && !config->causal)
        return mgk_fail(STATUS_USAGE, "causal is false, expected true for a language model");
    if (config->family == MGK_FAMILY_LM && config->dual)
        return mgk_fail(STATUS_USAGE, "dual is true, expected false for a language model");
    return STATUS_OK;
}

/* Sizes that must fit each other. */
static mgk_status check_sizes(const mgk_config *config)
{
    if (config->heads % config->key_heads)
        return mgk_fail(STATUS_USAGE, "key_heads is %d, expected a divisor of heads, %d",
                        config->key_heads, config->heads);
    if (config->positions == MGK_POSITIONS_SINUSOIDAL && config->dim % 2 != 0)
        return mgk_fail(STATUS_USAGE, "dim is %d, expected an even number (sinusoidal positions)",
                        config->dim);
    if (config->positions == MGK_POSITIONS_ROTARY && config->head_dim % 2 != 0)
        return mgk_fail(STATUS_USAGE, "head_dim is %d, expected an even number (rotary positions)",
                        config->head_dim);
    if (config->padding >= config->vocabulary)
        return mgk_fail(STATUS_USAGE, "padding is %d, expected less than %d", config->padding,
                        config->vocabulary);
    if (config->cutoff_count < 0 || config->cutoff_count > MGK_MAX_CUTOFFS)
        return mgk_fail(STATUS_USAGE, "cutoffs has %d entries, expected at most %d",
                        config->cutoff_count, MGK_MAX_CUTOFFS);
    for (int i = 0; i < config->cutoff_count; i++)
        if (config->cutoffs[i] <= (i ? config->cutoffs[i - 1] : 0) ||
            config->cutoffs[i] >= config->vocabulary)
            return mgk_fail(STATUS_USAGE, "cutoffs[%d] is %d, expected ascending numbers below %d",
                            i, config->cutoffs[i], config->vocabulary);
    return STATUS_OK;
}

mgk_status mgk_config_resolve(mgk_config *config)
{
    for (const mgk_config_field *f = mgk_config_fields; f->name; f++)
        TRY(check_field(config, f));
    if (config->key_heads == 0)
        config->key_heads = config->heads;
    if (config->classifier == 0 && config->classes > 0)
        config->classifier = config->dim;
    if (config->embedding_scale == 0)
        config->embedding_scale = config->family == MGK_FAMILY_LM ? sqrt(config->dim) : 1;
    TRY(check_family(config));
    TRY(check_sizes(config));
    TRY(check_picture(config));
    if ((double)config->heads * config->head_dim * config->mixtures > MAX_KEY_WIDTH)
        return mgk_fail(STATUS_USAGE, "heads * head_dim * mixtures is over %d", MAX_KEY_WIDTH);
    for (int r = 0; r < MGK_MAX_MIXTURES; r++) {
        double *variance = &config->variance[r];
        if (r >= config->mixtures)
            *variance = 0;
        else if (*variance == 0)
            *variance = sqrt(config->head_dim);
        else if (!(*variance >= FLT_MIN && *variance <= FLT_MAX))
            return mgk_fail(STATUS_USAGE, "variance[%d] is %g, expected a positive finite number",
                            r, *variance);
    }
    return STATUS_OK;
}
