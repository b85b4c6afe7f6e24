/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/memory.h"
#include "plots/canvas/page.h"
#include "plots/charts/curves.h"
#include "plots/figures/performer.h"
#include "plots/scales/colorbar.h"

/* Colours end at this power of ten: where x + y is 0 positive features make no error at all. */
static const double most_powers = 6;

static const double map_side = 860, slice_width = 760;

typedef struct picture {
    const mgk_performer2_input *input;
    const mgk_picture_options *options;
    mgk_style style;
    mgk_scale scale;
    mgk_axes map;      /* the left panel, */
    mgk_axes slice[2]; /* and the right ones; frames are relative to the contents */
    mgk_curves plots[2];
    mgk_curve curves[3];
    double *x, *ratio, *errors[2]; /* [2 slice_count] of the slice, symmetrised */
    double width, height;
} picture;

/* ---- data ------------------------------------------------------------------------------------ */

static mgk_status fill_slice(picture *p)
{
    const mgk_performer2_input *in = p->input;
    const size_t count = in->slice_count;
    TRY(mgk_alloc(2 * count, sizeof(double), &p->x));
    TRY(mgk_alloc(2 * count, sizeof(double), &p->ratio));
    for (int e = 0; e < 2; e++)
        TRY(mgk_alloc(2 * count, sizeof(double), &p->errors[e]));
    for (size_t i = 0; i < 2 * count; i++) {
        const size_t at = i < count ? count - 1 - i : i - count;
        p->x[i] = i < count ? -in->slice_angles[at] : in->slice_angles[at];
        p->errors[0][i] = in->trigonometric[at];
        p->errors[1][i] = in->positive[at];
        p->ratio[i] = in->trigonometric[at] / in->positive[at];
    }
    return STATUS_OK;
}

static void release(picture *p)
{
    mgk_free(p->x);
    mgk_free(p->ratio);
    mgk_free(p->errors[0]);
    mgk_free(p->errors[1]);
}

/* The powers of ten of all cells [2 lengths, 2 angles], length 2 at the top. */
static mgk_status draw_cells(mgk_canvas *canvas, const picture *p, mgk_rect frame)
{
    const mgk_performer2_input *in = p->input;
    const size_t rows = 2 * in->lengths, cols = 2 * in->angles;
    double *values;
    mgk_raster raster = {0};
    TRY(mgk_alloc(rows * cols, sizeof(*values), &values));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            const size_t l = i < in->lengths ? in->lengths - 1 - i : i - in->lengths,
                         a = j < in->angles ? in->angles - 1 - j : j - in->angles;
            values[i * cols + j] = log10(in->ratio[l * in->angles + a]);
        }
    mgk_status status =
        mgk_color_values(values, rows, cols, 1, &p->scale, p->options->colormap, &raster);
    if (status == STATUS_OK)
        mgk_canvas_raster(canvas, &raster, frame);
    mgk_free(raster.pixels);
    mgk_free(values);
    return status;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static mgk_colorbar bar_of(const picture *p)
{
    return (mgk_colorbar){.scale = &p->scale,
                          .colormap = p->options->colormap,
                          .label = "log\u2081\u2080 r; above 0 positive features err less",
                          .style = p->style};
}

static mgk_curves_range range_of(const mgk_curves *plot)
{
    mgk_curves_range range = mgk_curves_no_range;
    (void)mgk_curves_add_range(plot, &range); /* one or two curves */
    return range;
}

static void plan_slices(picture *p)
{
    const size_t count = 2 * p->input->slice_count;
    p->curves[0] = (mgk_curve){.x = p->x, .y = p->ratio, .count = count, .series = 2};
    p->curves[1] = (mgk_curve){.x = p->x, .y = p->errors[0], .count = count, .series = 0};
    p->curves[2] = (mgk_curve){.x = p->x, .y = p->errors[1], .count = count, .series = 1};
    p->plots[0] =
        (mgk_curves){.curves = p->curves, .count = 1, .y_label = "ratio r", .log_y = true};
    p->plots[1] = (mgk_curves){.curves = p->curves + 1,
                               .count = 2,
                               .x_label = "angle between x and y (rad)",
                               .y_label = "MSE of one random vector",
                               .log_y = true};
    for (int s = 0; s < 2; s++) {
        mgk_curves_range range = range_of(&p->plots[s]);
        range.left = -acos(-1);
        range.right = acos(-1);
        p->slice[s] = mgk_curves_axes(&p->plots[s], range, slice_width, map_side / 2, p->style);
    }
    p->slice[0].x.hide_labels = true;
}

