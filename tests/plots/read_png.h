/* SPDX-License-Identifier: MIT */
/* Reads the PNG files of the toolkit. */
#ifndef MGK_TESTS_READ_PNG_H
#define MGK_TESTS_READ_PNG_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/scales/colormap.h"

typedef struct png_picture {
    size_t width, height;
    mgk_rgb *pixels; /* [height, width]; release with mgk_free */
    bool is_rgb8;
    char texts[1024]; /* "key=value" lines */
} png_picture;

/* Decodes with libpng; the test fails if the file is not a PNG. */
png_picture read_png(const char *path);

/* cmocka's setup and teardown: an empty folder for each test. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* The path of a file in that folder; valid until the next call. */
const char *scratch_path(const char *name);

/* Number of files in the folder. */
size_t scratch_count(void);

#endif
