/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "plots/figures/figures.h"

mgk_status mgk_figure12(const mgk_figure12_input *input, const mgk_picture_options *options,
                        const char *path)
{
    size_t tokens = input->tokens ? input->tokens : 100;
    mgk_panels shown[MGK_GROUPS_MAX];
    /* 100 x 32 keys get 5 x 5 pixels each. */
    mgk_heatmap_grid grid = {.groups = shown,
                             .group_count = input->model_count,
                             .letters = true,
                             .panel = 500,
                             .value_name = "key",
                             .row_name = "token",
                             .col_name = "head dim."};
    for (size_t i = 0; i < input->model_count && i < MGK_GROUPS_MAX; i++) {
        mgk_panels *panels = &shown[i];
        *panels = input->keys[i];
        if (panels->row_stride == 0)
            panels->row_stride = panels->cols;
        if (panels->matrix_stride == 0)
            TRY(mgk_multiply(panels->rows, panels->row_stride, &panels->matrix_stride));
        if (panels->rows > tokens)
            panels->rows = tokens;
    }
    return mgk_draw_heatmap_grid(&grid, options, path);
}
