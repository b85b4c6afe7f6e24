/* SPDX-License-Identifier: MIT */
#include "plots/charts/sheet.h"

#include <math.h>

#include "base/memory.h"
#include "plots/canvas/fit.h"
#include "plots/canvas/page.h"
#include "plots/scales/legend.h"
#include "plots/scales/notes.h"

/* Between matrices, as a share of a column; the least size of titles. */
static const double gap_share = 0.07, smallest_text = 14;

/* Text is this share of a column, as long as that is a legible size. */
static const double text_share = 0.125;

/* A matrix in pixels, with what the legend must explain. */
typedef struct drawn {
    double *values; /* [rows, cols], pooled */
    size_t rows, cols, factor;
    bool is_signed;
} drawn;

typedef struct sheet_plan {
    const mgk_sheet *sheet;
    const mgk_picture_options *options;
    mgk_style style;
    size_t columns, rows;
    double column, row, gap, title; /* sizes of a cell without its gap, and of a title line */
    bool masked, gaps, any_signed;
    double width, height, bottom;
} sheet_plan;

static mgk_drawn_matrix view_of(const mgk_sheet_panel *panel)
{
    return mgk_panel_view(panel->panels, panel->layer, panel->head, 0);
}

/* Pools a matrix to its pixels; release values with mgk_free. */
static mgk_status pool(const sheet_plan *plan, const mgk_sheet_panel *panel, drawn *out)
{
    const mgk_drawn_matrix view = view_of(panel);
    const size_t side = plan->options->panel ? plan->options->panel : plan->sheet->panel;
    *out = (drawn){.values = NULL};
    mgk_fit_panel(view.rows, view.cols, side, &out->rows, &out->cols, &out->factor);
    TRY(mgk_alloc(out->rows * out->cols, sizeof(double), &out->values));
    mgk_pool(&view, plan->options->pooling, out->rows, out->cols, out->values);
    for (size_t i = 0; i < out->rows * out->cols; i++)
        out->is_signed = out->is_signed || out->values[i] < 0;
    return STATUS_OK;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static mgk_status measure_panels(sheet_plan *plan)
{
    for (size_t i = 0; i < plan->sheet->count; i++) {
        const mgk_sheet_panel *panel = &plan->sheet->panels[i];
        drawn d;
        TRY(pool(plan, panel, &d));
        plan->column = fmax(plan->column, (double)(d.cols * d.factor));
        plan->row = fmax(plan->row, (double)(d.rows * d.factor));
        plan->any_signed = plan->any_signed || d.is_signed;
        plan->masked = plan->masked || (panel->panels->causal && d.rows > 1) ||
                       panel->panels->padding_first + panel->panels->padding_last > 0;
        for (size_t k = 0; k < d.rows * d.cols; k++)
            plan->gaps = plan->gaps || !isfinite(d.values[k]);
        mgk_free(d.values);
    }
    return STATUS_OK;
}

static mgk_legend legend_of(const sheet_plan *plan, mgk_legend_entry entries[2])
{
    mgk_legend legend = {entries, 0, plan->style.small};
    if (plan->masked)
        entries[legend.count++] = (mgk_legend_entry){.label = "masked", .key = KEY_HATCH};
    if (plan->gaps)
        entries[legend.count++] = (mgk_legend_entry){"not finite", MGK_NAN_COLOR, KEY_PATCH};
    return legend;
}

static mgk_notes notes_of(const sheet_plan *plan, const char *texts[2])
{
    size_t count = 0;
    texts[count++] =
        plan->options->scaling == SCALING_LOG
            ? "each matrix has its own colours, logarithmic up to its greatest entry; "
              "entries below its 1 % quantile, or 10\u207b\u2076 of the greatest, have "
              "one colour"
            : "each matrix has its own colours, from its least to its greatest entry";
    if (plan->any_signed)
        texts[count++] = "with negative entries: blue below 0, red above";
    return (mgk_notes){texts, count, plan->style.small};
}

static void lay_out(sheet_plan *plan)
{
    const size_t count = plan->sheet->count;
    const char *texts[2];
    mgk_legend_entry entries[2];
    plan->columns = plan->sheet->columns < count ? plan->sheet->columns : count;
    plan->rows = (count + plan->columns - 1) / plan->columns;
    plan->style = mgk_style_of(fmax(smallest_text, round(text_share * plan->column)));
    plan->gap = ceil(fmax(2, gap_share * plan->column));
    plan->title = ceil(mgk_line_height(plan->style.text));
    plan->width = (double)plan->columns * plan->column + (double)(plan->columns - 1) * plan->gap;
    const mgk_legend legend = legend_of(plan, entries);
    const mgk_notes notes = notes_of(plan, texts);
    plan->bottom = (double)plan->rows * (plan->title + plan->row + plan->gap);
    plan->height = plan->bottom + mgk_legend_height(&legend, plan->width) +
                   mgk_notes_height(&notes, plan->width);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* The picture's scale and colours, or those of signed values. */
static mgk_status color(const sheet_plan *plan, const drawn *d, mgk_raster *out)
{
    mgk_picture_options look = *plan->options;
    mgk_sample sample = {0};
    mgk_scale scale;
    const size_t size = d->rows * d->cols;
    if (d->is_signed)
        look.colormap = COLORMAP_COOLWARM;
    TRY(mgk_sample_open(size, &sample));
    mgk_sample_add(&sample, d->values, size);
    mgk_status status = mgk_scale_fit(mgk_picture_rule(&look), &sample, &scale);
    mgk_sample_close(&sample);
    if (status == STATUS_OK)
        status =
            mgk_color_values(d->values, d->rows, d->cols, d->factor, &scale, look.colormap, out);
    return status;
}

static mgk_status draw_matrix(mgk_canvas *canvas, const sheet_plan *plan,
                              const mgk_sheet_panel *panel, double x, double y)
{
    mgk_status status;
    const mgk_drawn_matrix view = view_of(panel);
    const mgk_panels *panels = panel->panels;
    mgk_raster raster = {0};
    drawn d;
    CHECK(pool(plan, panel, &d));
    CHECK(color(plan, &d, &raster));
    if (panels->causal)
        mgk_hatch_masked(d.values, d.rows, d.cols, d.factor, view.rows, &raster);
    mgk_hatch_padding(d.rows, d.cols, d.factor, view.cols, panels->padding_first,
                      panels->padding_last, &raster);
    const double width = (double)(d.cols * d.factor);
    const mgk_rect rect = {x + floor((plan->column - width) / 2), y + plan->title, width,
                           (double)(d.rows * d.factor)};
    mgk_canvas_raster(canvas, &raster, rect);
    mgk_canvas_frame(canvas, rect, plan->style.thin);
out:
    mgk_free(raster.pixels);
    mgk_free(d.values);
    return status;
}

static mgk_status draw_panel(mgk_canvas *canvas, const sheet_plan *plan, size_t i, double x,
                             double y)
{
    const mgk_sheet_panel *panel = &plan->sheet->panels[i];
    const mgk_font font =
        mgk_fit_font(plan->style.text, panel->title, plan->column + plan->gap / 2);
    mgk_canvas_text(canvas, x + plan->column / 2,
                    y + plan->title - MGK_DESCENT * plan->style.text.size - 2, panel->title, font,
                    ANCHOR_MIDDLE);
    mgk_status status = draw_matrix(canvas, plan, panel, x, y);
    return status == STATUS_NUMERIC
               ? mgk_panel_fail(status, panel->panels,
                                panel->layer * panel->panels->heads + panel->head)
               : status;
}

static mgk_status draw_all(mgk_canvas *canvas, const sheet_plan *plan, double x, double y)
{
    const char *texts[2];
    mgk_legend_entry entries[2];
    for (size_t i = 0; i < plan->sheet->count; i++)
        TRY(draw_panel(canvas, plan, i,
                       x + (double)(i % plan->columns) * (plan->column + plan->gap),
                       y + (double)(i / plan->columns) * (plan->title + plan->row + plan->gap)));
    const mgk_legend legend = legend_of(plan, entries);
    const mgk_notes notes = notes_of(plan, texts);
    mgk_legend_draw(canvas, &legend, x, y + plan->bottom, plan->width);
    mgk_notes_draw(canvas, &notes, x, y + plan->bottom + mgk_legend_height(&legend, plan->width),
                   plan->width);
    return STATUS_OK;
}

mgk_status mgk_draw_sheet(const mgk_sheet *sheet, const mgk_picture_options *options,
                          const char *path)
{
    mgk_status status;
    mgk_page page = {0};
    sheet_plan plan = {.sheet = sheet, .options = options};
    if (sheet->count == 0 || sheet->columns == 0)
        return mgk_fail(STATUS_SHAPE, "%zu matrices in %zu columns: nothing to draw", sheet->count,
                        sheet->columns);
    TRY(measure_panels(&plan));
    lay_out(&plan);
    CHECK(mgk_page_open(path, plan.width, plan.height, plan.width / 2, plan.style, options, &page));
    CHECK(draw_all(page.canvas, &plan, page.x, page.y));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    return status;
}
