/* SPDX-License-Identifier: MIT */
#include "plots/canvas/style.h"

#include <math.h>

static const mgk_rgb ink = {32, 32, 32};

mgk_style mgk_style_of(double text_size)
{
    double line = fmax(1, round(text_size / 18));
    return (mgk_style){
        .text = {text_size, false, ink},
        .small = {round(text_size * 0.85), false, ink},
        .title = {text_size, true, ink},
        .thin = {{80, 80, 80}, line, 0},
        .grid = {{225, 225, 225}, line, 0},
    };
}

double mgk_text_size_for(double width)
{
    const double page = 6.75 * 300;
    return round(fmax(MGK_TEXT_SIZE, MGK_TEXT_SIZE * width / page));
}

const mgk_rgb mgk_key_color = {80, 80, 80};

static unsigned char lighten(unsigned char channel)
{
    return (unsigned char)(128 + channel / 2);
}

mgk_rgb mgk_faint_color(mgk_rgb color)
{
    return (mgk_rgb){lighten(color.r), lighten(color.g), lighten(color.b)};
}

static unsigned char darken(unsigned char channel)
{
    return channel / 2;
}

mgk_rgb mgk_series_color(size_t index)
{
    static const mgk_rgb palette[] = {{0, 114, 178}, {213, 94, 0},   {0, 158, 115}, {204, 121, 167},
                                      {230, 159, 0}, {86, 180, 233}, {90, 90, 90},  {150, 130, 40}};
    const size_t colors = sizeof(palette) / sizeof(palette[0]);
    const mgk_rgb color = palette[index % colors];
    if (index / colors % 2 == 0)
        return color;
    return (mgk_rgb){darken(color.r), darken(color.g), darken(color.b)};
}

double mgk_line_height(mgk_font font)
{
    return round(font.size * 1.4);
}
