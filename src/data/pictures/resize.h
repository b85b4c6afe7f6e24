/* SPDX-License-Identifier: MIT */
/* Resizes pictures. */
#ifndef MGK_DATA_RESIZE_H
#define MGK_DATA_RESIZE_H

#include "data/pictures/image.h"

/*
 * Resizes the picture to width and height, each at least `side`, and keeps the square in the
 * centre, out [side, side, 3], bit for bit like Pillow's resize: it filters rows, then columns, and
 * rounds each result to 8 bits. If the picture shrinks, the filter widens by the same factor. Of an
 * odd rest the smaller half is cut off first. STATUS_SHAPE: `resampling` is none, and the picture
 * does not have this width and height.
 */
mgk_status mgk_image_resize(const mgk_image *image, mgk_resampling resampling, size_t width,
                            size_t height, size_t side, unsigned char *out);

#endif
