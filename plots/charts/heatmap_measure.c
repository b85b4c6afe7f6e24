/* SPDX-License-Identifier: MIT */
/* Measures a grid: its scales, and the positions of all parts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "plots/charts/heatmap_grid.h"
#include "plots/scales/colorbar.h"

/* The most panels of one picture: 128 layers of 128 heads. */
static const size_t panels_max = 1 << 14;

mgk_drawn_matrix mgk_panel_view(const mgk_panels *panels, size_t layer, size_t head, size_t key)
{
    size_t row_stride = panels->row_stride ? panels->row_stride : panels->cols;
    size_t stride = panels->matrix_stride ? panels->matrix_stride : panels->rows * row_stride;
    size_t start = ((layer * panels->heads + head) * panels->keys + key) * stride;
    return (mgk_drawn_matrix){.f32 = panels->f32 ? panels->f32 + start : NULL,
                              .f64 = panels->f64 ? panels->f64 + start : NULL,
                              .rows = panels->rows,
                              .cols = panels->cols,
                              .row_stride = row_stride};
}

void mgk_heatmap_title(const mgk_heatmap_grid *grid, size_t group, char *out, size_t size)
{
    const char *title = grid->groups[group].title;
    if (grid->letters)
        snprintf(out, size, "(%c) %s", (char)('a' + group), title ? title : "");
    else
        snprintf(out, size, "%s", title ? title : "");
}

static const char *name_of(const mgk_panels *panels)
{
    return panels->source ? panels->source : panels->title ? panels->title : "grid";
}

mgk_status mgk_panel_fail(mgk_status status, const mgk_panels *panels, size_t panel)
{
    size_t head = panel / panels->keys % panels->heads;
    size_t layer = panel / panels->keys / panels->heads;
    char place[64], key[32] = "";
    if (panels->keys > 1)
        snprintf(key, sizeof(key), ", key %zu", panel % panels->keys);
    snprintf(place, sizeof(place), "layer %ld, head %ld%s",
             panels->layer_numbers ? (long)panels->layer_numbers[layer] : (long)layer,
             panels->head_numbers ? (long)panels->head_numbers[head] : (long)head, key);
    mgk_fail_prefix(status, place);
    return mgk_fail_prefix(status, name_of(panels));
}

static mgk_status check_group(const mgk_panels *panels, size_t *count, size_t *elements)
{
    const char *title = name_of(panels);
    size_t size, row_stride = panels->row_stride ? panels->row_stride : panels->cols;
    if (!panels->f32 == !panels->f64)
        return mgk_fail(STATUS_USAGE, "%s: expected matrices in one precision", title);
    if (row_stride < panels->cols ||
        (panels->matrix_stride && panels->matrix_stride / row_stride < panels->rows))
        return mgk_fail(STATUS_SHAPE, "%s: matrices overlap", title);
    TRY(mgk_multiply(panels->layers, panels->heads, count));
    TRY(mgk_multiply(*count, panels->keys, count));
    TRY(mgk_multiply(panels->rows, panels->cols, &size));
    TRY(mgk_multiply(size, *count, elements));
    if (*elements == 0)
        return mgk_fail(STATUS_SHAPE, "%s: %zu layers, %zu heads, %zu keys of %zu x %zu: empty",
                        title, panels->layers, panels->heads, panels->keys, panels->rows,
                        panels->cols);
    if (*count > panels_max)
        return mgk_fail(STATUS_SHAPE, "%s: %zu matrices: expected at most %zu in a picture", title,
                        *count, panels_max);
    return STATUS_OK;
}

static size_t count_columns(const mgk_heatmap_grid *grid)
{
    size_t columns = 0;
    for (size_t g = 0; g < grid->group_count; g++)
        columns += grid->groups[g].heads * grid->groups[g].keys;
    return columns;
}

/* Larger panels for labels, within the width of a page. */
static size_t panel_size(const mgk_heatmap_plan *plan, const mgk_panels *panels)
{
    const size_t page = 2400;
    size_t usual = plan->grid->panel, columns = count_columns(plan->grid);
    if (plan->options->panel)
        return plan->options->panel;
    if (!panels->labels || columns == 0 || page / columns <= usual)
        return usual;
    size_t most = page / columns;
    size_t longest = panels->rows > panels->cols ? panels->rows : panels->cols;
    size_t wanted = longest < most ? longest * MGK_LABEL_PITCH : most;
    return wanted > most ? most : wanted < usual ? usual : wanted;
}

