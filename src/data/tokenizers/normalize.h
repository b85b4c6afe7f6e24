/* SPDX-License-Identifier: MIT */
/* Normalization of a text before tokenization: a list of steps, each from text to text. */
#ifndef MGK_DATA_NORMALIZE_H
#define MGK_DATA_NORMALIZE_H

#include "data/tokenizers/charsmap.h"
#include "data/tokenizers/pattern.h"

typedef enum mgk_normal_kind {
    MGK_NORMAL_CLEAN,            /* removes control characters, turns white space into spaces */
    MGK_NORMAL_SPACE_IDEOGRAPHS, /* puts a space on both sides of each */
    MGK_NORMAL_STRIP_NONSPACING, /* removes nonspacing marks (Mn) */
    MGK_NORMAL_STRIP_MARKS,      /* removes all combining marks */
    MGK_NORMAL_LOWER,            /* lower case, character by character */
    MGK_NORMAL_NFD,              /* the normalization forms of Unicode */
    MGK_NORMAL_NFC,
    MGK_NORMAL_NFKD,
    MGK_NORMAL_NFKC,
    MGK_NORMAL_STRIP_LEFT,  /* removes white space from the start of the text */
    MGK_NORMAL_STRIP_RIGHT, /* from its end */
    MGK_NORMAL_PREPEND,     /* puts `content` in front of a text that is not empty */
    MGK_NORMAL_REPLACE,     /* puts `content` in the place of each match of `pattern` */
    MGK_NORMAL_CHARSMAP,    /* replaces grapheme clusters or characters as `charsmap` says */
    MGK_NORMAL_PIECES,      /* all that SentencePiece itself does: see replace.h */
} mgk_normal_kind;

/* A step and what it owns, by kind. */
typedef struct mgk_normal_step {
    mgk_normal_kind kind;
    mgk_pattern *pattern;
    mgk_buffer content;
    mgk_charsmap charsmap;
    bool dummy_prefix;  /* PIECES: a space in front */
    bool remove_spaces; /* PIECES: at both ends, and behind others */
    bool for_spaces;    /* REPLACE: `content` is not a space and stands for spaces */
    bool all_spaces;    /* REPLACE: no space is left */
    bool keeps_cuts; /* the two parts of a text that is cut between a visible ASCII character and a
                        space give the parts of the normalized text */
} mgk_normal_step;

enum { MGK_NORMAL_STEPS = 16 };

typedef struct mgk_normalizer {
    mgk_normal_step steps[MGK_NORMAL_STEPS];
    size_t count; /* 0: the text stays as it is */
} mgk_normalizer;

/* Appends a step; takes over what it owns, also on failure. STATUS_UNSUPPORTED: there are too many
 * steps. */
mgk_status mgk_normalizer_add_step(mgk_normalizer *normalizer, mgk_normal_step step);

/* Appends a step that owns nothing. */
mgk_status mgk_normalizer_add(mgk_normalizer *normalizer, mgk_normal_kind kind);

/* Append a step that prepends, that replaces the matches of an expression or of literal text, and
 * one that replaces by a table, which it takes over, also on failure. */
mgk_status mgk_normalizer_add_prepend(mgk_normalizer *normalizer, mgk_span content);
mgk_status mgk_normalizer_add_replace(mgk_normalizer *normalizer, mgk_span pattern, bool literal,
                                      mgk_span content);
mgk_status mgk_normalizer_add_charsmap(mgk_normalizer *normalizer, mgk_charsmap map);

void mgk_normalizer_free(mgk_normalizer *normalizer);

/* What the last step writes for every space; data NULL: a normalized text may have spaces. */
mgk_span mgk_normalizer_sign(const mgk_normalizer *normalizer);

/* Whether all steps keep cuts, and write nothing but `sign` for spaces. */
bool mgk_normalizer_keeps_cuts(const mgk_normalizer *normalizer, mgk_span sign);

/* Buffers of one thread that normalizes; zeroed they are empty. */
typedef struct mgk_normal_scratch {
    mgk_buffer text[2]; /* each step reads one and fills the other */
    mgk_buffer points;  /* int32_t, characters of one stretch of text */
    mgk_matcher *matcher;
    size_t most;      /* bytes that the text may become, in the current call */
    bool keeps_start; /* no step removed the first character of its text */
} mgk_normal_scratch;

/*
 * Applies the steps to valid UTF-8. *out is `text` itself or lies in the scratch buffers until the
 * next call. STATUS_MEMORY; STATUS_UNSUPPORTED: a regular expression takes too many steps, or the
 * text becomes many times as long.
 */
mgk_status mgk_normalize(const mgk_normalizer *normalizer, mgk_normal_scratch *scratch,
                         mgk_span text, mgk_span *out);

void mgk_normal_scratch_free(mgk_normal_scratch *scratch);

#endif
