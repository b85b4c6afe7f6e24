/* SPDX-License-Identifier: MIT */
/* Reads PNG files. */
#ifndef MGK_DATA_IMAGE_H
#define MGK_DATA_IMAGE_H

#include "base/picture.h"
#include "base/status.h"

typedef struct mgk_image {
    size_t width, height;
    unsigned char *pixels; /* [height, width, 3]: red, green, blue */
} mgk_image;

/*
 * Reads a PNG of any kind like Pillow's convert("RGB"): grey and palettes become colours,
 * transparency and gamma are ignored, and 16-bit samples keep their upper 8 bits. Release it with
 * mgk_image_free. STATUS_IO: the file cannot be read; STATUS_FORMAT: not a PNG, cut off or damaged;
 * STATUS_UNSUPPORTED: more than 2^26 pixels, or 2^15 in a row or column.
 */
mgk_status mgk_image_read(const char *path, mgk_image *out);
void mgk_image_free(mgk_image *image); /* a zeroed one is accepted */

#endif
