/* SPDX-License-Identifier: MIT */
#include "plots/charts/map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

enum { LABEL = 32 };

/* In text sizes: the space around numbers, and the smallest text that is legible on paper; numbers
 * of rows and columns become smaller than `small` only where none may be left out. */
static const double gap = 0.3, smallest = 0.5, small = 0.75;

/* The share of a cell that a text may fill. */
static const double filled = 0.86;

static bool is_blank(const mgk_map *map, size_t i)
{
    return map->self && i / map->cols == i % map->cols;
}

bool mgk_map_has_gaps(const mgk_map *map)
{
    for (size_t i = 0; i < map->rows * map->cols; i++)
        if (isnan(map->values[i]) && !is_blank(map, i))
            return true;
    return false;
}

/* ---- numbers in cells ------------------------------------------------------------------------ */

/* Writes a value with U+2212 for minus; "0.00" has no sign. */
static void write_value(double value, int decimals, char out[LABEL])
{
    char digits[LABEL - 4];
    const double unit = pow(10, -decimals), shown = round(value / unit) * unit;
    snprintf(digits, sizeof(digits), "%.*f", decimals, fabs(shown));
    snprintf(out, LABEL, "%s%s", shown < 0 ? "\u2212" : "", digits);
}

/* The least and the greatest value, and the greatest without sign. */
typedef struct value_range {
    double least, most, greatest;
} value_range;

static value_range range_of(const mgk_map *maps, size_t count)
{
    value_range range = {INFINITY, -INFINITY, 0};
    for (size_t m = 0; m < count; m++)
        for (size_t i = 0; i < maps[m].rows * maps[m].cols; i++) {
            const double value = maps[m].values[i];
            if (!isfinite(value) || is_blank(&maps[m], i))
                continue;
            range.least = fmin(range.least, value);
            range.most = fmax(range.most, value);
            range.greatest = fmax(range.greatest, fabs(value));
        }
    return range;
}

