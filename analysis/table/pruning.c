/* SPDX-License-Identifier: MIT */
#include "analysis/table/pruning.h"

const char *mgk_pruning_name(mgk_pruning_order order, mgk_importance which)
{
    static const char *const names[MGK_PRUNINGS][3] = {
        {"prune_importance", "prune_importance_divergence", "prune_importance_hidden"},
        {"prune_random", "prune_random_divergence", "prune_random_hidden"},
        {"prune_redundancy", "prune_redundancy_divergence", "prune_redundancy_hidden"}};
    return names[order][which == MGK_IMPORTANCE_ABLATION     ? 0
                        : which == MGK_IMPORTANCE_DIVERGENCE ? 1
                                                             : 2];
}
