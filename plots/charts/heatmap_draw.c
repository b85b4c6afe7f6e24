/* SPDX-License-Identifier: MIT */
/* Draws a measured grid. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "plots/canvas/fit.h"
#include "plots/canvas/page.h"
#include "plots/charts/heatmap_grid.h"
#include "plots/scales/colorbar.h"

/* "head 3", or "3" if short. */
static void number_label(const mgk_heatmap_plan *plan, const char *name, bool is_short,
                         const int32_t *numbers, size_t index, char out[32])
{
    const long number = (numbers ? (long)numbers[index] : (long)index) + plan->options->count_from;
    if (is_short)
        snprintf(out, 32, "%ld", number);
    else
        snprintf(out, 32, "%s %ld", name, number);
}

/* The distance between two panels of a group. */
static double column_step(const mgk_heatmap_plan *plan, size_t g)
{
    double bar =
        plan->options->range_per_panel ? plan->bar_width + round(0.25 * plan->style.text.size) : 0;
    return plan->groups[g].cell_width + bar + plan->gap;
}

static void draw_titles(mgk_canvas *canvas, const mgk_heatmap_plan *plan, size_t g, double x,
                        double y)
{
    const mgk_panels *panels = &plan->grid->groups[g];
    const mgk_heatmap_group *group = &plan->groups[g];
    const mgk_style *style = &plan->style;
    double em = style->text.size, line = mgk_line_height(style->text);
    double step = column_step(plan, g), lowest = y + plan->top - 0.4 * em;
    double upper = lowest - (panels->keys > 1 ? line : 0);
    char text[256];
    mgk_heatmap_title(plan->grid, g, text, sizeof(text));
    mgk_canvas_text(canvas, x + group->title_x, y + em, text, style->title, ANCHOR_MIDDLE);
    /* If labels are only numbers, their word is written once, left of the first. */
    double margin = x + group->x - 0.4 * em;
    if (group->left_axis && group->short_heads)
        mgk_canvas_text(canvas, margin, upper, "head", style->text, ANCHOR_END);
    if (group->left_axis && group->short_keys && panels->keys > 1)
        mgk_canvas_text(canvas, margin, lowest, "key", style->text, ANCHOR_END);
    for (size_t h = 0; h < panels->heads; h++) {
        char label[32];
        double first = x + group->x + (double)(h * panels->keys) * step;
        double middle = first + ((double)(panels->keys - 1) * step + group->cell_width) / 2;
        number_label(plan, "head", group->short_heads, panels->head_numbers, h, label);
        mgk_canvas_text(canvas, middle, upper, label, style->text, ANCHOR_MIDDLE);
        for (size_t m = 0; panels->keys > 1 && m < panels->keys; m++) {
            number_label(plan, "key", group->short_keys, NULL, m, label);
            mgk_canvas_text(canvas, first + (double)m * step + group->cell_width / 2, lowest, label,
                            style->text, ANCHOR_MIDDLE);
        }
    }
}

/* The lower or (upward) the left side of a panel, for texts along it. */
typedef struct extent {
    double x, y, length;
    double room; /* length of this and all following panels */
    bool upward;
    bool apart;         /* the name is on a separate line, */
    double line;        /* at this distance */
    size_t first, size; /* numbers at the ends: first to first + size - 1; none if size is 0 */
} extent;

/* Draws a text `along` units from the start of the side, at a distance of `away` units. */
static void put(mgk_canvas *canvas, const extent *side, double along, double away, const char *text,
                mgk_font font, mgk_anchor anchor)
{
    if (side->upward)
        mgk_canvas_text_upward(canvas, side->x - away, side->y + along, text, font, anchor);
    else
        mgk_canvas_text(canvas, side->x + along, side->y + away, text, font, anchor);
}

/*
 * "1  name  256": the first and last number at the ends, and the name in the middle, on a separate
 * line if necessary.
 */
