/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face's folders with two models: clip and siglip, which map texts and pictures to vectors
 * each by itself, and language models that also see pictures. Without a picture such a language
 * model is one of a known family: vectors of patches stand among those of tokens, and nothing else
 * is between the two models.
 */
#include "model/formats/parts.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

/* The model_type of a folder, and those of its parts. */
typedef struct folder_row {
    const char *type, *text, *vision; /* NULL: this part is not known */
    const char *usual;                /* the part that is taken if nobody chooses; NULL: none */
    bool open; /* the text may be of another family, which its own configuration names */
    bool tied; /* "tie_word_embeddings" of the folder, unless it says it */
    bool flat; /* keys of the text may stand in the folder's own configuration */
} folder_row;

static const folder_row folders[] = {
    {"clip", "clip_text_model", "clip_vision_model", NULL, false, false, false},
    {"siglip", "siglip_text_model", "siglip_vision_model", NULL, false, false, false},
    {"gemma3", "gemma3_text", "siglip_vision_model", "text", false, true, false},
    {"idefics3", "llama", NULL, "text", true, false, false},
    {"internvl", "qwen2", NULL, "text", true, true, false},
    {"llava", "llama", "clip_vision_model", "text", true, false, false},
    {"llava_next", "llama", "clip_vision_model", "text", true, false, false},
    {"llava_onevision", "qwen2", "siglip_vision_model", "text", true, false, false},
    {"mistral3", "mistral", NULL, "text", true, true, false},
    {"qwen2_vl", "qwen2_vl_text", NULL, "text", false, false, true},
    {"qwen2_5_vl", "qwen2_5_vl_text", NULL, "text", false, false, true},
    {"qwen3_vl", "qwen3_vl_text", NULL, "text", false, false, false},
    {"smolvlm", "llama", NULL, "text", true, false, false},
};

/* Sizes that a part's own configuration lacks because they are usual. */
typedef struct usual_size {
    const char *type, *key;
    int value;
} usual_size;

static const usual_size usual_sizes[] = {
    {"clip_text_model", "vocab_size", 49408},
    {"clip_text_model", "hidden_size", 512},
    {"clip_text_model", "intermediate_size", 2048},
    {"clip_text_model", "num_hidden_layers", 12},
    {"clip_text_model", "num_attention_heads", 8},
    {"clip_text_model", "max_position_embeddings", 77},
    {"clip_vision_model", "hidden_size", 768},
    {"clip_vision_model", "intermediate_size", 3072},
    {"clip_vision_model", "num_hidden_layers", 12},
    {"clip_vision_model", "num_attention_heads", 12},
    {"clip_vision_model", "patch_size", 32},
    {"siglip_text_model", "vocab_size", 32000},
    {"siglip_text_model", "hidden_size", 768},
    {"siglip_text_model", "intermediate_size", 3072},
    {"siglip_text_model", "num_hidden_layers", 12},
    {"siglip_text_model", "num_attention_heads", 12},
    {"siglip_text_model", "max_position_embeddings", 64},
    {"siglip_vision_model", "hidden_size", 768},
    {"siglip_vision_model", "intermediate_size", 3072},
    {"siglip_vision_model", "num_hidden_layers", 12},
    {"siglip_vision_model", "num_attention_heads", 12},
    {"siglip_vision_model", "patch_size", 16},
    {"llama", "vocab_size", 32000},
    {"llama", "hidden_size", 4096},
    {"llama", "intermediate_size", 11008},
    {"llama", "num_hidden_layers", 32},
    {"llama", "num_attention_heads", 32},
    {"mistral", "vocab_size", 32000},
    {"mistral", "hidden_size", 4096},
    {"mistral", "intermediate_size", 14336},
    {"mistral", "num_hidden_layers", 32},
    {"mistral", "num_attention_heads", 32},
    {"mistral", "num_key_value_heads", 8},
    {"gemma3_text", "vocab_size", 262208},
    {"gemma3_text", "hidden_size", 2304},
    {"gemma3_text", "intermediate_size", 9216},
    {"gemma3_text", "num_hidden_layers", 26},
    {"gemma3_text", "num_attention_heads", 8},
    {"gemma3_text", "num_key_value_heads", 4},
    {"qwen2", "vocab_size", 151936},
    {"qwen2", "hidden_size", 4096},
    {"qwen2", "intermediate_size", 22016},
    {"qwen2", "num_hidden_layers", 32},
    {"qwen2", "num_attention_heads", 32},
    {"qwen2", "num_key_value_heads", 32},
    {"qwen2_vl_text", "vocab_size", 152064},
    {"qwen2_vl_text", "hidden_size", 8192},
    {"qwen2_vl_text", "intermediate_size", 29568},
    {"qwen2_vl_text", "num_hidden_layers", 80},
    {"qwen2_vl_text", "num_attention_heads", 64},
    {"qwen2_5_vl_text", "vocab_size", 152064},
    {"qwen2_5_vl_text", "hidden_size", 8192},
    {"qwen2_5_vl_text", "intermediate_size", 29568},
    {"qwen2_5_vl_text", "num_hidden_layers", 80},
    {"qwen2_5_vl_text", "num_attention_heads", 64},
    {"qwen3_vl_text", "vocab_size", 151936},
    {"qwen3_vl_text", "hidden_size", 4096},
    {"qwen3_vl_text", "intermediate_size", 22016},
    {"qwen3_vl_text", "num_hidden_layers", 32},
    {"qwen3_vl_text", "num_attention_heads", 32},
};

