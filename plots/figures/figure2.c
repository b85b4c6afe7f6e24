/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "plots/canvas/page.h"
#include "plots/figures/figures.h"

/* Fraction of the page's width. */
static const double histogram_share = 0.36;

/* The largest ratio of width to height with which matrices and histograms stand side by side. */
static const double widest = 3.2;

/* The largest matrices that fit side by side on a page of 2048 pixels, within bounds. */
static size_t panel_for(const mgk_figure2_input *input)
{
    const size_t page = 2048, smallest = 128, largest = 256;
    size_t columns = 0;
    for (size_t i = 0; i < input->model_count; i++)
        columns += input->attention[i].heads;
    size_t panel = columns > 0 ? page / columns : largest;
    return panel < smallest ? smallest : panel > largest ? largest : panel;
}

/* The histograms, relative to the matrices, and the size of both. */
typedef struct layout {
    mgk_rect histograms;
    double width, height;
} layout;

/* The histograms are at the right of the matrices, */
static layout lay_beside(const mgk_heatmap_plan *plan)
{
    const double em = plan->style.text.size, gap = round(1.6 * em),
                 height = fmax(plan->height, 14 * em),
                 right =
                     round(fmax(histogram_share / (1 - histogram_share) * plan->width, 18 * em));
    return (layout){{plan->width + gap, 0, right, height}, plan->width + gap + right, height};
}

/* or below matrices of few layers, beside which they would make a strip. */
static layout lay_below(const mgk_heatmap_plan *plan)
{
    const double em = plan->style.text.size, gap = round(1.2 * em), height = round(16 * em),
                 width = fmax(plan->width, 18 * em);
    return (layout){{0, plan->height + gap, width, height}, width, plan->height + gap + height};
}

mgk_status mgk_figure2(const mgk_figure2_input *input, const mgk_picture_options *options,
                       const char *path)
{
    mgk_status status = STATUS_OK;
    mgk_page page = {0};
    mgk_heatmap_plan plan;
    mgk_heatmap_grid grid = {.groups = input->attention,
                             .group_count = input->model_count,
                             .letters = true,
                             .panel = panel_for(input),
                             .page_share = 1 - histogram_share,
                             .value_name = "attention",
                             .row_name = "query",
                             .col_name = "key"};
    char heading[128];
    snprintf(heading, sizeof(heading), "(%c) rank distribution",
             (char)('a' + (input->model_count < 25 ? input->model_count : 25)));
    mgk_append_sizes(input->least, input->most, sizeof(heading), heading);
    const bool shares = input->least < input->most;
    mgk_histograms histograms = {.tables = input->ranks,
                                 .table_count = input->model_count,
                                 .overlay = true,
                                 .count_from = options->count_from,
                                 .real = shares,
                                 .value_name = mgk_rank_label(shares),
                                 .heading = heading};
    TRY(mgk_heatmap_measure(&grid, options, &plan));
    layout places = lay_beside(&plan);
    if (places.width > widest * places.height) {
        mgk_heatmap_free(&plan);
        grid.page_share = 0;
        TRY(mgk_heatmap_measure(&grid, options, &plan));
        places = lay_below(&plan);
    }
    CHECK(mgk_page_open(path, places.width, places.height, places.width / 2, plan.style, options,
                        &page));
    CHECK(mgk_heatmap_draw(page.canvas, &plan, page.x, page.y));
    places.histograms.x += page.x;
    places.histograms.y += page.y;
    CHECK(mgk_histograms_draw(page.canvas, &histograms, plan.style, places.histograms));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    mgk_heatmap_free(&plan);
    return status;
}
