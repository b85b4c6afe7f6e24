/* Pictures in PNG files. */
#ifndef MGK_DATA_IMAGE_H
#define MGK_DATA_IMAGE_H

#include "base/picture.h"
#include "base/status.h"

typedef struct mgk_image {
    size_t width, height;
    unsigned char *pixels; /* [height, width, 3]: red, green, blue */
} mgk_image;

/*
 * Reads a PNG of any kind as Pillow's convert("RGB") does: grey and palettes become colours,
 * transparency and gamma are ignored; of 16 bits the upper 8 are taken. Released with
 * mgk_image_free. STATUS_IO: the file cannot be read; STATUS_FORMAT: it is no PNG, or cut off or
 * damaged; STATUS_UNSUPPORTED: it has more than 2^26 pixels, or 2^15 in a row or column.
 */
mgk_status mgk_image_read(const char *path, mgk_image *out);
void mgk_image_free(mgk_image *image); /* a zeroed one is accepted */

#endif
