/* SPDX-License-Identifier: MIT */
/* Draws figure 13 of the Performers' paper: how alike tokens are by the attention between them. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "plot/token_similarity.h"
#include "plots/charts/maps.h"

static mgk_map map_of(const mgk_token_similarity *s, const double *values)
{
    return (mgk_map){.values = values,
                     .rows = (size_t)s->classes,
                     .cols = (size_t)s->classes,
                     .texts = s->label_list,
                     .row_name = "token",
                     .col_name = "token"};
}

static void set_title(mgk_plot *plot, const mgk_token_similarity *s)
{
    char model[MGK_PLOT_TITLE], about[2 * MGK_PLOT_TITLE] = "attention between tokens";
    mgk_plot_file_title(s->store->model, model);
    if (s->store->objects & MGK_STORE_BIT(STORE_APPROXIMATION_ERROR))
        snprintf(about, sizeof(about), "run as %s, attention between tokens", s->store->attention);
    mgk_plot_set_title(plot, model, about);
}

static mgk_status draw(mgk_plot *plot, const mgk_token_similarity *s)
{
    char known[MGK_PLOT_TITLE] = "", mean[256], agreement[96];
    const char *titles[] = {"attention (1: even)", known}, *const notes[] = {mean, agreement};
    const mgk_map maps[] = {map_of(s, s->values), map_of(s, s->known)};
    const size_t count = s->reference_path ? 2 : 1;
    mgk_picture_options look;
    if (count == 2)
        mgk_plot_file_title(s->reference_path, known);
    snprintf(mean, sizeof(mean),
             "mean over %d %s, %zu %s, %zu %s and pairs of positions with these tokens, in either "
             "order; a position with itself is left out",
             s->store->samples, MGK_NOUN(s->store->samples, "sample", "samples"), s->layer_count,
             MGK_NOUN(s->layer_count, "layer", "layers"), s->head_count,
             MGK_NOUN(s->head_count, "head", "heads"));
    if (count == 2)
        mgk_token_similarity_agreement(s, agreement, sizeof(agreement));
    set_title(plot, s);
    look = plot->picture;
    look.range_per_panel = count == 2;
    return mgk_draw_maps(
        &(mgk_maps){.maps = maps,
                    .titles = count == 2 ? titles : NULL,
                    .count = count,
                    .value_name = count == 2 ? "similarity" : "attention (1: spread evenly)",
                    .notes = notes,
                    .note_count = count},
        &look, plot->options->output);
}

mgk_status mgk_performer_tokens(mgk_plot *plot)
{
    mgk_status status;
    mgk_token_similarity *s;
    TRY(mgk_alloc(1, sizeof(*s), &s));
    CHECK(mgk_token_similarity_measure(plot->options, s));
    if (s->store->model_sha256)
        mgk_plot_add_hash(plot, s->store->model_sha256);
    CHECK(draw(plot, s));
out:
    mgk_token_similarity_free(s);
    mgk_free(s);
    return status;
}
