/* SPDX-License-Identifier: MIT */
#include "model/formats/unused.h"

#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/number.h"

/* A constant that files may hold: the parts of its name, and its axes. */
typedef struct buffer_row {
    const char *parts;
    int axes;
} buffer_row;

static const buffer_row buffers[] = {
    {"position_ids", 2},   {"token_type_ids", 2},        {"inv_freq", 1},
    {"attn.bias", 4},      {"attn.masked_bias", 0},      {"attn.causal_mask", 4},
    {"attention.bias", 4}, {"attention.masked_bias", 0},
};

/* Heads of Hugging Face: pretraining, classification, questions. */
static const char *const heads[] = {"pooler",     "classifier",  "cls",        "score",
                                    "qa_outputs", "predictions", "mask_token", NULL};

/* Words in the names of a decoder that is not run, and of its output. */
static const char *const decoder_words[] = {"decoder", "lm_head", "proj_out", "final_logits_bias",
                                            NULL};

/* Whether the whole words of `parts`, "attn.bias", stand between dots in a name. */
static bool has_parts(const char *name, const char *parts)
{
    size_t length = strlen(parts);
    for (const char *at = strstr(name, parts); at; at = strstr(at + 1, parts))
        if ((at == name || at[-1] == '.') && (at[length] == '.' || at[length] == '\0'))
            return true;
    return false;
}

static bool has_any(const char *name, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        if (has_parts(name, list[i]))
            return true;
    return false;
}

static bool is_silent(const mgk_model_format *format, const mgk_tensor_info *tensor)
{
    for (size_t i = 0; format->beside && format->beside[i]; i++)
        if (strstr(tensor->name, format->beside[i]))
            return true;
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        if (mgk_format_has_types(format) && tensor->axes == buffers[i].axes &&
            has_parts(tensor->name, buffers[i].parts))
            return true;
    return false;
}

/* Whether the tensor is part of another module than the model, which has this root. */
static bool is_outside(const mgk_checkpoint *checkpoint, const char *root, const char *name)
{
    char prefix[MGK_TENSOR_NAME] = "";
    return root && mgk_checkpoint_prefix(checkpoint, root, prefix) &&
           strncmp(name, prefix, strlen(prefix)) != 0;
}

/* Whether the tensor is part of a decoder that is not run, which has a remark of its own. */
static bool is_decoder(const mgk_model_format *format, const char *name)
{
    return format->decoder && has_any(name, decoder_words);
}

/* Whether the tensor is left out with a remark. */
static bool is_apart(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                     const mgk_config *config, const char *name)
{
    /* A language model's output; without one, it is an encoder. */
    if (config->family == MGK_FAMILY_LM && has_parts(name, "lm_head"))
        return config->tied && has_parts(name, "lm_head.weight");
    return has_any(name, format->apart) || (mgk_format_has_types(format) && has_any(name, heads)) ||
           is_outside(checkpoint, format->root, name);
}

/* A second tensor that every model has. */
static bool is_second_model(const mgk_model_format *format, const char *name)
{
    size_t length = format->root ? strlen(format->root) : 0, size = strlen(name);
    return length > 0 && size > length && name[size - length - 1] == '.' &&
           strcmp(name + size - length, format->root) == 0;
}

static mgk_status refuse(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                         const char *name)
{
    const char *type;
    TRY(mgk_checkpoint_string(checkpoint, "model_type", NULL, &type));
    if (is_second_model(format, name))
        return mgk_fail(STATUS_FORMAT,
                        "%s: tensor \"%s\" belongs to a second model, expected one a file",
                        checkpoint->path, name);
    if (mgk_format_has_types(format) && type)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: tensor \"%s\" has no place in a model of type \"%.64s\", and may "
                        "change its numbers: check \"model_type\" in config.json, and remove the "
                        "tensor if it does nothing",
                        checkpoint->path, name, type);
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: tensor \"%s\" has no place in %s, and may change their numbers: remove it "
                    "if it does nothing",
                    checkpoint->path, name, format->name);
}

mgk_status mgk_unused_check(const mgk_checkpoint *checkpoint, const mgk_model_format *format,
                            const mgk_config *config, char *remark, size_t size, bool *news)
{
    char first[256] = "";
    size_t count = 0, decoder = 0;
    remark[0] = '\0';
    *news = false;
    for (size_t i = 0; i < mgk_tensors_count(checkpoint->tensors); i++) {
        const mgk_tensor_info *tensor = mgk_tensors_at(checkpoint->tensors, i);
        if (checkpoint->used[i] || is_silent(format, tensor))
            continue;
        if (is_decoder(format, tensor->name)) {
            decoder++;
            continue;
        }
        if (is_second_model(format, tensor->name) ||
            !is_apart(checkpoint, format, config, tensor->name))
            return refuse(checkpoint, format, tensor->name);
        *news = *news || !has_parts(tensor->name, "pooler");
        if (count++ < 3)
            mgk_append(first, sizeof(first), "%s%s", *first ? ", " : "", tensor->name);
    }
    *news = *news || decoder > 0;
    if (decoder > 0)
        snprintf(remark, size, "the decoder is not run (`part` chooses it): its %zu %s left out",
                 decoder, MGK_NOUN(decoder, "tensor is", "tensors are"));
    if (count > 0)
        mgk_append(remark, size, "%s%zu %s not used: %s%s", *remark ? "; " : "", count,
                   MGK_NOUN(count, "tensor is", "tensors are"), first, count > 3 ? ", ..." : "");
    return STATUS_OK;
}
