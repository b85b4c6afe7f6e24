/* SPDX-License-Identifier: MIT */
#include "plots/charts/maps.h"

#include <math.h>

#include "base/memory.h"
#include "plots/canvas/fit.h"
#include "plots/canvas/page.h"
#include "plots/scales/colorbar.h"
#include "plots/scales/legend.h"
#include "plots/scales/notes.h"

/* The width of a page, the height to which maps grow for numbers, and the sides of cells, in
 * pixels. */
static const double page_width = 2025, most_height = 2 * page_width, usual_cell = 50,
                    widest_cell = 96, highest_cell = 66;

/* The width of a tree, as a share of its map's, and at least so many text sizes. */
static const double tree_share = 0.28, least_tree = 2.5;

/* Around a tree, and between blocks, in text sizes; the longest colour bar, and the room for
 * one. */
static const double tree_gap = 1.5, bar_gap = 0.6, block_gap = 1, longest_bar = 40, bar_room = 5.5;

/* The least room for a title in text sizes, and the size to which a longer one shrinks before it
 * loses its middle. */
static const double title_room = 8, least_title = 0.6;

/* A measured picture. */
typedef struct maps_plan {
    const mgk_maps *maps;
    const mgk_picture_options *options;
    mgk_scale *scales; /* [scale_count], one or one for each map */
    size_t scale_count;
    mgk_map_look look;
    size_t models, items;                       /* of which there are rows, and columns */
    size_t columns, rows, most_rows, most_cols; /* of maps; of cells in the largest map */
    mgk_margins margins;                        /* around a map, with names of both axes */
    mgk_axis tree_axis;
    mgk_font title;
    double tree;         /* its width, with gaps; 0: none */
    double block_width;  /* distances of neighbouring maps */
    double last_width;   /* of the last column, from the left edge of its block */
    double cells_height; /* of the highest map */
    double maps_height, width, height;
} maps_plan;

/* ---- scales ---------------------------------------------------------------------------------- */

static void add_values(const mgk_map *map, mgk_sample *sample)
{
    for (size_t i = 0; i < map->rows * map->cols; i++)
        if (!map->self || i / map->cols != i % map->cols)
            mgk_sample_add(sample, &map->values[i], 1);
}

/* Fits the scale of maps first … first + count − 1. */
static mgk_status fit_scale(const maps_plan *plan, size_t first, size_t count, mgk_scale *out)
{
    const mgk_map *maps = plan->maps->maps;
    mgk_sample sample = {0};
    size_t total = 0;
    for (size_t i = first; i < first + count; i++)
        total += maps[i].rows * maps[i].cols;
    mgk_status status = mgk_sample_open(total, &sample);
    for (size_t i = first; i < first + count && status == STATUS_OK; i++)
        add_values(&maps[i], &sample);
    if (status == STATUS_OK)
        status = mgk_scale_fit(mgk_picture_rule(plan->options), &sample, out);
    mgk_sample_close(&sample);
    if (plan->maps->least < plan->maps->most && out->scaling == SCALING_LINEAR && !out->symmetric) {
        out->low = fmin(out->low, plan->maps->least);
        out->high = fmax(out->high, plan->maps->most);
    }
    return status;
}

