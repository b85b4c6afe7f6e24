#include "plots/bars.h"

#include <math.h>
#include <stdio.h>

#include "plots/axes.h"
#include "plots/legend.h"
#include "plots/page.h"

enum { SERIES_MAX = 16, CATEGORIES_MAX = MGK_TICKS_MAX };

static const double picture_height = 800;

static double value_at(const mgk_bars *bars, size_t series, size_t category)
{
    return bars->values[series * bars->category_count + category];
}

static mgk_status value_range(const mgk_bars *bars, double *low, double *high)
{
    *low = *high = 0;
    if (bars->series_count < 1 || bars->series_count > SERIES_MAX || bars->category_count < 1 ||
        bars->category_count > CATEGORIES_MAX)
        return mgk_fail(STATUS_SHAPE, "%zu series of %zu bars: expected 1 to %d of 1 to %d",
                        bars->series_count, bars->category_count, SERIES_MAX, CATEGORIES_MAX);
    for (size_t s = 0; s < bars->series_count; s++)
        for (size_t c = 0; c < bars->category_count; c++) {
            double value = value_at(bars, s, c);
            if (!isfinite(value))
                return mgk_fail(STATUS_NUMERIC, "%s, %s: %g is not a finite number",
                                bars->series[s], bars->categories[c], value);
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    return STATUS_OK;
}

/* The bars stand on the places 0, 1, 2, ... of the x axis. */
static void draw_category(mgk_canvas *canvas, const mgk_bars *bars, const mgk_axes *axes,
                          size_t category)
{
    const double filled = 0.8;
    double zero = mgk_axes_y(axes, 0), series = (double)bars->series_count;
    for (size_t s = 0; s < bars->series_count; s++) {
        double left = (double)category - filled / 2 + filled * (double)s / series;
        double x = mgk_axes_x(axes, left), right = mgk_axes_x(axes, left + filled / series);
        double y = mgk_axes_y(axes, value_at(bars, s, category));
        mgk_rect bar = {x, fmin(y, zero), right - x, fabs(zero - y)};
        mgk_canvas_fill(canvas, bar, mgk_series_color(s), 1);
    }
}

static mgk_axis category_axis(const mgk_bars *bars)
{
    mgk_axis axis = {.low = -0.5, .high = (double)bars->category_count - 0.5};
    for (size_t c = 0; c < bars->category_count; c++) {
        mgk_tick *tick = &axis.ticks.tick[axis.ticks.count++];
        tick->value = (double)c;
        snprintf(tick->label, MGK_TICK_LABEL, "%s", bars->categories[c]);
    }
    return axis;
}

static mgk_status draw_plot(mgk_canvas *canvas, const mgk_bars *bars, mgk_style style,
                            mgk_rect area, double low, double high)
{
    double em = style.text.size;
    mgk_axes axes = {.style = style, .x = category_axis(bars)};
    mgk_legend legend = {bars->series, NULL, bars->series_count, style.text};
    axes.y = mgk_axis_over(low, high, false, true, mgk_ticks_up(area.height, style));
    axes.y.label = bars->y_label;
    mgk_margins margins = mgk_axes_margins(&axes);
    /* Category names are centred inside the frame and need no room beside it. */
    margins.right = 0.1 * em;
    margins.top += mgk_legend_height(&legend, area.width - margins.left);
    axes.frame = mgk_inset(area, margins);
    mgk_legend_draw(canvas, &legend, axes.frame.x, area.y, axes.frame.width);
    mgk_axes_draw_grid(canvas, &axes);
    for (size_t c = 0; c < bars->category_count; c++)
        draw_category(canvas, bars, &axes, c);
    mgk_axes_draw(canvas, &axes);
    return STATUS_OK;
}

/* Wide enough for the bars and for the names under them. */
static double picture_width(const mgk_bars *bars, mgk_style style)
{
    double widest = 0, em = style.text.size;
    for (size_t c = 0; c < bars->category_count; c++)
        widest = fmax(widest, mgk_text_width(bars->categories[c], style.small));
    double category = fmax(widest + em, (double)bars->series_count * em);
    return fmax(1240, 6 * em + category * (double)bars->category_count);
}

mgk_status mgk_draw_bars(const mgk_bars *bars, const mgk_picture_options *options, const char *path)
{
    mgk_status status = STATUS_OK;
    double low, high;
    mgk_page page = {0};
    mgk_style style = mgk_style_of(MGK_TEXT_SIZE);
    TRY(value_range(bars, &low, &high));
    double width = picture_width(bars, style);
    CHECK(mgk_page_open(path, width, picture_height, style, options, &page));
    CHECK(draw_plot(page.canvas, bars, style, (mgk_rect){page.x, page.y, width, picture_height},
                    low, high));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    return status;
}
