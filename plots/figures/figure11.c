/* SPDX-License-Identifier: MIT */
#include "plots/figures/figures.h"

mgk_status mgk_figure11(const mgk_figure11_input *input, const mgk_picture_options *options,
                        const char *path)
{
    /* 64 x 32 weights get 6 x 6 pixels each. */
    mgk_heatmap_grid grid = {.groups = input->weights,
                             .group_count = input->model_count,
                             .letters = true,
                             .panel = 384,
                             .value_name = "key weight",
                             .row_name = "model dim.",
                             .col_name = "head dim."};
    return mgk_draw_heatmap_grid(&grid, options, path);
}
