/*
 * How a picture becomes tokens: resized to a square, its numbers scaled and normalised, cut into
 * square patches. Token 0 stands for the class; token 1 + r S/P + c is the patch of row r, column
 * c.
 */
#ifndef MGK_BASE_PICTURE_H
#define MGK_BASE_PICTURE_H

#include <stddef.h>

enum { MGK_CHANNELS = 3 }; /* red, green, blue */

/* Filters of resizing, in the order in which Pillow numbers them. */
typedef enum mgk_resampling {
    MGK_RESAMPLING_NEAREST,
    MGK_RESAMPLING_LANCZOS,
    MGK_RESAMPLING_BILINEAR,
    MGK_RESAMPLING_BICUBIC,
    MGK_RESAMPLING_BOX,
    MGK_RESAMPLING_HAMMING,
    MGK_RESAMPLING_NONE /* pictures must have the size already */
} mgk_resampling;

typedef struct mgk_picture_form {
    int patch; /* P, pixels of a patch's side; 0: the model reads no pictures */
    int side;  /* S, pixels of a picture's side, a multiple of P */
    mgk_resampling resampling;
    double scale; /* a number of a pixel, 0 to 255, becomes (scale x − mean) / deviation */
    double mean[MGK_CHANNELS], deviation[MGK_CHANNELS];
} mgk_picture_form;

/* Patches in a row of a picture, S / P. */
static inline size_t mgk_picture_patches(const mgk_picture_form *form)
{
    return (size_t)(form->side / form->patch);
}

/* Tokens of a picture, N. */
static inline size_t mgk_picture_tokens(const mgk_picture_form *form)
{
    return 1 + mgk_picture_patches(form) * mgk_picture_patches(form);
}

/* Numbers of a patch, 3 P². */
static inline size_t mgk_patch_size(const mgk_picture_form *form)
{
    return MGK_CHANNELS * (size_t)form->patch * (size_t)form->patch;
}

#endif
