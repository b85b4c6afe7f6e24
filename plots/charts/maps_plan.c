/* SPDX-License-Identifier: MIT */
#include "plots/charts/maps_plan.h"

#include <math.h>

#include "base/memory.h"
#include "plots/canvas/fit.h"

/* The width of a page, the height to which maps grow for numbers, and the sides of cells, in
 * pixels. */
static const double page_width = 2025, most_height = 2 * page_width, usual_cell = 50,
                    widest_cell = 96, highest_cell = 66;

/* The width of a tree, as a share of its map's, and at least so many text sizes. */
static const double tree_share = 0.28, least_tree = 2.5;

/* The room for a colour bar, and the least room for a title, in text sizes, and the size to which a
 * longer title shrinks before it loses its middle. */
static const double bar_room = 5.5, title_room = 8;

/* ---- scales ---------------------------------------------------------------------------------- */

static void add_values(const mgk_map *map, mgk_sample *sample)
{
    for (size_t i = 0; i < map->rows * map->cols; i++)
        if (!map->self || i / map->cols != i % map->cols)
            mgk_sample_add(sample, &map->values[i], 1);
}

/* Fits the scale of maps first … first + count − 1. */
static mgk_status fit_scale(const mgk_maps_plan *plan, size_t first, size_t count, mgk_scale *out)
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

static mgk_status fit_scales(mgk_maps_plan *plan)
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

static mgk_map_place place_of(const mgk_maps_plan *plan, size_t map)
{
    return plan->models > 1 ? plan->maps->places[map] : (mgk_map_place){0, map};
}

/* Counts models and items. Maps of one item are beside each other, as if of one model. */
static void count_places(mgk_maps_plan *plan)
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

size_t mgk_maps_column_of(const mgk_maps_plan *plan, size_t map)
{
    return place_of(plan, map).item % plan->columns;
}

/* Where a row is too short for all items, the rows of all models repeat below it. */
size_t mgk_maps_row_of(const mgk_maps_plan *plan, size_t map)
{
    const mgk_map_place place = place_of(plan, map);
    return place.item / plan->columns * plan->models + place.model;
}

/* ---- measures -------------------------------------------------------------------------------- */

mgk_colorbar mgk_maps_bar_of(const mgk_maps_plan *plan, size_t map)
{
    return (mgk_colorbar){.scale = &plan->scales[plan->scale_count == 1 ? 0 : map],
                          .colormap = plan->options->colormap,
                          .label = plan->maps->value_name,
                          .style = plan->look.style};
}

static double bar_width(const mgk_maps_plan *plan, double height)
{
    double widest = 0;
    for (size_t i = 0; i < plan->scale_count; i++) {
        const mgk_colorbar bar = mgk_maps_bar_of(plan, i);
        widest = fmax(widest, mgk_colorbar_width(&bar, height));
    }
    return widest + mgk_maps_bar_gap * plan->look.style.text.size;
}

/* The largest margins that a map has with names of both axes. */
static mgk_margins widest_margins(const mgk_maps_plan *plan)
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
static size_t rows_of_model(const mgk_maps_plan *plan, size_t columns)
{
    return (plan->items + columns - 1) / columns;
}

/* The columns that so many give if all rows are about equally long. */
static size_t even_columns(const mgk_maps_plan *plan, size_t columns)
{
    const size_t rows = rows_of_model(plan, columns);
    return (plan->items + rows - 1) / rows;
}

/* About as many maps with trees, which are square, are down as across; the rows of several models
 * are up to half more. */
static size_t choose_square(const mgk_maps_plan *plan, size_t most)
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
static size_t choose_columns(const mgk_maps_plan *plan)
{
    const double em = plan->look.style.text.size;
    const double bar = plan->options->range_per_panel ? 5 * em : 0;
    double room = (title_room + mgk_maps_block_gap) * em;
    if (!plan->maps->trees)
        room = fmax(room, usual_cell * (double)plan->most_cols + 4 * em + bar);
    const size_t most = (size_t)fmin(fmax(floor(page_width / room), 1), (double)plan->items);
    return even_columns(plan, plan->maps->trees ? choose_square(plan, most) : most);
}

/* The width of a tree next to a map of this width, with the gaps around it and its last tick. */
static double tree_width(const mgk_maps_plan *plan, double map_width)
{
    const double em = plan->look.style.text.size;
    return plan->maps->trees
               ? fmax(tree_share * map_width, least_tree * em) + mgk_maps_tree_gap * em
               : 0;
}

/* The width of a column of maps on a page, without the gap to the next one. */
static double column_room(const mgk_maps_plan *plan)
{
    const double em = plan->look.style.text.size, bar = plan->scale_count == 1 ? bar_room * em : 0;
    return (page_width - bar) / (double)plan->columns - mgk_maps_block_gap * em;
}

