/* SPDX-License-Identifier: MIT */
/*
 * The figures of "Transformer with a Mixture of Gaussian Keys" (arXiv 2110.08678), drawn from plain
 * arrays. Arrays are borrowed; models may differ in heads, keys per head and sizes. All functions
 * fail as mgk_draw_heatmap_grid and mgk_draw_histograms.
 */
#ifndef MGK_PLOTS_FIGURES_H
#define MGK_PLOTS_FIGURES_H

#include "plots/charts/heatmap_grid.h"
#include "plots/charts/histogram.h"

/*
 * Figure 2: attention matrices of several models side by side, for one sample, all heads and
 * layers; at the right the rank distributions per layer.
 */
typedef struct mgk_figure2_input {
    const mgk_panels *attention;  /* [model_count], each [L, H, 1, N, N] */
    const mgk_model_ranks *ranks; /* [model_count] */
    size_t model_count;
    size_t least, most; /* N of all matrices; if these differ, the ranks are shares of N */
} mgk_figure2_input;

mgk_status mgk_figure2(const mgk_figure2_input *input, const mgk_picture_options *options,
                       const char *path);

/*
 * Figures 5 and 8: all attention matrices of several models, 256 x 256 pixels each; larger ones are
 * pooled.
 */
typedef struct mgk_figure5_input {
    const mgk_panels *attention; /* [model_count], each [L, H, 1, N, N] */
    size_t model_count;
} mgk_figure5_input;

mgk_status mgk_figure5(const mgk_figure5_input *input, const mgk_picture_options *options,
                       const char *path);

/* Figure 6: rank histograms of several models at selected layers, on shared axes. */
typedef struct mgk_figure6_input {
    const mgk_model_ranks *ranks; /* [model_count] */
    size_t model_count;
    /*
     * Indices of table layers, [layer_count]; NULL: the first and the fifth, or the last if there
     * are fewer.
     */
    const size_t *layers;
    size_t layer_count;
    bool shares; /* the ranks are shares of N */
} mgk_figure6_input;

mgk_status mgk_figure6(const mgk_figure6_input *input, const mgk_picture_options *options,
                       const char *path);

/*
 * Figure 11: the key weights W_K of all layers, heads and components, on a scale symmetric about
 * zero.
 */
typedef struct mgk_figure11_input {
    const mgk_panels *weights; /* [model_count], each [L, H, M, C, D] */
    size_t model_count;
} mgk_figure11_input;

mgk_status mgk_figure11(const mgk_figure11_input *input, const mgk_picture_options *options,
                        const char *path);

/* Figure 12: the keys of a sequence's first tokens, for all layers, heads and components. */
typedef struct mgk_figure12_input {
    const mgk_panels *keys; /* [model_count], each [L, H, M, N, D] */
    size_t model_count;
    size_t tokens; /* number of tokens, at most N; 0: 100 */
} mgk_figure12_input;

mgk_status mgk_figure12(const mgk_figure12_input *input, const mgk_picture_options *options,
                        const char *path);

#endif
