/* SPDX-License-Identifier: MIT */
#include "plots/charts/mixtures.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "plots/canvas/page.h"
#include "plots/charts/map.h"
#include "plots/scales/colorbar.h"
#include "plots/scales/legend.h"
#include "plots/scales/notes.h"

enum { BLOCKS = 1 + MGK_MIXTURE_MAPS, KEY_NAME = 32, KEYS_MOST = 64 };

/* The size of a page and the largest cells, in pixels; the bars of heads stand side by side. */
static const double page_width = 2025, page_height = 2300, widest_cell = 72, highest_cell = 72,
                    least_width = 3, least_height = 8;

/* The share of a cell that its bar fills across and up; lower cells have no line. */
static const double bar_share = 0.76, bar_height = 0.84, least_lined = 24;

/* In text sizes: before a colour bar, after a block, and the least height of all cells, so that a
 * colour bar has room for its numbers. */
static const double scale_gap = 0.6, block_gap = 1, least_block = 10;

static const mgk_rgb line_color = {30, 30, 30};

/* A measured picture. */
typedef struct mixtures_plan {
    const mgk_key_mixtures *data;
    size_t blocks;                             /* of a model: 1 + maps */
    size_t most_layers, most_heads, most_keys; /* of all models */
    mgk_scale scales[MGK_MIXTURE_MAPS];
    mgk_map_look looks[BLOCKS]; /* with the same cells and style */
    mgk_margins margins;        /* around the cells of a block */
    double block_widths[BLOCKS], block_height;
    char names[KEYS_MOST][KEY_NAME]; /* of keys, in the legend */
    mgk_legend_entry entries[KEYS_MOST + 1];
    mgk_legend legend, gaps;
    mgk_notes notes;
    double title_height, width, height;
} mixtures_plan;

/* The cells of a block, number 0 of the bars; their values tell where there is none. */
static mgk_map map_of(const mgk_key_mixture *model, size_t block, const double *values)
{
    return (mgk_map){.values = values,
                     .rows = model->layers,
                     .cols = model->heads,
                     .row_numbers = model->layer_numbers,
                     .col_numbers = model->head_numbers,
                     .row_name = block == 0 ? "layer" : NULL,
                     .col_name = "head"};
}

/* ---- scales ---------------------------------------------------------------------------------- */

static mgk_status fit_scale(const mixtures_plan *plan, const mgk_picture_options *options,
                            size_t map, mgk_scale *out)
{
    const mgk_key_mixtures *data = plan->data;
    mgk_scale_rule rule = mgk_picture_rule(options);
    mgk_sample sample = {0};
    rule.symmetric = rule.symmetric || data->map_signed[map];
    mgk_status status =
        mgk_sample_open(data->count * plan->most_layers * plan->most_heads, &sample);
    for (size_t i = 0; i < data->count && status == STATUS_OK; i++)
        mgk_sample_add(&sample, data->models[i].maps[map],
                       data->models[i].layers * data->models[i].heads);
    if (status == STATUS_OK)
        status = mgk_scale_fit(rule, &sample, out);
    mgk_sample_close(&sample);
    return status;
}

/* Chooses the numbers in the cells of a map, over all models. */
static mgk_status measure_numbers(const mixtures_plan *plan, size_t map, mgk_map_look *look)
{
    mgk_map *maps;
    TRY(mgk_alloc(plan->data->count, sizeof(*maps), &maps));
    for (size_t i = 0; i < plan->data->count; i++)
        maps[i] = map_of(&plan->data->models[i], 1 + map, plan->data->models[i].maps[map]);
    mgk_map_measure_numbers(maps, plan->data->count, look);
    mgk_free(maps);
    return STATUS_OK;
}

/* ---- measures -------------------------------------------------------------------------------- */

