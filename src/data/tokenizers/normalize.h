/* SPDX-License-Identifier: MIT */
/* Normalization of a text before tokenization: a list of steps, each from text to text. */
#ifndef MGK_DATA_NORMALIZE_H
#define MGK_DATA_NORMALIZE_H

#include "data/buffer.h"
#include "data/datasets/lines.h"

typedef enum mgk_normal_step {
    MGK_NORMAL_CLEAN,            /* removes control characters, turns white space into spaces */
    MGK_NORMAL_SPACE_IDEOGRAPHS, /* puts a space on both sides of each */
    MGK_NORMAL_STRIP_NONSPACING, /* removes nonspacing marks (Mn) */
    MGK_NORMAL_STRIP_MARKS,      /* removes all combining marks */
    MGK_NORMAL_LOWER,            /* lower case, character by character */
    MGK_NORMAL_NFD,              /* the normalization forms of Unicode */
    MGK_NORMAL_NFC,
    MGK_NORMAL_NFKD,
    MGK_NORMAL_NFKC,
} mgk_normal_step;

enum { MGK_NORMAL_STEPS = 16 };

typedef struct mgk_normalizer {
    mgk_normal_step steps[MGK_NORMAL_STEPS];
    size_t count; /* 0: the text stays as it is */
} mgk_normalizer;

/* Appends a step; STATUS_UNSUPPORTED: there are too many. */
mgk_status mgk_normalizer_add(mgk_normalizer *normalizer, mgk_normal_step step);

/* Buffers of one thread that normalizes; zeroed they are empty. */
typedef struct mgk_normal_scratch {
    mgk_buffer text[2]; /* each step reads one and fills the other */
    mgk_buffer points;  /* int32_t, characters of one stretch of text */
} mgk_normal_scratch;

/* Applies the steps to valid UTF-8. *out is `text` itself or lies in the scratch buffers until the
 * next call. STATUS_MEMORY is the only failure. */
mgk_status mgk_normalize(const mgk_normalizer *normalizer, mgk_normal_scratch *scratch,
                         mgk_span text, mgk_span *out);

void mgk_normal_scratch_free(mgk_normal_scratch *scratch);

#endif