static void draw_extent(mgk_canvas *canvas, const extent *side, const char *name, mgk_font font)
{
    char first[32], last[32];
    snprintf(first, sizeof(first), "%zu", side->first);
    snprintf(last, sizeof(last), "%zu", side->first + side->size - 1);
    double last_width = mgk_text_width(last, font), space = side->length;
    double first_width = mgk_text_width(first, font) + mgk_text_width(" ", font);
    if (side->size > 1 && first_width + last_width <= space) {
        /* Rows count downwards: the first is at the top, the end of upward text. */
        put(canvas, side, 0, 0, first, font, side->upward ? ANCHOR_END : ANCHOR_START);
        put(canvas, side, space, 0, last, font, side->upward ? ANCHOR_START : ANCHOR_END);
    }
    double width = name ? mgk_text_width(name, font) : 0, away = side->apart ? side->line : 0;
    if (name && width <= space)
        put(canvas, side, space / 2, away, name, font, ANCHOR_MIDDLE);
    else if (name && width <= side->room)
        put(canvas, side, side->upward ? space : 0, away, name, font, ANCHOR_START);
}

/* Where the labels of layers are only numbers, their word is written once, left of them all. */
static void draw_row_word(mgk_canvas *canvas, const mgk_heatmap_plan *plan, size_t g, double x,
                          double y)
{
    const mgk_heatmap_group *group = &plan->groups[g];
    const double layers = (double)plan->grid->groups[g].layers,
                 height = layers * (plan->row_height + plan->gap) - plan->gap,
                 outer = x + group->x - mgk_heatmap_axis_width(plan, group);
    if (plan->short_rows)
        mgk_canvas_text_upward(canvas, outer + 0.9 * plan->style.text.size,
                               y + plan->top + height / 2, "layer",
                               mgk_fit_font(plan->style.text, "layer", height), ANCHOR_MIDDLE);
}

static void draw_margins(mgk_canvas *canvas, const mgk_heatmap_plan *plan, size_t g, double x,
                         double y)
{
    const mgk_panels *panels = &plan->grid->groups[g];
    const mgk_heatmap_group *group = &plan->groups[g];
    const mgk_style *style = &plan->style;
    double left = x + group->x, step = plan->row_height + plan->gap;
    double last = y + plan->top + (double)(panels->layers - 1) * step;
    double bottom = last + group->cell_height, labels = group->labels.space;
    const double below = group->col_labels.space;
    double line = mgk_line_height(style->small);
    const size_t first = mgk_heatmap_first(plan, panels);
    /* Labels replace the numbers. */
    extent lower = {left,
                    bottom + below + style->small.size * 1.05,
                    group->cell_width,
                    2 * (group->title_x - group->x),
                    false,
                    group->col_apart,
                    line,
                    first,
                    panels->labels ? 0 : panels->cols};
    draw_extent(canvas, &lower, plan->grid->col_name, style->small);
    for (size_t c = 0; c < panels->heads * panels->keys; c++)
        mgk_labels_draw_below(canvas, &group->col_labels, left + (double)c * column_step(plan, g),
                              bottom);
    if (!group->left_axis)
        return;
    extent upward = {left - labels - 0.4 * style->small.size,
                     last,
                     group->cell_height,
                     last + group->cell_height - y - plan->top,
                     true,
                     group->row_apart,
                     line,
                     first,
                     panels->labels ? 0 : panels->rows};
    double label_x = left - labels - (group->row_apart ? 2 : 1) * line - 0.3 * style->text.size;
    draw_extent(canvas, &upward, plan->grid->row_name, style->small);
    draw_row_word(canvas, plan, g, x, y);
    for (size_t l = 0; l < panels->layers; l++) {
        mgk_labels_draw_left(canvas, &group->labels, left, y + plan->top + (double)l * step);
        char label[32];
        double middle = y + plan->top + (double)l * step + group->cell_height / 2;
        number_label(plan, "layer", plan->short_rows, panels->layer_numbers, l, label);
        if (plan->short_rows)
            mgk_canvas_text(canvas, label_x, middle + style->text.size * MGK_CAP_HEIGHT / 2, label,
                            style->text, ANCHOR_END);
        else
            mgk_canvas_text_upward(canvas, label_x, middle, label, style->text, ANCHOR_MIDDLE);
    }
}