/* The decimals with which x > 0 has so many digits. */
static int decimals_of(double x, int digits)
{
    return digits - 1 - (int)floor(log10(x));
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static mgk_map_numbers measure(const mgk_map *maps, size_t count, int decimals,
                               const mgk_style *style)
{
    mgk_map_numbers numbers = {.decimals = decimals < 0 ? 0 : decimals};
    char text[LABEL];
    for (size_t m = 0; m < count; m++)
        for (size_t i = 0; i < maps[m].rows * maps[m].cols; i++)
            if (isfinite(maps[m].values[i]) && !is_blank(&maps[m], i)) {
                write_value(maps[m].values[i], numbers.decimals, text);
                numbers.widest =
                    fmax(numbers.widest, mgk_text_width(text, style->text) / style->text.size);
            }
    return numbers;
}

void mgk_map_measure_numbers(const mgk_map *maps, size_t count, mgk_map_look *look)
{
    const int digits = 3, digits_of_range = 2, most_digits = 5, most_decimals = 5;
    const double most = 99999;
    const value_range range = range_of(maps, count);
    const int decimals = range.greatest > 0 ? decimals_of(range.greatest, digits) : 0;
    memset(look->numbers, 0, sizeof(look->numbers));
    if (range.greatest > most || decimals > most_decimals)
        return;
    int finest = decimals;
    if (range.most > range.least) {
        finest = decimals_of(range.most - range.least, digits_of_range);
        finest = least(finest, least(decimals_of(range.greatest, most_digits), most_decimals));
    }
    for (int i = 0; i < MGK_MAP_NUMBERS; i++)
        look->numbers[i] = i > 0 && decimals + i > finest
                               ? look->numbers[i - 1]
                               : measure(maps, count, decimals + i, &look->style);
}

/* The text size of numbers in cells; 0: they do not fit. */
static double size_of(const mgk_map_numbers *numbers, const mgk_map_look *look)
{
    const mgk_style *style = &look->style;
    if (numbers->widest == 0)
        return 0;
    const double size = fmin(style->small.size, fmin(filled * look->cell_width / numbers->widest,
                                                     filled * look->cell_height));
    return size >= smallest * style->text.size ? size : 0;
}

const mgk_map_numbers *mgk_map_numbers_that_fit(const mgk_map_look *look)
{
    int best = MGK_MAP_NUMBERS - 1;
    while (best > 0 && size_of(&look->numbers[best], look) < size_of(&look->numbers[0], look))
        best--;
    return &look->numbers[best];
}

/* White on dark colours; the weights are those of sRGB's luminance. */
static mgk_rgb text_color(mgk_rgb background)
{
    const double luminance = 0.2126 * background.r + 0.7152 * background.g + 0.0722 * background.b;
    return luminance < 128 ? (mgk_rgb){255, 255, 255} : (mgk_rgb){20, 20, 20};
}

static void draw_numbers(mgk_canvas *canvas, const mgk_map *map, const mgk_map_look *look,
                         const mgk_scale *scale, double x, double y)
{
    mgk_font font = look->style.small;
    char text[LABEL];
    const mgk_map_numbers *numbers = mgk_map_numbers_that_fit(look);
    font.size = size_of(numbers, look);
    for (size_t i = 0; i < map->rows * map->cols && font.size > 0; i++) {
        if (!isfinite(map->values[i]) || is_blank(map, i))
            continue;
        const double cx = x + look->cell_width * ((double)(i % map->cols) + 0.5);
        const double cy = y + look->cell_height * ((double)(i / map->cols) + 0.5);
        font.color =
            text_color(mgk_colormap_at(look->colormap, mgk_scale_at(scale, map->values[i])));
        write_value(map->values[i], numbers->decimals, text);
        mgk_canvas_text(canvas, cx, cy + MGK_CAP_HEIGHT / 2 * font.size, text, font, ANCHOR_MIDDLE);
    }
}

/* ---- numbers of rows and columns ------------------------------------------------------------- */

/* Numbers along an axis. */
typedef struct axis_numbers {
    mgk_font font;
    size_t every; /* draws every so many-th; 0: none */
    double widest;
} axis_numbers;

static void write_number(const mgk_map *map, const mgk_map_look *look, const int32_t *numbers,
                         size_t i, char out[LABEL])
{
    if (map->texts)
        mgk_utf8_copy(map->texts[i], SIZE_MAX, out, LABEL);
    else
        snprintf(out, LABEL, "%ld", (long)numbers[i] + look->count_from);
}

/* Fits the numbers to their distance `pitch`; `across`: they stand side by side. */
static axis_numbers fit_numbers(const mgk_map *map, const int32_t *numbers, size_t count,
                                bool across, const mgk_map_look *look)
{
    const mgk_style *style = &look->style;
    const double pitch = across ? look->cell_width : look->cell_height;
    const bool ordered = map->ordered || map->texts;
    axis_numbers a = {.font = style->small, .every = 1};
    char text[LABEL];
    for (size_t i = 0; i < count; i++) {
        write_number(map, look, numbers, i, text);
        a.widest = fmax(a.widest, mgk_text_width(text, a.font));
    }
    const double needed = across ? a.widest + gap * a.font.size : a.font.size;
    const double share = pitch / needed,
                 least = (ordered ? smallest : small) * style->text.size / a.font.size;
    if (share >= 1)
        return a;
    if (share >= least || ordered) {
        a.every = share >= least;
        a.font.size *= share;
        a.widest *= a.every ? share : 0;
        return a;
    }
    while ((double)a.every * share < 1)
        a.every = a.every % 10 == 2 ? a.every / 2 * 5 : 2 * a.every; /* 1, 2, 5, 10, … */
    return a;
}

static axis_numbers row_numbers(const mgk_map *map, const mgk_map_look *look)
{
    return fit_numbers(map, map->row_numbers, map->rows, false, look);
}

static axis_numbers col_numbers(const mgk_map *map, const mgk_map_look *look)
{
    return fit_numbers(map, map->col_numbers, map->cols, true, look);
}

bool mgk_map_has_numbers(const mgk_map *map, const mgk_map_look *look)
{
    return row_numbers(map, look).every > 0 && col_numbers(map, look).every > 0;
}

mgk_margins mgk_map_margins(const mgk_map *map, const mgk_map_look *look)
{
    const mgk_style *style = &look->style;
    const double em = style->text.size, line = mgk_line_height(style->text);
    const axis_numbers rows = row_numbers(map, look), cols = col_numbers(map, look);
    return (mgk_margins){
        .left = ceil(rows.widest + (rows.every ? gap * em : 0) + (map->row_name ? line : 0)),
        .bottom = ceil((cols.every ? cols.font.size + gap * em : 0) + (map->col_name ? line : 0))};
}

static void draw_axes(mgk_canvas *canvas, const mgk_map *map, const mgk_map_look *look, double x,
                      double y)
{
    const mgk_style *style = &look->style;
    const double em = style->text.size;
    const double width = look->cell_width * (double)map->cols,
                 height = look->cell_height * (double)map->rows;
    const mgk_margins margins = mgk_map_margins(map, look);
    const axis_numbers rows = row_numbers(map, look), cols = col_numbers(map, look);
    char text[LABEL];
    for (size_t i = 0; rows.every && i < map->rows; i += rows.every) {
        const double middle = y + look->cell_height * ((double)i + 0.5);
        write_number(map, look, map->row_numbers, i, text);
        mgk_canvas_text(canvas, x - gap * em, middle + MGK_CAP_HEIGHT / 2 * rows.font.size, text,
                        rows.font, ANCHOR_END);
    }
    for (size_t i = 0; cols.every && i < map->cols; i += cols.every) {
        write_number(map, look, map->col_numbers, i, text);
        mgk_canvas_text(canvas, x + look->cell_width * ((double)i + 0.5),
                        y + height + gap * em + MGK_CAP_HEIGHT * cols.font.size, text, cols.font,
                        ANCHOR_MIDDLE);
    }
    if (map->row_name)
        mgk_canvas_text_upward(canvas, x - margins.left + MGK_CAP_HEIGHT * em, y + height / 2,
                               map->row_name, style->text, ANCHOR_MIDDLE);
    if (map->col_name)
        mgk_canvas_text(canvas, x + width / 2, y + height + margins.bottom - MGK_DESCENT * em,
                        map->col_name, style->text, ANCHOR_MIDDLE);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static mgk_status hatch_gaps(mgk_canvas *canvas, const mgk_map *map, const mgk_map_look *look,
                             double x, double y)
{
    const size_t width = (size_t)look->cell_width, height = (size_t)look->cell_height;
    mgk_rgb *pixels;
    TRY(mgk_alloc(width * height, sizeof(*pixels), &pixels));
    for (size_t i = 0; i < map->rows * map->cols; i++) {
        const size_t left = i % map->cols * width, top = i / map->cols * height;
        if (!isnan(map->values[i]) || is_blank(map, i))
            continue;
        for (size_t p = 0; p < width * height; p++)
            pixels[p] = mgk_hatch_at(left + p % width, top + p / width);
        mgk_canvas_raster(
            canvas, &(mgk_raster){width, height, pixels},
            (mgk_rect){x + (double)left, y + (double)top, look->cell_width, look->cell_height});
    }
    mgk_free(pixels);
    return STATUS_OK;
}

mgk_status mgk_map_draw_frame(mgk_canvas *canvas, const mgk_map *map, const mgk_map_look *look,
                              double x, double y)
{
    TRY(hatch_gaps(canvas, map, look, x, y));
    mgk_canvas_frame(canvas,
                     (mgk_rect){x, y, look->cell_width * (double)map->cols,
                                look->cell_height * (double)map->rows},
                     look->style.thin);
    draw_axes(canvas, map, look, x, y);
    return STATUS_OK;
}

mgk_status mgk_map_draw(mgk_canvas *canvas, const mgk_map *map, const mgk_map_look *look,
                        const mgk_scale *scale, double x, double y)
{
    const mgk_rect rect = {x, y, look->cell_width * (double)map->cols,
                           look->cell_height * (double)map->rows};
    mgk_raster raster = {map->cols, map->rows, NULL};
    TRY(mgk_alloc(map->rows * map->cols, sizeof(*raster.pixels), &raster.pixels));
    for (size_t i = 0; i < map->rows * map->cols; i++)
        raster.pixels[i] =
            is_blank(map, i) || isnan(map->values[i])
                ? (mgk_rgb){255, 255, 255}
                : mgk_colormap_at(look->colormap, mgk_scale_at(scale, map->values[i]));
    mgk_canvas_raster(canvas, &raster, rect);
    mgk_free(raster.pixels);
    draw_numbers(canvas, map, look, scale, x, y);
    return mgk_map_draw_frame(canvas, map, look, x, y);
}
