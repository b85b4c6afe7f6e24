/* Reading back what the toolkit wrote. */
#ifndef MGK_TESTS_READ_PNG_H
#define MGK_TESTS_READ_PNG_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/scales/colormap.h"

typedef struct png_picture {
    size_t width, height;
    mgk_rgb *pixels; /* [height, width]; released with mgk_free */
    bool is_rgb8;
    char texts[1024]; /* "key=value" lines */
} png_picture;

/* Decodes through libpng; the test fails where the file is not a PNG. */
png_picture read_png(const char *path);

/* cmocka's setup and teardown: an empty folder of the test's own. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* A file of that folder; valid until the next call. */
const char *scratch_path(const char *name);

/* How many files the folder holds. */
size_t scratch_count(void);

#endif