static double text_of_title(const mgk_maps_plan *plan, size_t map)
{
    const mgk_maps *maps = plan->maps;
    return maps->titles ? mgk_text_width(maps->titles[map], plan->look.style.title) : 0;
}

/* The most that a title needs of its column. */
static double widest_title(const mgk_maps_plan *plan)
{
    double widest = 0;
    for (size_t i = 0; i < plan->maps->count; i++)
        widest = fmax(widest, text_of_title(plan, i));
    return fmin(widest, column_room(plan));
}

/* Whether a colour bar stands next to one row of maps, and is as long as its label. */
static bool has_own_bar(const mgk_maps_plan *plan)
{
    return plan->scale_count > 1 || plan->rows == 1;
}

/* How much larger than usual cells may be, so that a map of few rows is as high as its bar. */
static double growth(const mgk_maps_plan *plan)
{
    const double label = mgk_text_width(plan->maps->value_name, plan->look.style.text),
                 usual = highest_cell * (double)plan->most_rows;
    return has_own_bar(plan) && !plan->maps->trees ? fmin(fmax(label / usual, 1), 3) : 1;
}

/* Sets the sides of cells so that the maps fill a page's width, with this much space left of each.
 */
static void set_cells(mgk_maps_plan *plan, double left)
{
    const double em = plan->look.style.text.size;
    const double room = column_room(plan) - left - (plan->scale_count == 1 ? 0 : bar_room * em);
    double width = room;
    if (plan->maps->trees)
        width =
            fmin((room - mgk_maps_tree_gap * em) / (1 + tree_share), room - tree_width(plan, 0));
    mgk_map_look *look = &plan->look;
    look->cell_width =
        fmin(fmax(floor(width / (double)plan->most_cols), 1), floor(growth(plan) * widest_cell));
    look->cell_height = plan->maps->trees
                            ? look->cell_width
                            : fmin(look->cell_width, ceil(growth(plan) * highest_cell));
}

/* Places the maps in so many columns. */
static void set_columns(mgk_maps_plan *plan, size_t columns)
{
    const double usual = 3.2 * plan->look.style.text.size;
    plan->columns = columns;
    plan->rows = rows_of_model(plan, columns) * plan->models;
    set_cells(plan, usual);
    /* Small cells have no numbers at their sides, which leaves room for larger ones. */
    set_cells(plan, fmin(widest_margins(plan).left, usual));
}

/* Places the maps in columns, of which there are fewer if their cells would be too small. */
static void arrange(mgk_maps_plan *plan)
{
    const double least_cell = 2;
    set_columns(plan, choose_columns(plan));
    while (plan->look.cell_width < least_cell && plan->columns > 1)
        set_columns(plan, plan->columns - 1);
}

/* The length of the name beside the cells of a map. */
static double name_length(const mgk_maps_plan *plan, size_t map)
{
    const char *name = plan->maps->maps[map].row_name;
    return name ? mgk_text_width(name, plan->look.style.text) : 0;
}

double mgk_maps_top_of_cells(const mgk_maps_plan *plan, size_t map)
{
    const double height = plan->look.cell_height * (double)plan->maps->maps[map].rows;
    return plan->heading + plan->margins.top + fmax(0, (name_length(plan, map) - height) / 2);
}

/* The height of a row of maps: of its cells, and at least of the name beside them, with the
 * margins and the heading; 0 without maps. With a colour bar beside each map, or one row, all rows
 * are as high as the highest map. */
static double row_height(const mgk_maps_plan *plan, size_t row)
{
    const mgk_maps *maps = plan->maps;
    double height = 0;
    for (size_t i = 0; i < maps->count; i++) {
        if (mgk_maps_row_of(plan, i) != row)
            continue;
        height = fmax(height, plan->look.cell_height * (double)maps->maps[i].rows);
        height = fmax(height, name_length(plan, i));
    }
    if (height > 0 && has_own_bar(plan))
        height = plan->cells_height;
    return height > 0 ? plan->heading + plan->margins.top + height + plan->margins.bottom : 0;
}

double mgk_maps_top_of_row(const mgk_maps_plan *plan, size_t row)
{
    double top = 0;
    for (size_t r = 0; r < row; r++)
        top += row_height(plan, r);
    return top;
}

static size_t most_in_last_column(const mgk_maps_plan *plan)
{
    size_t most = 0;
    for (size_t i = 0; i < plan->maps->count; i++)
        if (mgk_maps_column_of(plan, i) == plan->columns - 1)
            most = plan->maps->maps[i].cols > most ? plan->maps->maps[i].cols : most;
    return most;
}

/* The width of the last column of maps, with a bar of this width beside each; the others are as
 * wide as the widest map needs. */
