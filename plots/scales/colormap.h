/* SPDX-License-Identifier: MIT */
/* Colour maps, from numbers in [0, 1] to colours. */
#ifndef MGK_PLOTS_COLORMAP_H
#define MGK_PLOTS_COLORMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * The first four are sequential: their lightness rises from 0 to 1, so that they remain readable in
 * grey print. Coolwarm diverges: blue below 1/2, light grey at 1/2, red above.
 */
typedef enum mgk_colormap {
    COLORMAP_VIRIDIS,
    COLORMAP_MAGMA,
    COLORMAP_CIVIDIS,
    COLORMAP_GREY,
    COLORMAP_COOLWARM,
    COLORMAP_COUNT
} mgk_colormap;

/* sRGB, 8 bits per component. */
typedef struct mgk_rgb {
    uint8_t r, g, b;
} mgk_rgb;

/* The colour of NaN and infinities: a magenta that no map contains. */
#define MGK_NAN_COLOR ((mgk_rgb){255, 0, 255})

/* The colour of masked entries at pixel (x, y): white paper with faint stripes, which no map has.
 */
mgk_rgb mgk_hatch_at(size_t x, size_t y);

/* The colour at t, clamped to [0, 1]; MGK_NAN_COLOR for NaN. */
mgk_rgb mgk_colormap_at(mgk_colormap map, double t);

/* Finds the map of this name, "viridis", "magma", "cividis", "grey" or "coolwarm"; STATUS_USAGE
 * lists the names. */
mgk_status mgk_colormap_parse(const char *name, mgk_colormap *out);

#endif
