/* SPDX-License-Identifier: MIT */
/*
 * The conversion of a picture to tokens: resized, its centre cut out as a square, its numbers
 * scaled and normalised, cut into square patches. The first X tokens are no patches: the class, and
 * others that a model adds; token X + r S/P + c is the patch of row r, column c.
 */
#ifndef MGK_BASE_PICTURE_H
#define MGK_BASE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

enum { MGK_CHANNELS = 3 }; /* red, green, blue */

/* Resizing filters, in Pillow's order. */
typedef enum mgk_resampling {
    MGK_RESAMPLING_NEAREST,
    MGK_RESAMPLING_LANCZOS,
    MGK_RESAMPLING_BILINEAR,
    MGK_RESAMPLING_BICUBIC,
    MGK_RESAMPLING_BOX,
    MGK_RESAMPLING_HAMMING,
    MGK_RESAMPLING_NONE /* no resizing: pictures must have the size */
} mgk_resampling;

typedef struct mgk_picture_form {
    int patch; /* P, side of a patch in pixels; 0: the model does not read pictures */
    int side;  /* S, side of a picture in pixels, a multiple of P */
    int extra; /* X, tokens before those of the patches; the first is the class */
    int edge;  /* at least S: pixels to which both edges are resized, before the centre is cut out;
                  0: S */
    bool shortest; /* only the shorter edge is resized to `edge`, the other in proportion */
    mgk_resampling resampling;
    double scale; /* a pixel value x, 0 to 255, becomes (scale x − mean) / deviation */
    double mean[MGK_CHANNELS], deviation[MGK_CHANNELS];
} mgk_picture_form;

/* Patches per row of a picture, S / P. */
static inline size_t mgk_picture_patches(const mgk_picture_form *form)
{
    return (size_t)(form->side / form->patch);
}

/* Tokens of a picture, N. */
static inline size_t mgk_picture_tokens(const mgk_picture_form *form)
{
    return (size_t)form->extra + mgk_picture_patches(form) * mgk_picture_patches(form);
}

/* Numbers of a patch, 3 P². */
static inline size_t mgk_patch_size(const mgk_picture_form *form)
{
    return MGK_CHANNELS * (size_t)form->patch * (size_t)form->patch;
}

#endif
