/* SPDX-License-Identifier: MIT */
/*
 * Language models of Hugging Face as data: a family is a row that says which settings its
 * config.json has, how its tensors are called and laid out, and which architecture parts it has.
 */
#ifndef MGK_MODEL_DECODER_H
#define MGK_MODEL_DECODER_H

#include "model/formats/settings.h"
#include "model/formats/tensor_names.h"

/* Which layers have the window, unless "layer_types" says it. */
typedef enum mgk_local_layers {
    MGK_LOCAL_ALL,       /* all; "layer_types" is not read */
    MGK_LOCAL_USED,      /* the same if "use_sliding_window" */
    MGK_LOCAL_MOST,      /* all but every pattern-th, "sliding_window_pattern" */
    MGK_LOCAL_LATTER,    /* from "max_window_layers" on, if "use_sliding_window" */
    MGK_LOCAL_UNROTATED, /* those without positions, if "use_sliding_window" */
    MGK_LOCAL_OWN        /* those that `adjust` sets */
} mgk_local_layers;

typedef struct mgk_decoder {
    const char *type; /* model_type */
    const mgk_settings *settings;
    const mgk_tensor_names *names,
        *others; /* the second: of parameters without a row in the first */
    const mgk_tensor_names
        *fused;         /* in place of the first where there is its anchor; NULL: never */
    const char *output; /* a constant; NULL: "lm_head.weight" */
    bool tied;          /* the output is the embedding, unless "tie_word_embeddings" says it */
    bool less_one;      /* tensors of norms are gains less 1 */
    bool interleaved;   /* neighbours are rotated */
    double rotary_part; /* of a head, unless the file says it; 0: all, always */
    mgk_local_layers local;
    int pattern;        /* the usual number for MGK_LOCAL_MOST or MGK_LOCAL_LATTER */
    bool rotates_local; /* layers that are not local have no positions */
    /* What tables cannot say: settings, after the others were read, and recipes. NULL: nothing. */
    mgk_status (*adjust)(const mgk_checkpoint *, mgk_config *);
    mgk_status (*mend)(const mgk_checkpoint *, const mgk_config *, const mgk_parameter *,
                       mgk_recipe *);
} mgk_decoder;

/* `configure` and `recipe` of a format (format.h) for its families, which end with `type` NULL. */
mgk_status mgk_decoder_configure(const mgk_checkpoint *checkpoint, const mgk_decoder *families,
                                 mgk_config *config);
mgk_status mgk_decoder_recipe(const mgk_checkpoint *checkpoint, const mgk_decoder *families,
                              const mgk_config *config, const mgk_parameter *parameter,
                              mgk_recipe *out);

#endif