static mgk_status fit_scales(maps_plan *plan)
{
    const size_t count = plan->maps->count;
    plan->scale_count = plan->options->range_per_panel ? count : 1;
    TRY(mgk_alloc(plan->scale_count, sizeof(*plan->scales), &plan->scales));
    if (plan->scale_count == 1)
        return fit_scale(plan, 0, count, plan->scales);
    for (size_t i = 0; i < count; i++)
        TRY(fit_scale(plan, i, 1, &plan->scales[i]));
    return STATUS_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

static mgk_map_place place_of(const maps_plan *plan, size_t map)
{
    return plan->models > 1 ? plan->maps->places[map] : (mgk_map_place){0, map};
}

/* Counts models and items. Maps of one item are beside each other, as if of one model. */
static void count_places(maps_plan *plan)
{
    const mgk_maps *maps = plan->maps;
    size_t models = 1, items = 1;
    for (size_t i = 0; maps->places && i < maps->count; i++) {
        models = maps->places[i].model >= models ? maps->places[i].model + 1 : models;
        items = maps->places[i].item >= items ? maps->places[i].item + 1 : items;
    }
    const bool apart = models > 1 && items > 1;
    plan->models = apart ? models : 1;
    plan->items = apart ? items : maps->count;
}

static size_t column_of(const maps_plan *plan, size_t map)
{
    return place_of(plan, map).item % plan->columns;
}

/* Where a row is too short for all items, the rows of all models repeat below it. */
static size_t row_of(const maps_plan *plan, size_t map)
{
    const mgk_map_place place = place_of(plan, map);
    return place.item / plan->columns * plan->models + place.model;
}

/* ---- measures -------------------------------------------------------------------------------- */

static mgk_colorbar bar_of(const maps_plan *plan, size_t map)
{
    return (mgk_colorbar){.scale = &plan->scales[plan->scale_count == 1 ? 0 : map],
                          .colormap = plan->options->colormap,
                          .label = plan->maps->value_name,
                          .style = plan->look.style};
}

static double bar_width(const maps_plan *plan, double height)
{
    double widest = 0;
    for (size_t i = 0; i < plan->scale_count; i++) {
        const mgk_colorbar bar = bar_of(plan, i);
        widest = fmax(widest, mgk_colorbar_width(&bar, height));
    }
    return widest + bar_gap * plan->look.style.text.size;
}

/* The largest margins that a map has with names of both axes. */
static mgk_margins widest_margins(const maps_plan *plan)
{
    mgk_margins margins = {0};
    for (size_t i = 0; i < plan->maps->count; i++) {
        mgk_map map = plan->maps->maps[i];
        map.row_name = map.col_name = "x";
        const mgk_margins m = mgk_map_margins(&map, &plan->look);
        margins.left = fmax(margins.left, m.left);
        margins.bottom = fmax(margins.bottom, m.bottom);
    }
    return margins;
}

/* The rows of each model with at most so many columns. */
static size_t rows_of_model(const maps_plan *plan, size_t columns)
{
    return (plan->items + columns - 1) / columns;
}

/* The columns that so many give if all rows are about equally long. */
static size_t even_columns(const maps_plan *plan, size_t columns)
{
    const size_t rows = rows_of_model(plan, columns);
    return (plan->items + rows - 1) / rows;
}

/* About as many maps with trees, which are square, are down as across; the rows of several models
 * are up to half more. */
static size_t choose_square(const maps_plan *plan, size_t most)
{
    const double most_rows = 1.5, maps = (double)(plan->items * plan->models);
    size_t columns = (size_t)fmin(ceil(sqrt(maps / 1.3)), (double)most);
    while (plan->models > 1 && columns < most &&
           (double)(rows_of_model(plan, columns) * plan->models) >
               most_rows * (double)even_columns(plan, columns))
        columns++;
    return columns;
}

/* The number of maps beside each other. Maps without trees get their usual cells if they fit. It
 * does not depend on the lengths of titles. */
static size_t choose_columns(const maps_plan *plan)
{
    const double em = plan->look.style.text.size;
    const double bar = plan->options->range_per_panel ? 5 * em : 0;
    double room = (title_room + block_gap) * em;
    if (!plan->maps->trees)
        room = fmax(room, usual_cell * (double)plan->most_cols + 4 * em + bar);
    const size_t most = (size_t)fmin(fmax(floor(page_width / room), 1), (double)plan->items);
    return even_columns(plan, plan->maps->trees ? choose_square(plan, most) : most);
}

/* The width of a tree next to a map of this width, with the gaps around it and its last tick. */
static double tree_width(const maps_plan *plan, double map_width)
{
    const double em = plan->look.style.text.size;
    return plan->maps->trees ? fmax(tree_share * map_width, least_tree * em) + tree_gap * em : 0;
}

/* The width of a column of maps on a page, without the gap to the next one. */
static double column_room(const maps_plan *plan)
{
    const double em = plan->look.style.text.size, bar = plan->scale_count == 1 ? bar_room * em : 0;
    return (page_width - bar) / (double)plan->columns - block_gap * em;
}

static double text_of_title(const maps_plan *plan, size_t map)
{
    const mgk_maps *maps = plan->maps;
    return maps->titles ? mgk_text_width(maps->titles[map], plan->look.style.title) : 0;
}

/* The most that a title needs of its column. */
static double widest_title(const maps_plan *plan)
{
    double widest = 0;
    for (size_t i = 0; i < plan->maps->count; i++)
        widest = fmax(widest, text_of_title(plan, i));
    return fmin(widest, column_room(plan));
}

/* Sets the sides of cells so that the maps fill a page's width, with this much space left of each.
 */
static void set_cells(maps_plan *plan, double left)
{
    const double em = plan->look.style.text.size;
    const double room = column_room(plan) - left - (plan->scale_count == 1 ? 0 : bar_room * em);
    double width = room;
    if (plan->maps->trees)
        width = fmin((room - tree_gap * em) / (1 + tree_share), room - tree_width(plan, 0));
    mgk_map_look *look = &plan->look;
    look->cell_width = fmin(fmax(floor(width / (double)plan->most_cols), 1), widest_cell);
    look->cell_height = plan->maps->trees ? look->cell_width : fmin(look->cell_width, highest_cell);
}

/* Places the maps in so many columns. */
static void set_columns(maps_plan *plan, size_t columns)
{
    const double usual = 3.2 * plan->look.style.text.size;
    plan->columns = columns;
    plan->rows = rows_of_model(plan, columns) * plan->models;
    set_cells(plan, usual);
    /* Small cells have no numbers at their sides, which leaves room for larger ones. */
    set_cells(plan, fmin(widest_margins(plan).left, usual));
}

/* Places the maps in columns, of which there are fewer if their cells would be too small. */
static void arrange(maps_plan *plan)
{
    const double least_cell = 2;
    set_columns(plan, choose_columns(plan));
    while (plan->look.cell_width < least_cell && plan->columns > 1)
        set_columns(plan, plan->columns - 1);
}

/* The height of a row of maps: of its cells, and at least of the name beside them, with the
 * margins; 0 without maps. With a colour bar beside each map, or one row, all rows are as high as
 * the highest map. */
static double row_height(const maps_plan *plan, size_t row)
{
    const mgk_maps *maps = plan->maps;
    double height = 0;
    for (size_t i = 0; i < maps->count; i++) {
        if (row_of(plan, i) != row)
            continue;
        const char *name = maps->maps[i].row_name;
        height = fmax(height, plan->look.cell_height * (double)maps->maps[i].rows);
        height = fmax(height, name ? mgk_text_width(name, plan->look.style.text) : 0);
    }
    if (height > 0 && (plan->scale_count > 1 || plan->rows == 1))
        height = plan->cells_height;
    return height > 0 ? plan->margins.top + height + plan->margins.bottom : 0;
}

/* The distance of a row of maps from the upper edge. */
static double top_of_row(const maps_plan *plan, size_t row)
{
    double top = 0;
    for (size_t r = 0; r < row; r++)
        top += row_height(plan, r);
    return top;
}

static size_t most_in_last_column(const maps_plan *plan)
{
    size_t most = 0;
    for (size_t i = 0; i < plan->maps->count; i++)
        if (column_of(plan, i) == plan->columns - 1)
            most = plan->maps->maps[i].cols > most ? plan->maps->maps[i].cols : most;
    return most;
}

/* The width of the last column of maps, with a bar of this width beside each; the others are as
 * wide as the widest map needs. */
static double last_width(const maps_plan *plan, double bar)
{
    const double gap = block_gap * plan->look.style.text.size,
                 cells = plan->look.cell_width * (double)most_in_last_column(plan);
    double title = 0;
    for (size_t i = 0; i < plan->maps->count; i++)
        if (column_of(plan, i) == plan->columns - 1)
            title = fmax(title, text_of_title(plan, i));
    title = fmin(title, plan->block_width - gap);
    return ceil(fmax(plan->margins.left + cells + plan->tree + bar, title) + gap);
}

/* One font for all titles, in which the longest fits into a block if that leaves it legible. */
static mgk_font fit_titles(const maps_plan *plan)
{
    const mgk_font usual = plan->look.style.title;
    const double room = plan->block_width - block_gap * plan->look.style.text.size;
    mgk_font font = usual;
    for (size_t i = 0; plan->maps->titles && i < plan->maps->count; i++)
        font.size = fmin(font.size, mgk_fit_font(usual, plan->maps->titles[i], room).size);
    font.size = fmax(font.size, least_title * usual.size);
    return font;
}

static void set_blocks(maps_plan *plan)
{
    const mgk_style *style = &plan->look.style;
    const double map_width = plan->look.cell_width * (double)plan->most_cols,
                 map_height = plan->look.cell_height * (double)plan->most_rows;
    plan->margins = widest_margins(plan);
    if (plan->maps->trees)
        plan->margins.bottom = fmax(plan->margins.bottom, mgk_line_height(style->text));
    plan->margins.top = plan->maps->titles ? mgk_line_height(style->title) : style->text.size / 2;
    /* A colour bar next to one row of maps is as long as its label. */
    const bool one_row = plan->scale_count > 1 || plan->rows == 1;
    plan->cells_height =
        fmax(map_height, one_row ? mgk_text_width(plan->maps->value_name, style->text) : 0);
    plan->tree = tree_width(plan, map_width);
    const double bar = plan->scale_count > 1 ? bar_width(plan, plan->cells_height) : 0;
    plan->block_width =
        ceil(fmax(plan->margins.left + map_width + plan->tree + bar, widest_title(plan)) +
             block_gap * style->text.size);
    plan->title = fit_titles(plan);
    plan->maps_height = top_of_row(plan, plan->rows);
    plan->last_width = last_width(plan, bar);
    plan->width = plan->block_width * (double)(plan->columns - 1) + plan->last_width +
                  (plan->scale_count == 1 ? bar_width(plan, plan->maps_height) : 0);
}

static bool all_have_numbers(const maps_plan *plan)
{
    bool all = true;
    for (size_t i = 0; i < plan->maps->count; i++)
        all &= mgk_map_has_numbers(&plan->maps->maps[i], &plan->look);
    return all;
}

/* Fewer columns, if heads have numbers then and the picture does not become too high. */
static void make_room_for_numbers(maps_plan *plan)
{
    const maps_plan kept = *plan;
    while (!all_have_numbers(plan) && plan->columns > 1) {
        set_columns(plan, even_columns(plan, plan->columns - 1));
        set_blocks(plan);
    }
    if (!all_have_numbers(plan) || plan->maps_height > most_height)
        *plan = kept;
}

/* The middle of the cells of all maps, below the picture's title. */
static double middle_of(const maps_plan *plan)
{
    const double first = plan->margins.left,
                 last = plan->block_width * (double)(plan->columns - 1) + plan->margins.left +
                        plan->look.cell_width * (double)most_in_last_column(plan);
    return (first + last) / 2;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* The legend of cells without value; no entries if there are none. */
static mgk_legend legend_of(const maps_plan *plan)
{
    static const mgk_legend_entry gaps = {"no value", {0, 0, 0}, KEY_HATCH};
    size_t count = 0;
    for (size_t i = 0; i < plan->maps->count; i++)
        count |= mgk_map_has_gaps(&plan->maps->maps[i]);
    return (mgk_legend){&gaps, count, plan->look.style.small};
}

/* What is below the maps. */
static mgk_notes notes_of(const maps_plan *plan)
{
    return (mgk_notes){plan->maps->notes, plan->maps->note_count, plan->look.style.small};
}

static double bottom_height(const maps_plan *plan)
{
    const mgk_legend legend = legend_of(plan);
    const mgk_notes notes = notes_of(plan);
    return 0.3 * plan->look.style.small.size + mgk_legend_height(&legend, plan->width) +
           mgk_notes_height(&notes, plan->width);
}

static void draw_bottom(mgk_canvas *canvas, const maps_plan *plan, double x, double y)
{
    const mgk_legend legend = legend_of(plan);
    const mgk_notes notes = notes_of(plan);
    y += 0.3 * plan->look.style.small.size;
    mgk_legend_draw(canvas, &legend, x, y, plan->width);
    mgk_notes_draw(canvas, &notes, x, y + mgk_legend_height(&legend, plan->width), plan->width);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Above the middle of the cells, but not beyond the block, for which it loses its middle. */
static void draw_title(mgk_canvas *canvas, const maps_plan *plan, size_t i, mgk_rect cells)
{
    const mgk_font font = plan->title;
    const double em = plan->look.style.text.size, left = cells.x - plan->margins.left,
                 right = left + plan->block_width - block_gap * em, rounding = 0.1 * em;
    char title[256];
    mgk_fit_middle(plan->maps->titles[i], font, right - left + rounding, title, sizeof(title));
    const double half = mgk_text_width(title, font) / 2;
    const double middle = fmax(fmin(cells.x + cells.width / 2, right - half), left + half);
    mgk_canvas_text(canvas, middle, cells.y - 0.4 * em, title, font, ANCHOR_MIDDLE);
}

/* What is right of the cells: the tree, and the bar of a scale of its own. */
static mgk_status draw_beside(mgk_canvas *canvas, const maps_plan *plan, size_t i, mgk_rect cells)
{
    const mgk_style *style = &plan->look.style;
    const double em = style->text.size, right = cells.x + cells.width;
    if (plan->maps->trees)
        TRY(mgk_dendrogram_draw(
            canvas, &plan->maps->trees[i], &plan->tree_axis, *style, plan->look.cell_height,
            (mgk_rect){right + 0.4 * em, cells.y, plan->tree - tree_gap * em, cells.height}));
    if (plan->scale_count > 1) {
        const mgk_colorbar bar = bar_of(plan, i);
        mgk_colorbar_draw(canvas, &bar, right + plan->tree + bar_gap * em, cells.y,
                          plan->cells_height);
    }
    return STATUS_OK;
}

/* Leaves the names of axes to the first map of a row, and to the last one of a column. */
static void leave_names(const maps_plan *plan, size_t i, mgk_map *map)
{
    const size_t row = row_of(plan, i), column = column_of(plan, i);
    for (size_t k = 0; k < plan->maps->count; k++) {
        if (row_of(plan, k) == row && column_of(plan, k) < column)
            map->row_name = NULL;
        if (column_of(plan, k) == column && row_of(plan, k) > row)
            map->col_name = NULL;
    }
}

/* Draws a map with its upper left corner at (x, y). */
static mgk_status draw_map(mgk_canvas *canvas, const maps_plan *plan, size_t i, double x, double y)
{
    mgk_map map = plan->maps->maps[i];
    leave_names(plan, i, &map);
    const mgk_rect cells = {x + plan->margins.left, y + plan->margins.top,
                            plan->look.cell_width * (double)map.cols,
                            plan->look.cell_height * (double)map.rows};
    if (plan->maps->titles)
        draw_title(canvas, plan, i, cells);
    TRY(mgk_map_draw(canvas, &map, &plan->look, &plan->scales[plan->scale_count == 1 ? 0 : i],
                     cells.x, cells.y));
    return draw_beside(canvas, plan, i, cells);
}

static mgk_status draw_all(mgk_canvas *canvas, const maps_plan *plan, double x, double y)
{
    for (size_t i = 0; i < plan->maps->count; i++)
        TRY(draw_map(canvas, plan, i, x + plan->block_width * (double)column_of(plan, i),
                     y + top_of_row(plan, row_of(plan, i))));
    if (plan->scale_count == 1) {
        const mgk_colorbar bar = bar_of(plan, 0);
        mgk_colorbar_draw(canvas, &bar,
                          x + plan->block_width * (double)(plan->columns - 1) + plan->last_width,
                          y + plan->margins.top,
                          fmin(plan->maps_height - plan->margins.top - plan->margins.bottom,
                               longest_bar * plan->look.style.text.size));
    }
    draw_bottom(canvas, plan, x, y + plan->maps_height);
    return STATUS_OK;
}

static mgk_status measure(maps_plan *plan)
{
    const mgk_maps *maps = plan->maps;
    for (size_t i = 0; i < maps->count; i++) {
        plan->most_rows =
            maps->maps[i].rows > plan->most_rows ? maps->maps[i].rows : plan->most_rows;
        plan->most_cols =
            maps->maps[i].cols > plan->most_cols ? maps->maps[i].cols : plan->most_cols;
    }
    if (plan->most_rows == 0 || plan->most_cols == 0)
        return mgk_fail(STATUS_SHAPE, "%zu maps without a cell", maps->count);
    TRY(fit_scales(plan));
    count_places(plan);
    plan->look.colormap = plan->options->colormap;
    plan->look.count_from = plan->options->count_from;
    plan->look.style = mgk_style_of(MGK_TEXT_SIZE);
    mgk_map_measure_numbers(maps->maps, maps->count, &plan->look);
    arrange(plan);
    set_blocks(plan);
    if (maps->trees)
        make_room_for_numbers(plan);
    /* A picture wider than a page is made smaller on paper, so its text is larger. */
    plan->look.style = mgk_style_of(mgk_text_size_for(plan->width));
    if (maps->trees)
        plan->tree_axis = mgk_dendrogram_axis(maps->trees, maps->count);
    set_blocks(plan);
    plan->height = plan->maps_height + bottom_height(plan);
    return STATUS_OK;
}

mgk_status mgk_draw_maps(const mgk_maps *maps, const mgk_picture_options *options, const char *path)
{
    mgk_status status;
    mgk_page page = {0};
    maps_plan plan = {.maps = maps, .options = options};
    CHECK(measure(&plan));
    CHECK(mgk_page_open(path, plan.width, plan.height, middle_of(&plan), plan.look.style, options,
                        &page));
    CHECK(draw_all(page.canvas, &plan, page.x, page.y));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    mgk_free(plan.scales);
    return status;
}
