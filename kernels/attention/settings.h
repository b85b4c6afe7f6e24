/* SPDX-License-Identifier: MIT */
/* The settings of attention kinds: numbers and words that options, configurations and kinds share.
 */
#ifndef MGK_KERNELS_ATTENTION_SETTINGS_H
#define MGK_KERNELS_ATTENTION_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Words of `feature_map`, in this order. */
typedef enum mgk_feature_choice {
    MGK_CHOICE_NONE, /* "none": the default, or a kind without the setting */
    MGK_CHOICE_POSITIVE,
    MGK_CHOICE_TRIGONOMETRIC,
    MGK_CHOICE_POSITIVE_OFFSET,
    MGK_CHOICE_RELU,
    MGK_CHOICE_SIGMOID,
    MGK_CHOICE_EXP,
    MGK_CHOICE_ABS,
    MGK_CHOICE_GELU,
    MGK_CHOICE_COS,
    MGK_CHOICE_TANH,
    MGK_CHOICE_IDENTITY
} mgk_feature_choice;

/* Words of `feature_draw`: how random features are drawn. */
typedef enum mgk_feature_draw {
    MGK_DRAW_NONE, /* "none": as above */
    MGK_DRAW_ORTHOGONAL,
    MGK_DRAW_IID
} mgk_feature_draw;

/*
 * Each setting means the same in all kinds. 0: the kind's default. A kind has the settings whose
 * default in its row is not 0.
 */
typedef struct mgk_attention_settings {
    int window;       /* keys at a distance of at most so many, times the dilation; or within chunks
                         of so many */
    int dilation;     /* only every so many-th key of the window */
    int block;        /* tokens of a block, or a stride */
    int global;       /* so many first tokens, or blocks, see all tokens and are seen by all */
    int random;       /* random keys of a query, or blocks of a block */
    int features;     /* random features, or the degree of other ones */
    int landmarks;    /* vectors that stand for all tokens */
    int projection;   /* rows of a map from N tokens to fewer, or the rank of a product */
    int clusters;     /* of tokens */
    int parts;        /* of a cluster, by hashes of their own; 1: clusters are whole */
    int hashes;       /* rounds of hashing, or bits of a hash */
    int kernel;       /* tokens of a convolution, or of a pooling */
    int feature_map;  /* an mgk_feature_choice */
    int feature_draw; /* an mgk_feature_draw */
} mgk_attention_settings;

enum { MGK_MOST_FEATURES = 1 << 14 }; /* the largest value of settings other than of tokens */

/* The settings as a table. */
typedef struct mgk_attention_setting {
    const char *name; /* as the option and the field; NULL ends the table */
    size_t offset;
    int most;                 /* the largest value */
    const char *const *words; /* NULL-terminated, of a choice; NULL: a number */
} mgk_attention_setting;

extern const mgk_attention_setting mgk_attention_setting_rows[];

int mgk_attention_setting_get(const mgk_attention_settings *settings,
                              const mgk_attention_setting *row);
/* Whether some setting is not 0. */
bool mgk_attention_settings_given(const mgk_attention_settings *settings);

void mgk_attention_setting_put(mgk_attention_settings *settings, const mgk_attention_setting *row,
                               int value);

#endif
