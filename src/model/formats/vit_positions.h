/* SPDX-License-Identifier: MIT */
/* The positions of models of pictures, and what else each of their tokens has. */
#ifndef MGK_MODEL_VIT_POSITIONS_H
#define MGK_MODEL_VIT_POSITIONS_H

#include "model/formats/preprocessor.h"
#include "model/formats/tensor_names.h"

/* A family: names, and the tensors of its embedding besides the patch map; NULL: it has none. */
typedef struct mgk_picture_type {
    const char *type;
    const mgk_tensor_names *names;
    const char *positions, *class_token, *distillation, *registers, *bias;
    bool flat;         /* positions are [N, C], the class [C]; not [1, N, C] and [1, 1, C] */
    bool scaled;       /* layer_scale1 and 2 */
    bool clip;         /* a norm of embeddings, none at the end */
    bool interpolates; /* positions, to the number of patches of prepared pictures */
    double norm_epsilon;
    const char *activation;
    const mgk_preprocessor_usual *usual;
} mgk_picture_type;

/* The row of config.json's model_type, which has been recognised (vit.c). */
const mgk_picture_type *mgk_picture_type_of(const mgk_checkpoint *checkpoint);

/* Tokens before those of the patches, of which so many have positions. */
mgk_status mgk_vit_count_extra(const mgk_checkpoint *checkpoint, const mgk_picture_type *type,
                               int *placed, int *extra);

/*
 * For recipe->compute: values [N, C], or NULL: positions, and what each token has apart from its
 * patch: the class, distillation or register token, or the bias of the patch map.
 */
mgk_status mgk_vit_positions(const mgk_checkpoint *checkpoint, const mgk_config *config,
                             const mgk_recipe *recipe, const mgk_parameter *parameter,
                             double *values);

#endif
