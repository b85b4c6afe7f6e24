/* SPDX-License-Identifier: MIT */
/*
 * Layers x heads of mixtures of keys, a row of blocks for each model: in each cell a stacked bar of
 * the shares of the keys, and beside it maps of other measures.
 *
 *                  legend
 *   title
 *     heading        heading
 *   1 [ bars  ]    1 [ cells ] | colour
 *   2 [       ]    2 [       ] | bar
 *      1  2  3        1  2  3
 *            legend of gaps, notes
 */
#ifndef MGK_PLOTS_MIXTURES_H
#define MGK_PLOTS_MIXTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/options.h"

enum { MGK_MIXTURE_MAPS = 2 };

/* The mixtures of a model with M keys. */
typedef struct mgk_key_mixture {
    const char *title;
    size_t layers, heads, keys;                  /* L, H, M */
    const int32_t *layer_numbers, *head_numbers; /* [L], [H] */
    const double *shares;                        /* [L, H, M], in [0, 1]; NaN: no value, hatched */
    const double *maps[MGK_MIXTURE_MAPS];        /* [L, H]; NaN: no value, hatched */
} mgk_key_mixture;

typedef struct mgk_key_mixtures {
    const mgk_key_mixture *models; /* [count] */
    size_t count;
    const char *share_name;                  /* above the bars */
    const char *map_names[MGK_MIXTURE_MAPS]; /* above the maps, [map_count] */
    bool map_signed[MGK_MIXTURE_MAPS]; /* values of both signs: 0 has the middle of coolwarm */
    size_t map_count;
    const char *const *notes; /* [note_count], lines below */
    size_t note_count;
} mgk_key_mixtures;

/*
 * Draws the mixtures to a file. Models share the scale of each map. STATUS_SHAPE: no model, or one
 * without a cell; STATUS_NUMERIC: a map without a value.
 */
mgk_status mgk_draw_mixtures(const mgk_key_mixtures *mixtures, const mgk_picture_options *options,
                             const char *path);

#endif