static void plan(picture *p)
{
    const double em = p->style.text.size, pi = acos(-1), longest = p->input->longest,
                 head = mgk_line_height(p->style.title);
    const size_t ticks = mgk_ticks_across(map_side, p->style);
    p->map = (mgk_axes){
        .style = p->style,
        .x = mgk_axis_over(-pi, pi, false, false, ticks),
        .y = mgk_axis_over(-longest, longest, false, false, mgk_ticks_up(map_side, p->style)),
        .title = "r = MSE trigonometric / MSE positive"};
    p->map.x.label = "angle between x and y (rad)";
    p->map.y.label = "length of x and y, mirrored at 0";
    const mgk_margins map = mgk_axes_margins(&p->map);
    p->map.frame = (mgk_rect){ceil(map.left), ceil(head), map_side, map_side};
    plan_slices(p);
    const mgk_colorbar bar = bar_of(p);
    const double left = p->map.frame.x + map_side + 0.6 * em + mgk_colorbar_width(&bar, map_side) +
                        1.2 * em,
                 margin = ceil(fmax(mgk_axes_margins(&p->slice[0]).left,
                                    mgk_axes_margins(&p->slice[1]).left)),
                 gap = ceil(1.6 * head), height = floor((map_side - gap) / 2);
    for (int s = 0; s < 2; s++)
        p->slice[s].frame =
            (mgk_rect){left + margin, p->map.frame.y + s * (height + gap), slice_width, height};
    p->width = left + margin + slice_width + mgk_axes_margins(&p->slice[1]).right;
    p->height = p->map.frame.y + map_side + ceil(map.bottom);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static mgk_axes moved(mgk_axes axes, const mgk_page *page)
{
    axes.frame.x = round(axes.frame.x + page->x);
    axes.frame.y = round(axes.frame.y + page->y);
    return axes;
}

static mgk_status draw_map(const picture *p, mgk_page *page)
{
    const mgk_axes axes = moved(p->map, page);
    const mgk_colorbar bar = bar_of(p);
    TRY(draw_cells(page->canvas, p, axes.frame));
    mgk_axes_draw(page->canvas, &axes);
    mgk_colorbar_draw(page->canvas, &bar,
                      axes.frame.x + axes.frame.width + 0.6 * p->style.text.size, axes.frame.y,
                      axes.frame.height);
    return STATUS_OK;
}

/* Above the lower panel; the upper one has a title. */
static void draw_legend(const picture *p, mgk_page *page, mgk_rect frame)
{
    const mgk_legend_entry entries[] = {{"trigonometric features", mgk_series_color(0), KEY_LINE},
                                        {"positive features", mgk_series_color(1), KEY_LINE}};
    const mgk_legend legend = {entries, 2, p->style.small};
    const double height = mgk_legend_height(&legend, frame.width);
    mgk_legend_draw(page->canvas, &legend, frame.x, frame.y - height, frame.width);
}

static mgk_status draw_slices(const picture *p, mgk_page *page)
{
    char title[64];
    for (int s = 0; s < 2; s++) {
        mgk_axes axes = moved(p->slice[s], page);
        snprintf(title, sizeof(title), "x and y of length %g", p->input->slice_length);
        axes.title = s == 0 ? title : NULL;
        TRY(mgk_curves_draw(page->canvas, &p->plots[s], &axes));
        if (s == 1)
            draw_legend(p, page, axes.frame);
    }
    return STATUS_OK;
}

mgk_status mgk_performer2(const mgk_performer2_input *input, const mgk_picture_options *options,
                          const char *path)
{
    mgk_status status;
    mgk_page page = {0};
    picture p = {.input = input,
                 .options = options,
                 .style = mgk_style_of(MGK_TEXT_SIZE),
                 .scale = {.scaling = SCALING_LINEAR, .symmetric = true, .high = most_powers}};
    CHECK(fill_slice(&p));
    plan(&p);
    CHECK(mgk_page_open(path, p.width, p.height, p.width / 2, p.style, options, &page));
    CHECK(draw_map(&p, &page));
    CHECK(draw_slices(&p, &page));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    release(&p);
    return status;
}
