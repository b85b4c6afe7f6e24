/* SPDX-License-Identifier: MIT */
#include "plots/scales/tiles.h"

#include <math.h>

static mgk_margins margins_of(const mgk_axes *axes)
{
    mgk_axes labelled = *axes;
    labelled.x.label = labelled.y.label = "x";
    return mgk_axes_margins(&labelled);
}

mgk_rect mgk_tiles_span(mgk_rect area, const mgk_axes *axes)
{
    mgk_margins margins = margins_of(axes);
    return (mgk_rect){area.x + margins.left, area.y, area.width - margins.left - margins.right,
                      area.height};
}

mgk_tiles mgk_tiles_over(mgk_rect area, size_t rows, size_t columns, const mgk_axes *axes)
{
    mgk_margins margins = margins_of(axes);
    double em = axes->style.text.size, strip = mgk_line_height(axes->style.small);
    /* Keeps the tick labels at neighbouring ends of two x axes apart. */
    double gap = round(fmax(0.9 * em, 2 * margins.right + 0.8 * em));
    double r = (double)rows, c = (double)columns;
    double width = (area.width - margins.left - margins.right - (c - 1) * gap) / c;
    double height = (area.height - margins.bottom - r * strip - (r - 1) * gap / 2) / r;
    return (mgk_tiles){area.x + margins.left, area.y + strip,          width, height,
                       width + gap,           height + strip + gap / 2};
}

mgk_rect mgk_tiles_frame(const mgk_tiles *tiles, size_t row, size_t column)
{
    return (mgk_rect){round(tiles->x + (double)column * tiles->across),
                      round(tiles->y + (double)row * tiles->down), fmax(1, round(tiles->width)),
                      fmax(1, round(tiles->height))};
}
