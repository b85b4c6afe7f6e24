/* SPDX-License-Identifier: MIT */
/* A colour bar: the colours of a scale from bottom to top, with ticks at the right. */
#ifndef MGK_PLOTS_COLORBAR_H
#define MGK_PLOTS_COLORBAR_H

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"
#include "plots/scales/scale.h"
#include "plots/scales/ticks.h"

typedef struct mgk_colorbar {
    const mgk_scale *scale;
    mgk_colormap colormap;
    const char *label; /* reads upwards, right of the ticks; NULL: no label */
    mgk_style style;
} mgk_colorbar;

/* The ticks of a bar of this height: at least two, so that colours between them can be read, unless
 * all values are the same. */
mgk_ticks mgk_colorbar_ticks(const mgk_colorbar *bar, double height);

/* The width of a bar of this height, with ticks and label. */
double mgk_colorbar_width(const mgk_colorbar *bar, double height);

void mgk_colorbar_draw(mgk_canvas *canvas, const mgk_colorbar *bar, double x, double y,
                       double height);

#endif
