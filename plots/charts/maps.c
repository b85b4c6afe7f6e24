/* SPDX-License-Identifier: MIT */
#include "plots/charts/maps.h"

#include <math.h>

#include "plots/canvas/fit.h"
#include "plots/canvas/page.h"
#include "plots/charts/maps_plan.h"

/* The longest colour bar, in text sizes. */
static const double longest_bar = 40;

/* Above the middle of the cells and the name beside them, but not beyond the block, for which it
 * loses its middle. */
static void draw_title(mgk_canvas *canvas, const mgk_maps_plan *plan, size_t i, mgk_rect cells)
{
    const mgk_font font = plan->title;
    const double em = plan->look.style.text.size, left = cells.x - plan->margins.left,
                 right = left + plan->block_width - mgk_maps_block_gap * em, rounding = 0.1 * em;
    char title[256];
    mgk_fit_middle(plan->maps->titles[i], font, right - left + rounding, title, sizeof(title));
    const double half = mgk_text_width(title, font) / 2;
    const double middle = fmax(fmin(cells.x + cells.width / 2, right - half), left + half);
    const double shift = mgk_maps_top_of_cells(plan, i) - plan->heading - plan->margins.top;
    mgk_canvas_text(canvas, middle, cells.y - shift - 0.4 * em, title, font, ANCHOR_MIDDLE);
}

/* What is right of the cells: the tree, and the bar of a scale of its own. */
static mgk_status draw_beside(mgk_canvas *canvas, const mgk_maps_plan *plan, size_t i,
                              mgk_rect cells)
{
    const mgk_style *style = &plan->look.style;
    const double em = style->text.size, right = cells.x + cells.width;
    if (plan->maps->trees)
        TRY(mgk_dendrogram_draw(canvas, &plan->maps->trees[i], &plan->tree_axis, *style,
                                plan->look.cell_height,
                                (mgk_rect){right + 0.4 * em, cells.y,
                                           plan->tree - mgk_maps_tree_gap * em, cells.height}));
    if (plan->scale_count > 1) {
        const mgk_colorbar bar = mgk_maps_bar_of(plan, i);
        mgk_colorbar_draw(canvas, &bar, right + plan->tree + mgk_maps_bar_gap * em, cells.y,
                          plan->cells_height);
    }
    return STATUS_OK;
}

/* Leaves the names of axes to the first map of a row, and to the last one of a column. */
static void leave_names(const mgk_maps_plan *plan, size_t i, mgk_map *map)
{
    const size_t row = mgk_maps_row_of(plan, i), column = mgk_maps_column_of(plan, i);
    for (size_t k = 0; k < plan->maps->count; k++) {
        if (mgk_maps_row_of(plan, k) == row && mgk_maps_column_of(plan, k) < column)
            map->row_name = NULL;
        if (mgk_maps_column_of(plan, k) == column && mgk_maps_row_of(plan, k) > row)
            map->col_name = NULL;
    }
}

/* Draws a map with its upper left corner at (x, y). */
static mgk_status draw_map(mgk_canvas *canvas, const mgk_maps_plan *plan, size_t i, double x,
                           double y)
{
    mgk_map map = plan->maps->maps[i];
    leave_names(plan, i, &map);
    const mgk_rect cells = {x + plan->margins.left, y + mgk_maps_top_of_cells(plan, i),
                            plan->look.cell_width * (double)map.cols,
                            plan->look.cell_height * (double)map.rows};
    if (plan->maps->titles)
        draw_title(canvas, plan, i, cells);
    TRY(mgk_map_draw(canvas, &map, &plan->look, &plan->scales[plan->scale_count == 1 ? 0 : i],
                     cells.x, cells.y));
    return draw_beside(canvas, plan, i, cells);
}

/* Draws the name of the model above the first map of a row: a long one smaller, and then without
 * its middle. */
static void draw_heading(mgk_canvas *canvas, const mgk_maps_plan *plan, size_t i, double x,
                         double y)
{
    if (plan->heading == 0 || mgk_maps_column_of(plan, i) > 0)
        return;
    const mgk_font usual = plan->look.style.title;
    const double room = plan->block_width * (double)(plan->columns - 1) + plan->last_width;
    const char *name = plan->maps->models[plan->maps->places[i].model];
    mgk_font font = mgk_fit_font(usual, name, room);
    char text[256];
    font.size = fmax(font.size, mgk_maps_least_title * usual.size);
    mgk_fit_middle(name, font, room, text, sizeof(text));
    mgk_canvas_text(canvas, x, y + 0.8 * plan->heading, text, font, ANCHOR_START);
}

/* Draws the bar of all maps beside their cells, from the first row to the last one. */
static void draw_bar(mgk_canvas *canvas, const mgk_maps_plan *plan, double x, double y)
{
    const mgk_colorbar bar = mgk_maps_bar_of(plan, 0);
    const size_t last = plan->maps->count - 1;
    const double top = mgk_maps_top_of_cells(plan, 0),
                 below = mgk_maps_top_of_cells(plan, last) - plan->heading - plan->margins.top;
    mgk_colorbar_draw(canvas, &bar,
                      x + plan->block_width * (double)(plan->columns - 1) + plan->last_width,
                      y + top,
                      fmin(plan->maps_height - top - plan->margins.bottom - below,
                           longest_bar * plan->look.style.text.size));
}

static mgk_status draw_all(mgk_canvas *canvas, const mgk_maps_plan *plan, double x, double y)
{
    for (size_t i = 0; i < plan->maps->count; i++) {
        const double top = y + mgk_maps_top_of_row(plan, mgk_maps_row_of(plan, i));
        draw_heading(canvas, plan, i, x, top);
        TRY(draw_map(canvas, plan, i, x + plan->block_width * (double)mgk_maps_column_of(plan, i),
                     top));
    }
    if (plan->scale_count == 1)
        draw_bar(canvas, plan, x, y);
    y += plan->maps_height + plan->bottom_gap;
    mgk_legend_draw(canvas, &plan->legend, x, y, plan->width);
    y += mgk_legend_height(&plan->legend, plan->width);
    mgk_notes_draw(canvas, &plan->notes, x, y, plan->width);
    return STATUS_OK;
}

mgk_status mgk_draw_maps(const mgk_maps *maps, const mgk_picture_options *options, const char *path)
{
    mgk_status status;
    mgk_page page = {0};
    mgk_maps_plan plan;
    CHECK(mgk_maps_plan_make(maps, options, &plan));
    CHECK(mgk_page_open(path, plan.width, plan.height, mgk_maps_middle(&plan), plan.look.style,
                        options, &page));
    CHECK(draw_all(page.canvas, &plan, page.x, page.y));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    mgk_maps_plan_release(&plan);
    return status;
}