/* Families that an open text may be of. Language models that see pictures put no scale or cap on
 * the output, and neither do these. */
static const char *const plain[] = {"llama", "mistral", "qwen2", "qwen3"};

static const char type_key[] = "model_type", tied_key[] = "tie_word_embeddings";

static const folder_row *find_folder(const char *type)
{
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (strcmp(folders[i].type, type) == 0)
            return &folders[i];
    return NULL;
}

static bool has_key(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
}

static bool add_usual_sizes(cJSON *config, const char *type)
{
    bool added = true;
    for (size_t i = 0; i < sizeof(usual_sizes) / sizeof(usual_sizes[0]); i++)
        if (strcmp(usual_sizes[i].type, type) == 0 && !has_key(config, usual_sizes[i].key))
            added &=
                mgk_json_add(config, usual_sizes[i].key, cJSON_CreateNumber(usual_sizes[i].value));
    return added;
}

/* Takes the configuration of a part, "text_config", out of the whole. Of clip and siglip an older
 * "text_config_dict" beside it counts instead, as in transformers. */
static cJSON *take_part(cJSON *whole, const folder_row *row, const char *part)
{
    char key[32], old[32];
    snprintf(key, sizeof(key), "%s_config", part);
    snprintf(old, sizeof(old), "%s_config_dict", part);
    const bool older = !row->usual && cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(whole, old));
    return cJSON_DetachItemFromObjectCaseSensitive(whole, older ? old : key);
}

/* Whether the output layer of a language model is its embedding: never where there is an output. */
static mgk_status read_tied(const mgk_checkpoint *checkpoint, const folder_row *row, bool *out)
{
    char prefix[MGK_TENSOR_NAME];
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(checkpoint->config, "text_config");
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(text, tied_key);
    TRY(mgk_checkpoint_flag(checkpoint, tied_key, row->tied, out));
    if (own && !cJSON_IsBool(own) && !cJSON_IsNull(own))
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" of text_config is not true or false",
                        checkpoint->config_path, tied_key);
    *out |= cJSON_IsTrue(own);
    *out &= !mgk_checkpoint_prefix(checkpoint, "lm_head.weight", prefix);
    return STATUS_OK;
}

/* Finds the model_type of a part. Those of clip have been called otherwise, and a flat one has that
 * of its folder. */
static mgk_status find_type(const mgk_checkpoint *checkpoint, const folder_row *row, bool text,
                            const cJSON *config, const char **out)
{
    const char *named = NULL;
    TRY(mgk_checkpoint_string_of(checkpoint, config, type_key, &named));
    *out = text ? row->text : row->vision;
    if (!row->usual || !named || strcmp(named, row->type) == 0 || strcmp(named, *out) == 0)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]) && row->open && text; i++)
        if (strcmp(named, plain[i]) == 0) {
            *out = plain[i];
            return STATUS_OK;
        }
    return mgk_fail(STATUS_UNSUPPORTED, "%s: model_type \"%.64s\" within \"%s\" is not known",
                    checkpoint->config_path, named, row->type);
}

static bool replace(cJSON *object, const char *key, cJSON *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    return mgk_json_add(object, key, value);
}

/* Makes the configuration of a part, in which the family's own values stand for what is missing,
 * one of the type. False: no memory. */
static bool complete(const folder_row *row, const char *type, bool text, bool tied, cJSON *config)
{
    const bool plain_output = row->usual && text;
    if (plain_output) /* transformers reads it, and does not use it */
        cJSON_DeleteItemFromObjectCaseSensitive(config, "final_logit_softcapping");
    return replace(config, type_key, cJSON_CreateString(type)) && add_usual_sizes(config, type) &&
           (!plain_output || replace(config, tied_key, cJSON_CreateBool(tied)));
}

mgk_status mgk_parts_enter(mgk_checkpoint *checkpoint, const char *part, const char *usual)
{
    const char *type;
    bool tied = false;
    TRY(mgk_checkpoint_string(checkpoint, type_key, "", &type));
    const folder_row *row = find_folder(type);
    if (!row)
        return part ? mgk_fail(STATUS_USAGE, "%s: has no part \"%s\"", checkpoint->path, part)
                    : STATUS_OK;
    const char *chosen = part ? part : usual ? usual : row->usual;
    const bool text = chosen && strcmp(chosen, "text") == 0;
    if (!text && (!chosen || strcmp(chosen, "vision") != 0))
        return mgk_fail(STATUS_USAGE,
                        "%s has a model of text and one of pictures: expected \"text\" or "
                        "\"vision\" for `part`",
                        checkpoint->path);
    if (!text && !row->vision)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: the model of pictures of a \"%s\" is not known, that of text is",
                        checkpoint->path, row->type);
    TRY(read_tied(checkpoint, row, &tied));
    cJSON *config = take_part(checkpoint->config, row, chosen);
    if (text && row->flat && (!config || cJSON_IsNull(config))) {
        cJSON_Delete(config);
        config = cJSON_Duplicate(checkpoint->config, true);
    }
    if (!cJSON_IsObject(config)) {
        cJSON_Delete(config);
        return mgk_fail(STATUS_FORMAT, "%s: \"%s_config\" is not an object",
                        checkpoint->config_path, chosen);
    }
    cJSON_Delete(checkpoint->config);
    checkpoint->config = config;
    TRY(find_type(checkpoint, row, text, config, &type));
    return complete(row, type, text, tied, config)
               ? STATUS_OK
               : mgk_fail(STATUS_MEMORY, "no memory for config.json");
}
