/* SPDX-License-Identifier: MIT */
/* Private to the tokenizers: what each class of transformers makes of the pieces of a .model. */
#ifndef MGK_DATA_PIECE_FAMILY_H
#define MGK_DATA_PIECE_FAMILY_H

#include "data/tokenizers/piece_model.h"
#include "data/tokenizers/tokenizer_notes.h"

/* A token that the configuration may call otherwise. */
typedef struct mgk_piece_role {
    const char *key; /* of tokenizer_config.json; NULL: the name is fixed */
    const char *usual;
} mgk_piece_role;

enum { MGK_PIECE_ROLES = 8 };

/* What a class makes of the pieces; lists end with an empty role. */
typedef struct mgk_piece_family {
    const char *class;
    const char *model_types[5]; /* of config.json, which count if there is no class */
    bool unigram;
    size_t dropped;                        /* pieces at the start that are left out */
    mgk_piece_role front[MGK_PIECE_ROLES]; /* tokens in their place */
    mgk_piece_role back[2];                /* behind the pieces */
    int64_t unknown;                       /* its id; -1: that of the model */
    mgk_status (*steps)(const mgk_notes *notes, const mgk_piece_model *model,
                        mgk_tokenizer *tokenizer);
    mgk_piece_role before, after; /* every text */
    bool optional; /* `before` and `after` are subject to add_bos_token and add_eos_token */
    mgk_piece_role special[MGK_PIECE_ROLES];
    bool mask_takes_space; /* on its left, unless the configuration says otherwise */
    bool mask_is_extra;    /* if it is no piece, it has the next id */
    bool drops_unknown;    /* BPE: there is no unknown token */
    bool sentinels;        /* there are <extra_id_0> and so on */
} mgk_piece_family;

extern const mgk_piece_family mgk_piece_families[];
extern const size_t mgk_piece_family_count;

#endif
