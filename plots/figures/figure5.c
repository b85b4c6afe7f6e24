/* SPDX-License-Identifier: MIT */
#include "plots/figures/figures.h"

mgk_status mgk_figure5(const mgk_figure5_input *input, const mgk_picture_options *options,
                       const char *path)
{
    mgk_heatmap_grid grid = {.groups = input->attention,
                             .group_count = input->model_count,
                             .letters = true,
                             .panel = 256,
                             .value_name = "attention",
                             .row_name = "query",
                             .col_name = "key"};
    return mgk_draw_heatmap_grid(&grid, options, path);
}
