/* SPDX-License-Identifier: MIT */
/*
 * The feature maps of kernels/attention_operations.h for a chunk of tokens of one head; linear.c
 * has its own elu + 1, which is scaled and has several keys. Arrays of a chunk are transposed: row
 * r has number r of all its tokens. So every sum or maximum of a token is a loop over whole
 * vectors, and the projection by omega, the state and the scores take the features as they are.
 *
 * Maps with an exponential divide the features of a token by exp(shift): its caller chooses shifts
 * after it has seen the largest exponents, one for each query (they cancel in the row), one for all
 * keys of a chunk.
 */
#ifndef MGK_KERNELS_CPU_FEATURES_H
#define MGK_KERNELS_CPU_FEATURES_H

#include "kernels/cpu/tile.h"

/* Tokens of a chunk: its scores cost as much as the state does for the usual D. */
enum { MGK_LINEAR_CHUNK = 32 };

/* One head's map, and what it keeps of the chunk that was projected last. */
typedef struct mgk_feature_work {
    const mgk_features *features;
    size_t dim, rows; /* D; rows of `projected` */
    real scale;       /* x' = scale x */
    bool shifts;      /* whether features have a shift */
    real offset;      /* added to features of POSITIVE, divided by exp(shift), times √R */
    real *omega;      /* [rows, pitch] scale w_r, padded with zeros; NULL: none */
    size_t pitch;
    real *input;     /* [D, MGK_LINEAR_CHUNK] x, written by the caller; of SPHERE then u */
    real *projected; /* [rows, MGK_LINEAR_CHUNK] w_r·x'; of DPFP y */
    real *norm; /* [MGK_LINEAR_CHUNK] ‖x'‖²/2; of SPHERE ‖x'‖; of DPFP the sum; of COSINE cos */
    real *top; /* [MGK_LINEAR_CHUNK] the largest exponent; of COSINE sin */
} mgk_feature_work;

/* Reals of memory for one head's map. */
size_t MGK_CPU(feature_scratch)(const mgk_features *features, size_t dim);

/* Starts head `head` in `memory`, which is zeroed. */
void MGK_CPU(feature_begin)(const mgk_features *features, size_t dim, size_t head, real *memory,
                            mgk_feature_work *out);

/* Computes `projected`, `norm` and `top` from `input`; `first` is the position of column 0. */
void MGK_CPU(feature_project)(mgk_feature_work *work, size_t first);

/* feature [R, MGK_LINEAR_CHUNK] of the projected chunk, divided by exp(shift [MGK_LINEAR_CHUNK]).
 */
void MGK_CPU(feature_finish)(mgk_feature_work *work, const real *shift, real *feature);

/*
 * dinput [D, MGK_LINEAR_CHUNK], with rows up to a multiple of MGK_TILE_ROWS, from dfeature [R, ·],
 * which is overwritten, and the features of the projected chunk. Shifts count as constants.
 */
void MGK_CPU(feature_gradient)(const mgk_feature_work *work, const real *feature, real *dfeature,
                               real *dinput);

#endif
