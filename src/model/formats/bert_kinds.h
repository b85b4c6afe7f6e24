/* SPDX-License-Identifier: MIT */
/* Relatives of Hugging Face's bert whose attention is of another kind than softmax. */
#ifndef MGK_MODEL_BERT_KINDS_H
#define MGK_MODEL_BERT_KINDS_H

#include "model/formats/checkpoint.h"

/* What such a family has of its own. */
typedef struct mgk_bert_kind {
    int first_position; /* rows of the table before the position of the first token */
    /* Sets the kind, its settings and what else depends on it, after all that families share. */
    mgk_status (*configure)(const mgk_checkpoint *, mgk_config *);
    /* Changes the recipe that the table of names gives; NULL: it is right. */
    mgk_status (*recipe)(const mgk_checkpoint *, const mgk_config *, const mgk_parameter *,
                         mgk_recipe *);
} mgk_bert_kind;

extern const mgk_bert_kind mgk_bert_nystromformer, mgk_bert_big_bird, mgk_bert_longformer;

/* How results differ from those of transformers, for people; "": not at all. */
const char *mgk_bert_kind_assumed(const mgk_config *config);

#endif