static mgk_status survey(mixtures_plan *plan)
{
    for (size_t i = 0; i < plan->data->count; i++) {
        const mgk_key_mixture *m = &plan->data->models[i];
        if (m->layers == 0 || m->heads == 0 || m->keys == 0 || m->keys > KEYS_MOST)
            return mgk_fail(STATUS_SHAPE, "%zu layers of %zu heads with %zu keys", m->layers,
                            m->heads, m->keys);
        plan->most_layers = m->layers > plan->most_layers ? m->layers : plan->most_layers;
        plan->most_heads = m->heads > plan->most_heads ? m->heads : plan->most_heads;
        plan->most_keys = m->keys > plan->most_keys ? m->keys : plan->most_keys;
    }
    return plan->data->count > 0 ? STATUS_OK : mgk_fail(STATUS_SHAPE, "no model");
}

static mgk_colorbar bar_of(const mixtures_plan *plan, size_t block)
{
    return (mgk_colorbar){.scale = &plan->scales[block - 1],
                          .colormap = plan->looks[block].colormap,
                          .style = plan->looks[block].style};
}

/* What is right of the cells of a block. */
static double beside(const mixtures_plan *plan, size_t block)
{
    if (block == 0)
        return 0;
    const mgk_colorbar bar = bar_of(plan, block);
    const mgk_map_look *look = &plan->looks[block];
    return scale_gap * look->style.text.size +
           mgk_colorbar_width(&bar, plan->looks[0].cell_height * (double)plan->most_layers);
}

static const char *heading_of(const mixtures_plan *plan, size_t block)
{
    return block == 0 ? plan->data->share_name : plan->data->map_names[block - 1];
}

/* Sets the sizes of blocks for cells of this width. */
static void set_blocks(mixtures_plan *plan, double cell_width)
{
    const mgk_style style = plan->looks[0].style;
    plan->margins = (mgk_margins){.top = mgk_line_height(style.small)};
    plan->width = 0;
    for (size_t b = 0; b < plan->blocks; b++)
        plan->looks[b].cell_width = cell_width;
    for (size_t i = 0; i < plan->data->count; i++) {
        const mgk_map map = map_of(&plan->data->models[i], 0, plan->data->models[i].shares);
        const mgk_margins m = mgk_map_margins(&map, &plan->looks[0]);
        plan->margins.left = fmax(plan->margins.left, m.left);
        plan->margins.bottom = fmax(plan->margins.bottom, m.bottom);
    }
    for (size_t b = 0; b < plan->blocks; b++) {
        const double cells = cell_width * (double)plan->most_heads + beside(plan, b),
                     heading = mgk_text_width(heading_of(plan, b), style.small);
        plan->block_widths[b] =
            ceil(plan->margins.left + fmax(cells, heading) + block_gap * style.text.size);
        plan->width += plan->block_widths[b];
    }
    plan->title_height = mgk_line_height(style.title);
    plan->block_height = plan->title_height + plan->margins.top +
                         plan->looks[0].cell_height * (double)plan->most_layers +
                         plan->margins.bottom + 0.5 * style.text.size;
}

/* Cells become smaller until the picture has the size of a page. */
static void set_cells(mixtures_plan *plan)
{
    const double layers = (double)(plan->most_layers * plan->data->count),
                 heads = (double)(plan->most_heads * plan->blocks);
    const double highest = fmax(highest_cell, least_block * plan->looks[0].style.text.size /
                                                  (double)plan->most_layers),
                 height = fmax(least_height, floor(fmin(highest, page_height / layers)));
    for (size_t b = 0; b < plan->blocks; b++)
        plan->looks[b].cell_height = height;
    double width = fmax(least_width, fmin(widest_cell, floor(page_width / heads)));
    for (set_blocks(plan, width); plan->width > page_width && width > least_width;)
        set_blocks(plan, --width);
}

