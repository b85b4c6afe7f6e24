/* SPDX-License-Identifier: MIT */
#include "model/formats/config_keys.h"

#include <string.h>

#include "model/core/config_fields.h"

enum { KEY = 64, TEXT = 512, DEPTH = 4 };

static const struct {
    const char *ours, *theirs; /* a field, and the keys that set it */
} rows[] = {
    {"layers", "num_hidden_layers|n_layer|n_layers|num_layers|encoder_layers|"
               "decoder_layers|num_decoder_layers"},
    {"layer_groups", "num_hidden_groups"},
    {"heads", "num_attention_heads|n_head|n_heads|num_heads|encoder_attention_heads|"
              "decoder_attention_heads"},
    {"key_heads", "num_key_value_heads|num_kv_heads"},
    {"dim", "hidden_size|n_embd|n_embed|d_model|dim"},
    {"embedding", "embedding_size|word_embed_proj_dim"},
    {"head_dim", "head_dim|d_kv|attention_head_size"},
    {"hidden", "intermediate_size|n_inner|ffn_dim|d_ff|hidden_dim|encoder_ffn_dim|"
               "decoder_ffn_dim|feed_forward_size|moe_intermediate_size"},
    {"experts", "num_experts|num_local_experts"},
    {"experts_used", "num_experts_per_tok"},
    {"experts_shared", "shared_expert_intermediate_size"},
    {"length", "max_position_embeddings|n_positions|max_source_positions|"
               "max_target_positions"},
    {"vocabulary", "vocab_size|decoder_vocab_size"},
    {"mask_token", "mask_token_id"},
    {"start", "decoder_start_token_id"},
    {"norm_epsilon", "rms_norm_eps|layer_norm_eps|layer_norm_epsilon|norm_epsilon|norm_eps"},
    {"attention_cap", "attn_logit_softcapping"},
    {"logit_cap", "final_logit_softcapping"},
    {"logit_scale", "logit_scale"},
    {"embedding_scale", "embedding_multiplier"},
    {"attention_scale", "attention_multiplier"},
    {"window", "sliding_window|window_size"},
    {"buckets", "relative_attention_num_buckets"},
    {"bucket_limit", "relative_attention_max_distance"},
    {"rotary_base", "rope_theta|rotary_emb_base"},
    {"local_base", "rope_local_base_freq|local_rope_theta|rope_theta"},
    {"rotary_factor", "factor"},
    {"rotary_low", "low_freq_factor|beta_slow"},
    {"rotary_high", "high_freq_factor|beta_fast"},
    {"rotary_original", "original_max_position_embeddings"},
    {"rotary_amplitude", "attention_factor"},
    {"sound_bands", "num_mel_bins"},
    {"patch", "patch_size"},
    {"image", "image_size"},
};

/* Whether `key` has this value in the object, or in an object within it. */
static bool has_value(const cJSON *object, const char *key, double value, int depth)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsNumber(item) && item->valuedouble == value)
        return true;
    cJSON_ArrayForEach(item, object)
    {
        if (depth > 1 && cJSON_IsObject(item) && has_value(item, key, value, depth - 1))
            return true;
    }
    return false;
}

/* Copies the first of the keys "a|b|c" that has this value; false: none has. */
static bool find_key(const cJSON *object, const char *keys, double value, char key[KEY])
{
    for (const char *at = keys; *at; at += *at == '|') {
        const size_t length = strcspn(at, "|");
        memcpy(key, at, length);
        key[length] = '\0';
        if (has_value(object, key, value, DEPTH))
            return true;
        at += length;
    }
    return false;
}

/* The value of a number among the fields; false: the field is none. */
static bool read_number(const mgk_config *config, const char *ours, double *out)
{
    const mgk_config_field *field = mgk_config_fields;
    int integer;
    while (field->name && strcmp(field->name, ours) != 0)
        field++;
    if (!field->name || (field->kind != MGK_FIELD_SIZE && field->kind != MGK_FIELD_REAL))
        return false;
    const char *at = (const char *)config + field->offset;
    if (field->kind == MGK_FIELD_REAL) {
        memcpy(out, at, sizeof(*out));
        return true;
    }
    memcpy(&integer, at, sizeof(integer));
    *out = integer;
    return true;
}

mgk_status mgk_config_keys_name(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                mgk_status status)
{
    const char *message = mgk_fail_message(), *rest = strstr(message, " is ");
    char text[TEXT], key[KEY];
    double value;
    for (size_t i = 0; rest && i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t length = strlen(rows[i].ours);
        if (length != (size_t)(rest - message) || strncmp(message, rows[i].ours, length) != 0 ||
            !read_number(config, rows[i].ours, &value) ||
            !find_key(checkpoint->config, rows[i].theirs, value, key))
            continue;
        strncpy(text, rest, sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        return mgk_fail(status, "%s: \"%s\"%s", checkpoint->config_path, key, text);
    }
    return mgk_fail_prefix(status, checkpoint->config_path);
}