static double last_width(const mgk_maps_plan *plan, double bar)
{
    const double gap = mgk_maps_block_gap * plan->look.style.text.size,
                 cells = plan->look.cell_width * (double)most_in_last_column(plan);
    double title = 0;
    for (size_t i = 0; i < plan->maps->count; i++)
        if (mgk_maps_column_of(plan, i) == plan->columns - 1)
            title = fmax(title, text_of_title(plan, i));
    title = fmin(title, plan->block_width - gap);
    return ceil(fmax(plan->margins.left + cells + plan->tree + bar, title) + gap);
}

/* One font for all titles, in which the longest fits into a block if that leaves it legible. */
static mgk_font fit_titles(const mgk_maps_plan *plan)
{
    const mgk_font usual = plan->look.style.title;
    const double room = plan->block_width - mgk_maps_block_gap * plan->look.style.text.size;
    mgk_font font = usual;
    for (size_t i = 0; plan->maps->titles && i < plan->maps->count; i++)
        font.size = fmin(font.size, mgk_fit_font(usual, plan->maps->titles[i], room).size);
    font.size = fmax(font.size, mgk_maps_least_title * usual.size);
    return font;
}

static void set_blocks(mgk_maps_plan *plan)
{
    const mgk_style *style = &plan->look.style;
    const double map_width = plan->look.cell_width * (double)plan->most_cols,
                 map_height = plan->look.cell_height * (double)plan->most_rows;
    plan->margins = widest_margins(plan);
    if (plan->maps->trees)
        plan->margins.bottom = fmax(plan->margins.bottom, mgk_line_height(style->text));
    plan->margins.top = plan->maps->titles ? mgk_line_height(style->title) : style->text.size / 2;
    plan->heading =
        plan->models > 1 && plan->maps->models ? 1.2 * mgk_line_height(style->title) : 0;
    plan->cells_height = fmax(
        map_height, has_own_bar(plan) ? mgk_text_width(plan->maps->value_name, style->text) : 0);
    plan->tree = tree_width(plan, map_width);
    const double bar = plan->scale_count > 1 ? bar_width(plan, plan->cells_height) : 0;
    plan->block_width =
        ceil(fmax(plan->margins.left + map_width + plan->tree + bar, widest_title(plan)) +
             mgk_maps_block_gap * style->text.size);
    plan->title = fit_titles(plan);
    plan->maps_height = mgk_maps_top_of_row(plan, plan->rows);
    plan->last_width = last_width(plan, bar);
    plan->width = plan->block_width * (double)(plan->columns - 1) + plan->last_width +
                  (plan->scale_count == 1 ? bar_width(plan, plan->maps_height) : 0);
}

static bool all_have_numbers(const mgk_maps_plan *plan)
{
    bool all = true;
    for (size_t i = 0; i < plan->maps->count; i++)
        all &= mgk_map_has_numbers(&plan->maps->maps[i], &plan->look);
    return all;
}

/* Fewer columns, if heads have numbers then and the picture does not become too high. */
static void make_room_for_numbers(mgk_maps_plan *plan)
{
    const mgk_maps_plan kept = *plan;
    while (!all_have_numbers(plan) && plan->columns > 1) {
        set_columns(plan, even_columns(plan, plan->columns - 1));
        set_blocks(plan);
    }
    if (!all_have_numbers(plan) || plan->maps_height > most_height)
        *plan = kept;
}

double mgk_maps_middle(const mgk_maps_plan *plan)
{
    const double first = plan->margins.left,
                 last = plan->block_width * (double)(plan->columns - 1) + plan->margins.left +
                        plan->look.cell_width * (double)most_in_last_column(plan);
    return (first + last) / 2;
}

/* What is below the maps. */
static void set_bottom(mgk_maps_plan *plan)
{
    static const mgk_legend_entry gaps = {"no value", {0, 0, 0}, KEY_HATCH};
    const mgk_font font = plan->look.style.small;
    size_t count = 0;
    for (size_t i = 0; i < plan->maps->count; i++)
        count |= mgk_map_has_gaps(&plan->maps->maps[i]);
    plan->legend = (mgk_legend){&gaps, count, font};
    plan->notes = (mgk_notes){plan->maps->notes, plan->maps->note_count, font};
    plan->bottom_gap = 0.3 * font.size;
    plan->height = plan->maps_height + plan->bottom_gap +
                   mgk_legend_height(&plan->legend, plan->width) +
                   mgk_notes_height(&plan->notes, plan->width);
}

static mgk_status measure(mgk_maps_plan *plan)
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
    set_bottom(plan);
    return STATUS_OK;
}

mgk_status mgk_maps_plan_make(const mgk_maps *maps, const mgk_picture_options *options,
                              mgk_maps_plan *out)
{
    *out = (mgk_maps_plan){.maps = maps, .options = options};
    return measure(out);
}

void mgk_maps_plan_release(mgk_maps_plan *plan)
{
    mgk_free(plan->scales);
}
