/* SPDX-License-Identifier: MIT */
#include "plots/scales/colorbar.h"

#include <math.h>
#include <stdio.h>

/* In text sizes. */
static const double bar_width = 0.7, tick_length = 0.2, gap = 0.2;

/* Percentiles are labelled with their values. */
static mgk_ticks percentile_ticks(const mgk_scale *scale, size_t most)
{
    mgk_ticks ticks = {0};
    size_t intervals = most >= 5 ? 4 : most >= 3 ? 2 : 1;
    for (size_t i = 0; i <= intervals; i++) {
        double value = scale->quantiles[i * (MGK_QUANTILES - 1) / intervals];
        if (i > 0 && value == ticks.tick[ticks.count - 1].value)
            continue;
        ticks.tick[ticks.count++].value = value;
    }
    mgk_ticks_label(&ticks, 2);
    return ticks;
}

static mgk_ticks magnitude_ticks(const mgk_scale *scale, size_t most)
{
    switch (scale->scaling) {
    case SCALING_LOG:
        return mgk_ticks_log(scale->low, scale->high, most);
    case SCALING_PERCENTILE:
        return percentile_ticks(scale, most);
    default:
        return mgk_ticks_linear(scale->low, scale->high, most);
    }
}

/* Ticks of a magnitude on both sides of zero, except ticks that would touch zero's label. */
static mgk_ticks mirrored(const mgk_scale *scale, const mgk_ticks *positive)
{
    mgk_ticks ticks = {.count = 1, .tick[0] = {0, "0"}};
    for (size_t i = positive->count; i-- > 0 && ticks.count + 2 <= MGK_TICKS_MAX;) {
        const mgk_tick *source = &positive->tick[i];
        if (mgk_scale_at(scale, source->value) < 0.6)
            continue;
        ticks.tick[ticks.count++] = *source;
        mgk_tick *below = &ticks.tick[ticks.count++];
        below->value = -source->value;
        snprintf(below->label, MGK_TICK_LABEL, "\u2212%.*s", MGK_TICK_LABEL - 4, source->label);
    }
    return ticks;
}

/*
 * "≤ 10⁻⁶" at the lower end, because smaller values have its colour; drops ticks that would touch
 * it.
 */
static mgk_ticks mark_clipped(const mgk_scale *scale, double line, const mgk_ticks *ticks)
{
    char label[MGK_TICK_LABEL];
    mgk_ticks marked = {.count = 1, .tick[0].value = scale->low, .scientific = ticks->scientific};
    mgk_tick_label_as(scale->low, 2, ticks->scientific, label);
    snprintf(marked.tick[0].label, MGK_TICK_LABEL, "\u2264 %.*s", MGK_TICK_LABEL - 5, label);
    for (size_t i = 0; i < ticks->count && marked.count < MGK_TICKS_MAX; i++)
        if (mgk_scale_at(scale, ticks->tick[i].value) > line)
            marked.tick[marked.count++] = ticks->tick[i];
    return marked;
}

static mgk_ticks usual_ticks(const mgk_colorbar *bar, double height, size_t most)
{
    const mgk_scale *scale = bar->scale;
    if (!scale->symmetric) {
        mgk_ticks ticks = magnitude_ticks(scale, most);
        return scale->clipped ? mark_clipped(scale, 1.2 * bar->style.small.size / height, &ticks)
                              : ticks;
    }
    if (scale->scaling == SCALING_LINEAR)
        return mgk_ticks_linear(-scale->high, scale->high, most);
    mgk_ticks positive = magnitude_ticks(scale, most > 4 ? most / 2 : 2);
    return mirrored(scale, &positive);
}

/* Round numbers of a finer step, the outer ones of them if they are more than `most`. */
static mgk_ticks finer_ticks(double low, double high, size_t most)
{
    mgk_ticks ticks = mgk_ticks_every(low, high, mgk_round_step((high - low) / 5));
    if (ticks.count > most) {
        ticks.tick[1] = ticks.tick[ticks.count - 1];
        ticks.count = 2;
    }
    return ticks;
}

mgk_ticks mgk_colorbar_ticks(const mgk_colorbar *bar, double height)
{
    const mgk_scale *scale = bar->scale;
    const double low = scale->symmetric ? -scale->high : scale->low;
    const size_t most = (size_t)fmin(fmax(height / (2.0 * bar->style.small.size), 2), 7);
    const mgk_ticks ticks = usual_ticks(bar, height, most);
    const bool enough = ticks.count > 1 || !(low < scale->high) || !isfinite(scale->high - low);
    return enough ? ticks : finer_ticks(low, scale->high, most);
}

static double labels_width(const mgk_ticks *ticks, mgk_font font)
{
    double widest = 0;
    for (size_t i = 0; i < ticks->count; i++)
        widest = fmax(widest, mgk_text_width(ticks->tick[i].label, font));
    return widest;
}

double mgk_colorbar_width(const mgk_colorbar *bar, double height)
{
    mgk_ticks ticks = mgk_colorbar_ticks(bar, height);
    double em = bar->style.text.size;
    return ceil((bar_width + tick_length + gap) * em + labels_width(&ticks, bar->style.small) +
                (bar->label ? mgk_line_height(bar->style.text) : 0));
}

/* Draws the colours, one step per row, from 1 at the top to 0 at the bottom. */
static void draw_colors(mgk_canvas *canvas, mgk_colormap colormap, mgk_rect rect)
{
    enum { STEPS = 256 };
    mgk_rgb pixels[STEPS];
    for (int i = 0; i < STEPS; i++)
        pixels[i] = mgk_colormap_at(colormap, 1 - i / (STEPS - 1.0));
    mgk_canvas_raster(canvas, &(mgk_raster){1, STEPS, pixels}, rect);
}

void mgk_colorbar_draw(mgk_canvas *canvas, const mgk_colorbar *bar, double x, double y,
                       double height)
{
    const mgk_style *style = &bar->style;
    double em = style->text.size;
    mgk_rect rect = {round(x), y, round(bar_width * em), height};
    double right = rect.x + rect.width, mark = tick_length * em;
    mgk_ticks ticks = mgk_colorbar_ticks(bar, height);
    draw_colors(canvas, bar->colormap, rect);
    mgk_canvas_frame(canvas, rect, style->thin);
    for (size_t i = 0; i < ticks.count; i++) {
        double at = y + height * (1 - mgk_scale_at(bar->scale, ticks.tick[i].value));
        mgk_canvas_line(canvas, right, at, right + mark, at, style->thin);
        mgk_canvas_text(canvas, right + mark + gap * em,
                        at + style->small.size * MGK_CAP_HEIGHT / 2, ticks.tick[i].label,
                        style->small, ANCHOR_START);
    }
    mgk_font font = style->text;
    /* The label may extend half a line beyond both ends. */
    if (bar->label)
        font.size *= fmin(1, (height + em) / mgk_text_width(bar->label, font));
    if (bar->label)
        mgk_canvas_text_upward(canvas, x + mgk_colorbar_width(bar, height) - MGK_DESCENT * em,
                               y + height / 2, bar->label, font, ANCHOR_MIDDLE);
}