/* Checks every group and chooses the size of its panels; *count, *pixels: sums over all groups. */
static mgk_status fit_panels(mgk_heatmap_plan *plan, size_t *count, size_t *pixels)
{
    const mgk_heatmap_grid *grid = plan->grid;
    if (grid->group_count < 1 || grid->group_count > MGK_GROUPS_MAX)
        return mgk_fail(STATUS_SHAPE, "%zu models: expected 1 to %d", grid->group_count,
                        MGK_GROUPS_MAX);
    size_t side = plan->options->panel ? plan->options->panel : grid->panel;
    if (side < 1 || side > 32767)
        return mgk_fail(STATUS_USAGE, "panels of %zu pixels: expected 1 to 32767", side);
    *count = *pixels = 0;
    for (size_t g = 0; g < grid->group_count; g++) {
        const mgk_panels *panels = &grid->groups[g];
        mgk_heatmap_group *group = &plan->groups[g];
        size_t group_count, elements;
        TRY(check_group(panels, &group_count, &elements));
        mgk_fit_panel(panels->rows, panels->cols, panel_size(plan, panels), &group->rows,
                      &group->cols, &group->factor);
        group->cell_width = (double)(group->cols * group->factor);
        group->cell_height = (double)(group->rows * group->factor);
        *count += group_count;
        *pixels += group_count * group->rows * group->cols;
        plan->row_height = fmax(plan->row_height, group->cell_height);
        plan->layers = panels->layers > plan->layers ? panels->layers : plan->layers;
        plan->key_row = plan->key_row || panels->keys > 1;
    }
    return STATUS_OK;
}

static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/*
 * Pools every panel and fits the scales: one per panel, or one for all. *gaps: whether some entries
 * are not finite.
 */
static mgk_status fit_scales(mgk_heatmap_plan *plan, size_t count, size_t pixels, bool *gaps)
{
    mgk_status status = STATUS_OK;
    const mgk_picture_options *options = plan->options;
    bool shared = !options->range_per_panel;
    mgk_scale_rule rule = mgk_picture_rule(options);
    mgk_sample sample = {0};
    double *values = NULL;
    CHECK(mgk_alloc(shared ? 1 : count, sizeof(mgk_scale), &plan->scales));
    if (shared)
        CHECK(mgk_sample_open(pixels, &sample));
    for (size_t g = 0; g < plan->grid->group_count; g++) {
        const mgk_panels *panels = &plan->grid->groups[g];
        const mgk_heatmap_group *group = &plan->groups[g];
        size_t size = group->rows * group->cols;
        CHECK(mgk_alloc(size, sizeof(double), &values));
        for (size_t p = 0; p < panels->layers * panels->heads * panels->keys; p++) {
            /* The panels of a group are adjacent, like heads of a single layer. */
            mgk_drawn_matrix view = mgk_panel_view(panels, 0, 0, p);
            mgk_pool(&view, options->pooling, group->rows, group->cols, values);
            if (!shared)
                CHECK(mgk_sample_open(size, &sample));
            mgk_sample_add(&sample, values, size);
            *gaps = *gaps || !all_finite(values, size);
            status = shared ? mgk_scale_check(rule, &sample)
                            : mgk_scale_fit(rule, &sample, &plan->scales[plan->scale_count++]);
            if (status != STATUS_OK) {
                mgk_panel_fail(status, panels, p);
                goto out;
            }
            if (!shared)
                mgk_sample_close(&sample);
        }
        mgk_free(values);
        values = NULL;
    }
    if (shared) {
        status = mgk_scale_fit(rule, &sample, &plan->scales[plan->scale_count++]);
        if (status != STATUS_OK)
            mgk_fail_prefix(status, name_of(&plan->grid->groups[0]));
    }
out:
    mgk_free(values);
    mgk_sample_close(&sample);
    return status;
}

/* The width of a label, in text sizes. */
static double label_width(const char *label)
{
    return mgk_text_width(label, (mgk_font){100, false, {0, 0, 0}}) / 100;
}

/* The text size: legible in print, but not wider than the labelled columns. */
static double choose_text_size(mgk_heatmap_plan *plan)
{
    const mgk_heatmap_grid *grid = plan->grid;
    double head_label = label_width("head 10"), key_label = label_width("key 2");
    double content = 0, heads_fit = INFINITY, keys_fit = INFINITY;
    for (size_t g = 0; g < grid->group_count; g++) {
        const mgk_panels *panels = &grid->groups[g];
        double head = plan->groups[g].cell_width * (double)panels->keys;
        content += head * (double)panels->heads;
        heads_fit = fmin(heads_fit, head / head_label);
        if (grid->groups[g].keys > 1)
            keys_fit = fmin(keys_fit, plan->groups[g].cell_width / key_label);
    }
    double share = grid->page_share > 0 ? grid->page_share : 1;
    const double smallest = 24;
    double fitting = floor(fmin(heads_fit, keys_fit));
    double size = fmin(mgk_text_size_for(content / share), fmax(fitting, smallest));
    plan->short_rows = plan->row_height < size * label_width("layer 10");
    return size;
}

