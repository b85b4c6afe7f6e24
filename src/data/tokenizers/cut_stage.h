/* SPDX-License-Identifier: MIT */
/* Private to the tokenizers: the stages of pre-tokenization. */
#ifndef MGK_DATA_CUT_STAGE_H
#define MGK_DATA_CUT_STAGE_H

#include "data/tokenizers/pattern.h"

/* How a stage splits a piece of text. */
typedef enum mgk_cut_kind {
    MGK_CUT_BERT,        /* at white space, which is dropped, and around each punctuation mark */
    MGK_CUT_PREFIX,      /* not at all; prepends a space if there is none */
    MGK_CUT_PATTERN,     /* at matches */
    MGK_CUT_PUNCTUATION, /* at punctuation marks */
    MGK_CUT_SIGN,        /* before each sign that follows another character */
    MGK_CUT_META,        /* not at all; writes the sign for each space, and may prepend one */
    MGK_CUT_SPELL,       /* not at all; writes bytes in the byte alphabet */
} mgk_cut_kind;

/* What becomes of a match. */
typedef enum mgk_cut_behavior {
    MGK_CUT_ISOLATED, /* a piece of its own */
    MGK_CUT_REMOVED,
    MGK_CUT_WITH_PREVIOUS, /* ends the piece before it, unless that is a match */
    MGK_CUT_WITH_NEXT,     /* begins the piece after it, unless that is a match */
    MGK_CUT_CONTIGUOUS     /* neighbouring matches are one piece */
} mgk_cut_behavior;

/* Which pieces get a sign in front if they have none. */
typedef enum mgk_cut_prepend {
    MGK_CUT_ALWAYS,
    MGK_CUT_FIRST, /* the piece at the start of the text */
    MGK_CUT_NEVER
} mgk_cut_prepend;

typedef struct mgk_cut_stage {
    mgk_cut_kind kind;
    mgk_pattern *pattern;      /* PATTERN only; owned */
    mgk_cut_behavior behavior; /* PATTERN and PUNCTUATION */
    bool invert;               /* PATTERN: what does not match counts as the match */
    bool spaced;               /* PATTERN: a space after another character begins a piece */
    mgk_cut_prepend prepend;   /* META */
    char sign[4];              /* META and SIGN: a character */
    size_t sign_size;
} mgk_cut_stage;

#endif
