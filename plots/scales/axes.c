/* SPDX-License-Identifier: MIT */
#include "plots/scales/axes.h"

#include <float.h>
#include <math.h>

/* Lengths in text sizes. */
static const double tick_length = 0.25, pad = 0.3;

static void widen(double *low, double *high, bool log)
{
    if (!mgk_is_one_value(*low, *high))
        return;
    double half = fabs(*low) < 2 * DBL_MIN ? 1 : fabs(*low) / 2;
    *high = log ? *low * 2 : *low + half;
    *low = log ? *low / 2 : *low - half;
}

mgk_axis mgk_axis_over(double low, double high, bool log, bool round_ends, size_t most)
{
    mgk_axis axis = {.log = log};
    widen(&low, &high, log);
    double step = mgk_round_step((high - low) / (double)(most - 1));
    if (round_ends && log) {
        /* To 1, 2 or 5 x 10^k. */
        low = 1 / mgk_round_step(1 / low);
        high = mgk_round_step(high);
    } else if (round_ends && isfinite(low - step) && isfinite(high + step)) {
        low = floor(low / step + 1e-9) * step;
        high = ceil(high / step - 1e-9) * step;
    }
    axis.low = low;
    axis.high = high;
    axis.ticks = log ? mgk_ticks_log(low, high, most) : mgk_ticks_every(low, high, step);
    return axis;
}

mgk_axis mgk_axis_whole(double low, double high, size_t most)
{
    double step = fmax(1, mgk_round_step((high - low) / (double)(most - 1)));
    return (mgk_axis){.low = low, .high = high, .ticks = mgk_ticks_every(low, high, step)};
}

size_t mgk_ticks_across(double width, mgk_style style)
{
    return (size_t)fmin(fmax(width / (3.0 * style.small.size), 2), 8);
}

size_t mgk_ticks_up(double height, mgk_style style)
{
    return (size_t)fmin(fmax(height / (2.5 * style.small.size), 2), 7);
}

static double share(const mgk_axis *axis, double value)
{
    if (axis->log)
        return (log(value) - log(axis->low)) / (log(axis->high) - log(axis->low));
    return (value - axis->low) / (axis->high - axis->low);
}

double mgk_axes_x(const mgk_axes *axes, double value)
{
    return axes->frame.x + axes->frame.width * share(&axes->x, value);
}

double mgk_axes_y(const mgk_axes *axes, double value)
{
    return axes->frame.y + axes->frame.height * (1 - share(&axes->y, value));
}

static double widest_label(const mgk_axis *axis, mgk_font font)
{
    double widest = 0;
    for (size_t i = 0; i < axis->ticks.count; i++)
        widest = fmax(widest, mgk_text_width(axis->ticks.tick[i].label, font));
    return widest;
}

mgk_axis mgk_axis_whole_across(double low, double high, double width, mgk_style style)
{
    size_t most = mgk_ticks_across(width, style);
    mgk_axis axis = mgk_axis_whole(low, high, most);
    while (most > 2 && (double)axis.ticks.count * widest_label(&axis, style.small) > 0.8 * width)
        axis = mgk_axis_whole(low, high, --most);
    return axis;
}

mgk_margins mgk_axes_margins(const mgk_axes *axes)
{
    const mgk_style *style = &axes->style;
    double em = style->text.size, mark = tick_length * em;
    mgk_margins margins = {.left = mark, .bottom = mark, .right = 0.1 * em, .top = 0.1 * em};
    if (!axes->y.hide_labels) {
        margins.left += pad * em + widest_label(&axes->y, style->small);
        /* Half of the topmost tick label is above the frame. */
        margins.top = fmax(margins.top, style->small.size * MGK_CAP_HEIGHT / 2);
    }
    if (!axes->x.hide_labels) {
        margins.bottom += pad * em + style->small.size;
        margins.right = fmax(margins.right, widest_label(&axes->x, style->small) / 2);
    }
    if (axes->y.label)
        margins.left += mgk_line_height(style->text);
    if (axes->x.label)
        margins.bottom += mgk_line_height(style->text);
    if (axes->title)
        margins.top = mgk_line_height(style->title);
    return margins;
}

mgk_rect mgk_inset(mgk_rect outer, mgk_margins margins)
{
    double x = round(outer.x + margins.left), y = round(outer.y + margins.top);
    return (mgk_rect){x, y, fmax(1, round(outer.x + outer.width - margins.right) - x),
                      fmax(1, round(outer.y + outer.height - margins.bottom) - y)};
}

void mgk_axes_draw_grid(mgk_canvas *canvas, const mgk_axes *axes)
{
    for (size_t i = 0; i < axes->y.ticks.count; i++) {
        double y = mgk_axes_y(axes, axes->y.ticks.tick[i].value);
        mgk_canvas_line(canvas, axes->frame.x, y, axes->frame.x + axes->frame.width, y,
                        axes->style.grid);
    }
}

static void draw_x(mgk_canvas *canvas, const mgk_axes *axes)
{
    const mgk_style *style = &axes->style;
    double em = style->text.size, mark = tick_length * em;
    double bottom = axes->frame.y + axes->frame.height;
    double baseline = bottom + mark + pad * em / 2 + style->small.size * MGK_CAP_HEIGHT;
    for (size_t i = 0; i < axes->x.ticks.count; i++) {
        const mgk_tick *tick = &axes->x.ticks.tick[i];
        double x = mgk_axes_x(axes, tick->value);
        mgk_canvas_line(canvas, x, bottom, x, bottom + mark, style->thin);
        if (!axes->x.hide_labels)
            mgk_canvas_text(canvas, x, baseline, tick->label, style->small, ANCHOR_MIDDLE);
    }
    if (axes->x.label)
        mgk_canvas_text(canvas, axes->frame.x + axes->frame.width / 2,
                        bottom + mgk_axes_margins(axes).bottom - MGK_DESCENT * em, axes->x.label,
                        style->text, ANCHOR_MIDDLE);
}

static void draw_y(mgk_canvas *canvas, const mgk_axes *axes)
{
    const mgk_style *style = &axes->style;
    double em = style->text.size, mark = tick_length * em, left = axes->frame.x;
    for (size_t i = 0; i < axes->y.ticks.count; i++) {
        const mgk_tick *tick = &axes->y.ticks.tick[i];
        double y = mgk_axes_y(axes, tick->value);
        mgk_canvas_line(canvas, left - mark, y, left, y, style->thin);
        if (!axes->y.hide_labels)
            mgk_canvas_text(canvas, left - mark - pad * em / 2,
                            y + style->small.size * MGK_CAP_HEIGHT / 2, tick->label, style->small,
                            ANCHOR_END);
    }
    if (axes->y.label)
        mgk_canvas_text_upward(canvas, left - mgk_axes_margins(axes).left + MGK_CAP_HEIGHT * em,
                               axes->frame.y + axes->frame.height / 2, axes->y.label, style->text,
                               ANCHOR_MIDDLE);
}

void mgk_axes_draw(mgk_canvas *canvas, const mgk_axes *axes)
{
    const mgk_style *style = &axes->style;
    mgk_canvas_frame(canvas, axes->frame, style->thin);
    draw_x(canvas, axes);
    draw_y(canvas, axes);
    if (axes->title)
        mgk_canvas_text(canvas, axes->frame.x + axes->frame.width / 2,
                        axes->frame.y - 0.4 * style->title.size, axes->title, style->title,
                        ANCHOR_MIDDLE);
}
