/* SPDX-License-Identifier: MIT */
/* Writes PNG files: 8-bit RGB, 300 pixels per inch, with texts. */
#ifndef MGK_PLOTS_PNG_H
#define MGK_PLOTS_PNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "plots/options.h"

/*
 * Writes pixels [height, width] of native-endian 0xXXRRGGBB words, rows `stride` bytes apart.
 * Messages contain `name`. STATUS_USAGE: a key that PNG does not allow; STATUS_IO: writing failed.
 */
mgk_status mgk_png_write(FILE *file, const char *name, const unsigned char *pixels, size_t width,
                         size_t height, size_t stride, const mgk_text_pair *texts,
                         size_t text_count);

#endif