/* One matrix at (x, y), with its colour bar if each matrix has one. */
static mgk_status draw_panel(mgk_canvas *canvas, const mgk_heatmap_plan *plan, size_t g,
                             const mgk_drawn_matrix *view, const mgk_scale *scale, double *values,
                             double x, double y)
{
    const mgk_panels *panels = &plan->grid->groups[g];
    const mgk_heatmap_group *group = &plan->groups[g];
    mgk_rect rect = {x, y, group->cell_width, group->cell_height};
    mgk_raster raster;
    mgk_pool(view, plan->options->pooling, group->rows, group->cols, values);
    TRY(mgk_color_values(values, group->rows, group->cols, group->factor, scale,
                         plan->options->colormap, &raster));
    if (panels->causal)
        mgk_hatch_masked(values, group->rows, group->cols, group->factor, view->rows, &raster);
    mgk_hatch_padding(group->rows, group->cols, group->factor, view->cols, panels->padding_first,
                      panels->padding_last, &raster);
    mgk_canvas_raster(canvas, &raster, rect);
    mgk_free(raster.pixels);
    mgk_canvas_frame(canvas, rect, plan->style.thin);
    if (plan->options->range_per_panel) {
        mgk_colorbar bar = {scale, plan->options->colormap, NULL, plan->bar_style};
        mgk_colorbar_draw(canvas, &bar, x + rect.width + round(0.25 * plan->style.text.size), y,
                          rect.height);
    }
    return STATUS_OK;
}

/* Draws a group; *scale advances over the panels' own scales. */
static mgk_status draw_group(mgk_canvas *canvas, const mgk_heatmap_plan *plan, size_t g, double x,
                             double y, size_t *scale)
{
    mgk_status status = STATUS_OK;
    const mgk_panels *panels = &plan->grid->groups[g];
    const mgk_heatmap_group *group = &plan->groups[g];
    size_t columns = panels->heads * panels->keys;
    double *values = NULL;
    CHECK(mgk_alloc(group->rows * group->cols, sizeof(double), &values));
    for (size_t l = 0; l < panels->layers; l++)
        for (size_t c = 0; c < columns; c++) {
            mgk_drawn_matrix view = mgk_panel_view(panels, l, 0, c);
            CHECK(draw_panel(canvas, plan, g, &view, &plan->scales[*scale], values,
                             x + group->x + (double)c * column_step(plan, g),
                             y + plan->top + (double)l * (plan->row_height + plan->gap)));
            *scale += plan->options->range_per_panel ? 1 : 0;
        }
out:
    mgk_free(values);
    return status;
}

mgk_status mgk_heatmap_draw(mgk_canvas *canvas, const mgk_heatmap_plan *plan, double x, double y)
{
    size_t scale = 0;
    for (size_t g = 0; g < plan->grid->group_count; g++) {
        draw_titles(canvas, plan, g, x, y);
        draw_margins(canvas, plan, g, x, y);
        TRY(draw_group(canvas, plan, g, x, y, &scale));
    }
    mgk_legend_draw(canvas, &plan->notes, x + plan->middle - plan->notes_width / 2,
                    y + plan->height - plan->notes_height, plan->notes_width);
    if (!plan->options->range_per_panel) {
        mgk_colorbar bar = {plan->scales, plan->options->colormap,
                            plan->bar_label[0] ? plan->bar_label : NULL, plan->style};
        mgk_colorbar_draw(canvas, &bar, x + plan->width - plan->bar_width, y + plan->top,
                          plan->bar_height);
    }
    return STATUS_OK;
}

mgk_status mgk_draw_heatmap_grid(const mgk_heatmap_grid *grid, const mgk_picture_options *options,
                                 const char *path)
{
    mgk_status status = STATUS_OK;
    mgk_heatmap_plan plan;
    mgk_page page = {0};
    TRY(mgk_heatmap_measure(grid, options, &plan));
    CHECK(mgk_page_open(path, plan.width, plan.height, plan.middle, plan.style, options, &page));
    CHECK(mgk_heatmap_draw(page.canvas, &plan, page.x, page.y));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    mgk_heatmap_free(&plan);
    return status;
}
