/* Resizing pictures. */
#ifndef MGK_DATA_RESIZE_H
#define MGK_DATA_RESIZE_H

#include "data/pictures/image.h"

/*
 * The picture as a square, out [side, side, 3], bit for bit what Pillow's resize makes of it: first
 * its rows, then its columns are filtered, each result rounded to 8 bits. Where the picture
 * shrinks the filter is as much wider. STATUS_SHAPE: nothing is to be resized, and it is no such
 * square.
 */
mgk_status mgk_image_resize(const mgk_image *image, mgk_resampling resampling, size_t side,
                            unsigned char *out);

#endif