static bool same_rows(const mgk_panels *a, const mgk_panels *b)
{
    if (a->rows != b->rows || a->layers != b->layers || a->first != b->first ||
        !a->labels != !b->labels)
        return false;
    for (size_t i = 0; a->labels && i < a->rows; i++)
        if (strcmp(a->labels[i], b->labels[i]) != 0)
            return false;
    for (size_t l = 0; l < a->layers; l++) {
        int32_t first = a->layer_numbers ? a->layer_numbers[l] : (int32_t)l;
        if (first != (b->layer_numbers ? b->layer_numbers[l] : (int32_t)l))
            return false;
    }
    return true;
}

/* The size of the colour bar of all panels, or of each. */
static void measure_bars(mgk_heatmap_plan *plan)
{
    bool shared = !plan->options->range_per_panel;
    const char *name = plan->grid->value_name;
    plan->bar_style = shared ? plan->style : mgk_style_of(round(plan->style.text.size * 0.75));
    plan->bar_height = shared ? plan->panels_height : plan->row_height;
    if (shared && name) {
        const char *scaling = mgk_scaling_name(plan->options->scaling);
        bool linear = plan->options->scaling == SCALING_LINEAR;
        snprintf(plan->bar_label, sizeof(plan->bar_label), linear ? "%s" : "%s (%s)", name,
                 scaling);
    }
    for (size_t i = 0; i < plan->scale_count; i++) {
        mgk_colorbar bar = {&plan->scales[i], plan->options->colormap,
                            plan->bar_label[0] ? plan->bar_label : NULL, plan->bar_style};
        plan->bar_width = fmax(plan->bar_width, mgk_colorbar_width(&bar, plan->bar_height));
    }
}

static void measure_labels(mgk_heatmap_plan *plan)
{
    for (size_t g = 0; g < plan->grid->group_count; g++) {
        const mgk_panels *panels = &plan->grid->groups[g];
        mgk_heatmap_group *group = &plan->groups[g];
        group->labels = mgk_labels_measure(panels->labels, panels->rows,
                                           group->cell_height / (double)panels->rows, plan->style);
        group->col_labels =
            mgk_labels_measure(panels->col_labels ? panels->col_labels : panels->labels,
                               panels->cols, group->cell_width / (double)panels->cols, plan->style);
        plan->label_height = fmax(plan->label_height, group->col_labels.space);
    }
}

/* Whether "1  name  256" is too long for a side of this length that has space for the numbers. */
static bool is_apart(const char *name, size_t first, size_t size, double length, mgk_font font)
{
    char text[64];
    snprintf(text, sizeof(text), "%zu %zu", first, first + size - 1);
    double numbers = mgk_text_width(text, font);
    snprintf(text, sizeof(text), "%zu", first + size - 1);
    double room = length - 2 * mgk_text_width(text, font) - font.size;
    return name && size > 1 && numbers <= length && mgk_text_width(name, font) > room;
}

size_t mgk_heatmap_first(const mgk_heatmap_plan *plan, const mgk_panels *panels)
{
    return panels->first + (size_t)plan->options->count_from;
}

double mgk_heatmap_axis_width(const mgk_heatmap_plan *plan, const mgk_heatmap_group *group)
{
    return (group->row_apart ? 2 : 1) * mgk_line_height(plan->style.small) +
           (plan->short_rows ? 2 : 1) * mgk_line_height(plan->style.text) + group->labels.space;
}

static void measure_axes(mgk_heatmap_plan *plan)
{
    const mgk_heatmap_grid *grid = plan->grid;
    for (size_t g = 0; g < grid->group_count; g++) {
        const mgk_panels *panels = &grid->groups[g];
        mgk_heatmap_group *group = &plan->groups[g];
        group->left_axis = g == 0 || !same_rows(panels, &grid->groups[g - 1]);
        /* Labels replace the numbers. */
        const size_t first = mgk_heatmap_first(plan, panels);
        group->row_apart = !panels->labels && is_apart(grid->row_name, first, panels->rows,
                                                       group->cell_height, plan->style.small);
        group->col_apart = !panels->labels && is_apart(grid->col_name, first, panels->cols,
                                                       group->cell_width, plan->style.small);
    }
}

