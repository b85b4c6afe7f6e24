/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "plots/canvas/page.h"
#include "plots/figures/figures.h"

/* Fraction of the page's width. */
static const double histogram_share = 0.36;

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
    char heading[64];
    snprintf(heading, sizeof(heading), "(%c) rank distribution",
             (char)('a' + (input->model_count < 25 ? input->model_count : 25)));
    mgk_histograms histograms = {.tables = input->ranks,
                                 .table_count = input->model_count,
                                 .overlay = true,
                                 .count_from = options->count_from,
                                 .value_name = "rank",
                                 .heading = heading};
    TRY(mgk_heatmap_measure(&grid, options, &plan));
    double em = plan.style.text.size, height = fmax(plan.height, 14 * em);
    double right = histogram_share / (1 - histogram_share) * plan.width;
    right = round(fmax(right, 18 * em));
    double gap = round(1.6 * em);
    double width = plan.width + gap + right;
    CHECK(mgk_page_open(path, width, height, width / 2, plan.style, options, &page));
    CHECK(mgk_heatmap_draw(page.canvas, &plan, page.x, page.y));
    CHECK(mgk_histograms_draw(page.canvas, &histograms, plan.style,
                              (mgk_rect){page.x + plan.width + gap, page.y, right, height}));
    CHECK(mgk_page_save(&page));
out:
    mgk_page_close(&page);
    mgk_heatmap_free(&plan);
    return status;
}