static void set_legend(mixtures_plan *plan)
{
    const mgk_font font = plan->looks[0].style.small;
    static const mgk_legend_entry gap = {"no value", {0, 0, 0}, KEY_HATCH};
    bool gaps = false;
    plan->legend = (mgk_legend){plan->entries, plan->most_keys, font};
    for (size_t k = 0; k < plan->most_keys; k++) {
        snprintf(plan->names[k], KEY_NAME, "key %ld", (long)k + plan->looks[0].count_from);
        plan->entries[k] = (mgk_legend_entry){plan->names[k], mgk_series_color(k), KEY_PATCH};
    }
    if (plan->most_keys > 1 && plan->looks[0].cell_height >= least_lined)
        plan->entries[plan->legend.count++] =
            (mgk_legend_entry){"equal shares", line_color, KEY_DASHES};
    for (size_t i = 0; i < plan->data->count; i++) {
        const mgk_key_mixture *m = &plan->data->models[i];
        for (size_t c = 0; c < m->layers * m->heads; c++) {
            gaps = gaps || isnan(m->shares[c * m->keys]);
            for (size_t k = 0; k < plan->data->map_count; k++)
                gaps = gaps || isnan(m->maps[k][c]);
        }
    }
    plan->gaps = (mgk_legend){&gap, gaps, font};
}