/* Places a group that starts at x; returns its end. */
static double place_group(mgk_heatmap_plan *plan, size_t g, double x)
{
    const mgk_panels *panels = &plan->grid->groups[g];
    mgk_heatmap_group *group = &plan->groups[g];
    char title[256];
    double em = plan->style.text.size, columns = (double)(panels->heads * panels->keys);
    double bar = plan->options->range_per_panel ? plan->bar_width + round(0.25 * em) : 0;
    double cell = group->cell_width + bar, keys = (double)panels->keys;
    double width = columns * cell + (columns - 1) * plan->gap - bar;
    group->short_keys = cell < em * label_width("key 2");
    group->short_heads = keys * cell + (keys - 1) * plan->gap < em * label_width("head 10");
    mgk_heatmap_title(plan->grid, g, title, sizeof(title));
    double half = ceil(mgk_text_width(title, plan->style.title) / 2);
    group->x = x + (group->left_axis ? mgk_heatmap_axis_width(plan, group) : 0);
    /* A title may extend above the axis. */
    group->x = fmax(group->x, x + ceil(half - width / 2));
    group->title_x = group->x + width / 2;
    return fmax(group->x + width + bar, group->title_x + half);
}

/* Places the groups from left to right; returns the right end. */
static double place_groups(mgk_heatmap_plan *plan)
{
    const mgk_heatmap_grid *grid = plan->grid;
    const mgk_heatmap_group *last = &plan->groups[grid->group_count - 1];
    double x = 0;
    for (size_t g = 0; g < grid->group_count; g++)
        x = place_group(plan, g, x + (g > 0 ? round(1.3 * plan->style.text.size) : 0));
    /* From the left edge of the first panels to the right edge of the last. */
    plan->middle = (plan->groups[0].x + 2 * last->title_x - last->x) / 2;
    return x;
}

/* The legend of colours that are not in the colour bar. */
static void measure_notes(mgk_heatmap_plan *plan, bool gaps)
{
    bool masked = false;
    for (size_t g = 0; g < plan->grid->group_count; g++) {
        const mgk_panels *panels = &plan->grid->groups[g];
        masked = masked || (panels->causal && plan->groups[g].rows > 1) ||
                 panels->padding_first + panels->padding_last > 0;
    }
    plan->notes = (mgk_legend){plan->note, 0, plan->style.small};
    if (masked)
        plan->note[plan->notes.count++] = (mgk_legend_entry){.label = "masked", .key = KEY_HATCH};
    if (gaps)
        plan->note[plan->notes.count++] =
            (mgk_legend_entry){"not finite", MGK_NAN_COLOR, KEY_PATCH};
    plan->notes_width = 2 * fmin(plan->middle, plan->width - plan->middle);
    plan->notes_height = mgk_legend_height(&plan->notes, plan->notes_width);
}

static bool cols_apart(const mgk_heatmap_plan *plan)
{
    bool apart = false;
    for (size_t g = 0; g < plan->grid->group_count; g++)
        apart = apart || plan->groups[g].col_apart;
    return apart;
}

static bool any_title(const mgk_heatmap_grid *grid)
{
    for (size_t g = 0; g < grid->group_count; g++)
        if (grid->letters || grid->groups[g].title)
            return true;
    return false;
}

mgk_status mgk_heatmap_measure(const mgk_heatmap_grid *grid, const mgk_picture_options *options,
                               mgk_heatmap_plan *out)
{
    mgk_status status = STATUS_OK;
    size_t count = 0, pixels = 0;
    bool gaps = false;
    *out = (mgk_heatmap_plan){.grid = grid, .options = options};
    CHECK(fit_panels(out, &count, &pixels));
    CHECK(fit_scales(out, count, pixels, &gaps));
    double em = choose_text_size(out);
    out->style = mgk_style_of(em);
    /* Colour bars one below the other need space for half a label at both ends. */
    out->gap = fmax(4, round((options->range_per_panel ? 0.8 : 0.3) * em));
    out->panels_height =
        (double)out->layers * out->row_height + (double)(out->layers - 1) * out->gap;
    out->top = (any_title(grid) ? round(1.5 * em) : 0) +
               mgk_line_height(out->style.text) * (out->key_row ? 2 : 1);
    measure_bars(out);
    measure_labels(out);
    measure_axes(out);
    out->width = place_groups(out);
    if (!options->range_per_panel)
        out->width += round(0.8 * em) + out->bar_width;
    measure_notes(out, gaps);
    out->height = out->top + out->panels_height + out->label_height +
                  (cols_apart(out) ? 2 : 1) * mgk_line_height(out->style.small) + out->notes_height;
out:
    if (status != STATUS_OK)
        mgk_heatmap_free(out);
    return status;
}

void mgk_heatmap_free(mgk_heatmap_plan *plan)
{
    mgk_free(plan->scales);
    *plan = (mgk_heatmap_plan){0};
}
