/* SPDX-License-Identifier: MIT */
#include "plots/figures/figures.h"

mgk_status mgk_figure6(const mgk_figure6_input *input, const mgk_picture_options *options,
                       const char *path)
{
    size_t layers = input->model_count > 0 ? input->ranks[0].layers : 0;
    size_t usual[2] = {0, layers >= 5 ? 4 : layers - 1};
    bool chosen = input->layers != NULL;
    mgk_histograms histograms = {.tables = input->ranks,
                                 .table_count = input->model_count,
                                 .rows = chosen ? input->layers : usual,
                                 .row_count = chosen       ? input->layer_count
                                              : layers > 1 ? 2
                                                           : layers,
                                 .count_from = options->count_from,
                                 .real = input->shares,
                                 .value_name = mgk_rank_label(input->shares)};
    return mgk_draw_histograms(&histograms, options, path);
}