static mgk_status measure(mixtures_plan *plan, const mgk_picture_options *options)
{
    const mgk_key_mixtures *data = plan->data;
    TRY(survey(plan));
    plan->blocks = 1 + data->map_count;
    for (size_t b = 0; b < plan->blocks; b++) {
        plan->looks[b].style = mgk_style_of(MGK_TEXT_SIZE);
        plan->looks[b].colormap = options->colormap;
        plan->looks[b].count_from = options->count_from;
        if (b == 0)
            continue;
        if (data->map_signed[b - 1])
            plan->looks[b].colormap = COLORMAP_COOLWARM;
        TRY(fit_scale(plan, options, b - 1, &plan->scales[b - 1]));
        TRY(measure_numbers(plan, b - 1, &plan->looks[b]));
    }
    set_cells(plan);
    /* A picture wider than a page is made smaller on paper, so its text is larger. */
    for (size_t b = 0; b < plan->blocks; b++)
        plan->looks[b].style = mgk_style_of(mgk_text_size_for(plan->width));
    set_blocks(plan, plan->looks[0].cell_width);
    set_legend(plan);
    plan->notes = (mgk_notes){data->notes, data->note_count, plan->looks[0].style.small};
    plan->height =
        mgk_legend_height(&plan->legend, plan->width) + plan->block_height * (double)data->count +
        mgk_legend_height(&plan->gaps, plan->width) + mgk_notes_height(&plan->notes, plan->width);
    return STATUS_OK;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Draws the bar of a cell from its lower end upwards, as large as the sum of the shares. */
static void draw_bar(mgk_canvas *canvas, const double *shares, size_t keys, mgk_rect cell)
{
    const double width = fmax(1, round(bar_share * cell.width)),
                 height = fmax(1, round(bar_height * cell.height)),
                 x = cell.x + floor((cell.width - width) / 2),
                 bottom = cell.y + floor((cell.height + height) / 2);
    double below = 0;
    for (size_t k = 0; k < keys; k++) {
        const double from = round(height * below);
        below = fmin(below + shares[k], 1);
        const double to = round(height * below);
        mgk_canvas_fill(canvas, (mgk_rect){x, bottom - to, width, to - from}, mgk_series_color(k),
                        1);
    }
}

/* Draws where the ends of equal shares are in each row of bars. */
static void draw_equal(mgk_canvas *canvas, const mgk_key_mixture *model, const mgk_map_look *look,
                       double x, double y)
{
    const double cell = look->cell_height, height = round(bar_height * cell);
    const mgk_stroke stroke = {line_color, look->style.thin.width, 5};
    for (size_t l = 0; l < model->layers && cell >= least_lined; l++)
        for (size_t k = 1; k < model->keys; k++) {
            const double bottom = y + cell * (double)l + floor((cell + height) / 2),
                         at = bottom - height * (double)k / (double)model->keys;
            mgk_canvas_line(canvas, x, at, x + look->cell_width * (double)model->heads, at, stroke);
        }
}

static mgk_status draw_shares(mgk_canvas *canvas, const mgk_key_mixture *model,
                              const mgk_map_look *look, double x, double y)
{
    const size_t cells = model->layers * model->heads;
    double *first; /* the shares of the first key */
    TRY(mgk_alloc(cells, sizeof(*first), &first));
    for (size_t i = 0; i < cells; i++) {
        first[i] = model->shares[i * model->keys];
        const mgk_rect cell = {x + look->cell_width * (double)(i % model->heads),
                               y + look->cell_height * (double)(i / model->heads), look->cell_width,
                               look->cell_height};
        if (!isnan(first[i]))
            draw_bar(canvas, &model->shares[i * model->keys], model->keys, cell);
    }
    draw_equal(canvas, model, look, x, y);
    const mgk_map map = map_of(model, 0, first);
    mgk_status status = mgk_map_draw_frame(canvas, &map, look, x, y);
    mgk_free(first);
    return status;
}

/* Draws a block of a model with its heading, and the upper left corner of its cells at (x, y). */
static mgk_status draw_block(mgk_canvas *canvas, const mixtures_plan *plan,
                             const mgk_key_mixture *model, size_t block, double x, double y)
{
    const mgk_map_look *look = &plan->looks[block];
    const double em = look->style.text.size;
    mgk_canvas_text(canvas, x, y - 0.35 * em, heading_of(plan, block), look->style.small,
                    ANCHOR_START);
    if (block == 0)
        return draw_shares(canvas, model, look, x, y);
    const mgk_map map = map_of(model, block, model->maps[block - 1]);
    const mgk_colorbar bar = bar_of(plan, block);
    mgk_colorbar_draw(canvas, &bar, x + look->cell_width * (double)model->heads + scale_gap * em, y,
                      look->cell_height * (double)model->layers);
    return mgk_map_draw(canvas, &map, look, &plan->scales[block - 1], x, y);
}

static mgk_status draw_model(mgk_canvas *canvas, const mixtures_plan *plan, size_t i, double x,
                             double y)
{
    const mgk_key_mixture *model = &plan->data->models[i];
    mgk_font font = plan->looks[0].style.title;
    font.size *= fmin(1, (plan->width - plan->margins.left) / mgk_text_width(model->title, font));
    x += plan->margins.left;
    /* The middle of all cells. */
    const double middle = x + (plan->width - plan->block_widths[plan->blocks - 1] +
                               plan->looks[0].cell_width * (double)plan->most_heads) /
                                  2;
    mgk_canvas_text(canvas, middle, y + MGK_CAP_HEIGHT * font.size, model->title, font,
                    ANCHOR_MIDDLE);
    y += plan->title_height + plan->margins.top;
    for (size_t b = 0; b < plan->blocks; b++) {
        TRY(draw_block(canvas, plan, model, b, x, y));
        x += plan->block_widths[b];
    }
    return STATUS_OK;
}

static mgk_status draw_all(mgk_canvas *canvas, const mixtures_plan *plan, double x, double y)
{
    mgk_legend_draw(canvas, &plan->legend, x, y, plan->width);
    y += mgk_legend_height(&plan->legend, plan->width);
    for (size_t i = 0; i < plan->data->count; i++)
        TRY(draw_model(canvas, plan, i, x, round(y + plan->block_height * (double)i)));
    y += plan->block_height * (double)plan->data->count;
    mgk_legend_draw(canvas, &plan->gaps, x, y, plan->width);
    y += mgk_legend_height(&plan->gaps, plan->width);
    mgk_notes_draw(canvas, &plan->notes, x, y, plan->width);
    return STATUS_OK;
}

mgk_status mgk_draw_mixtures(const mgk_key_mixtures *mixtures, const mgk_picture_options *options,
                             const char *path)
{
    mgk_status status;
    mgk_page page = {0};
    mixtures_plan plan = {.data = mixtures};
    CHECK(measure(&plan, options));
    CHECK(mgk_page_open(path, plan.width, plan.height, plan.width / 2, plan.looks[0].style, options,
                        &page));
    CHECK(draw_all(page.canvas, &plan, page.x, page.y));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    return status;
}
