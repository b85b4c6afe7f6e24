/* A legend in rows above a plot, where it hides no data. */
#ifndef MGK_PLOTS_LEGEND_H
#define MGK_PLOTS_LEGEND_H

#include <stddef.h>

#include "plots/canvas/canvas.h"

typedef struct mgk_legend {
    const char *const *labels; /* [count] */
    const mgk_rgb *colors;     /* [count]; NULL: those of mgk_series_color */
    size_t count;
    mgk_font font;
} mgk_legend;

/* The height of the legend when its entries are broken into rows of at most `width`. */
double mgk_legend_height(const mgk_legend *legend, double width);

/* Draws it from (x, y) downwards, every row centred in `width`. */
void mgk_legend_draw(mgk_canvas *canvas, const mgk_legend *legend, double x, double y,
                     double width);

#endif
