/* SPDX-License-Identifier: MIT */
/* Markers of points: each series has a shape, which tells it from others also without colour. */
#ifndef MGK_PLOTS_MARKER_H
#define MGK_PLOTS_MARKER_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/canvas/canvas.h"

/* Draws the marker of a series around (x, y), filled or as an outline with a white inside. */
void mgk_marker_draw(mgk_canvas *canvas, size_t series, double x, double y, double radius,
                     mgk_rgb color, bool filled);

#endif
