/* SPDX-License-Identifier: MIT */
/* Draws the histograms of a rank table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/core/model_hash.h"
#include "plots/canvas/canvas.h"
#include "plots/charts/heatmap_grid.h"
#include "plots/charts/histogram.h"
#include "rank/rank.h"

/* One input's ranks at the first threshold, for plots/. */
typedef struct drawn_input {
    double *ranks;    /* [layers, count] */
    int32_t *numbers; /* [layers] */
} drawn_input;

static void release_input(drawn_input *drawn)
{
    mgk_free(drawn->ranks);
    mgk_free(drawn->numbers);
}

/* The least and the largest N: where they differ, ranks cannot be compared. */
static void find_sizes(const mgk_rank_table *table, size_t *least, size_t *most)
{
    *least = SIZE_MAX;
    *most = 0;
    for (size_t r = 0; r < table->row_count; r++) {
        const size_t n = table->rows[r].n;
        *least = n < *least ? n : *least;
        *most = n > *most ? n : *most;
    }
}

/* The rank of matrix r, or its share of N; a matrix without rows has no share. */
static double rank_of(const mgk_rank_table *table, size_t r, bool shares)
{
    const double rank = (double)table->counts[r * table->threshold_count].rank;
    const size_t n = table->rows[r].n;
    return !shares ? rank : n > 0 ? rank / (double)n : (double)NAN;
}

/* Each layer of an input must have the same number of matrices. */
static mgk_status gather(const mgk_rank_table *part, bool shares, drawn_input *drawn,
                         mgk_model_ranks *out)
{
    size_t layers, *numbers;
    TRY(mgk_rank_table_layers(part, &layers, &numbers));
    mgk_status status;
    CHECK(mgk_alloc(part->row_count, sizeof(*drawn->ranks), &drawn->ranks));
    CHECK(mgk_alloc(layers, sizeof(*drawn->numbers), &drawn->numbers));
    double *rank = drawn->ranks;
    for (size_t l = 0; l < layers; l++) {
        drawn->numbers[l] = (int32_t)numbers[l];
        for (size_t r = 0; r < part->row_count; r++)
            if (part->rows[r].layer == numbers[l])
                *rank++ = rank_of(part, r, shares);
    }
    for (size_t r = 0; r < part->row_count; r++)
        out->tokens = part->rows[r].n > out->tokens ? part->rows[r].n : out->tokens;
    out->ranks = drawn->ranks;
    out->layer_numbers = drawn->numbers;
    out->layers = layers;
    out->count = part->row_count / layers;
out:
    mgk_free(numbers);
    return status;
}

mgk_status mgk_rank_draw(const mgk_rank_options *o, const mgk_rank_table *table)
{
    mgk_status status;
    size_t inputs = mgk_rank_table_inputs(table);
    size_t least, most;
    find_sizes(table, &least, &most);
    const bool shares = least < most;
    drawn_input *drawn = NULL;
    mgk_model_ranks *models = NULL;
    char heading[128], hashes[MGK_GROUPS_MAX * (MGK_SHA256_HEX_SIZE + 2)] = "";
    TRY(mgk_text_check_room());
    CHECK(mgk_alloc(inputs, sizeof(*drawn), &drawn));
    CHECK(mgk_alloc(inputs, sizeof(*models), &models));
    for (size_t i = 0; i < inputs; i++) {
        mgk_rank_table part = mgk_rank_table_input(table, i);
        CHECK(gather(&part, shares, &drawn[i], &models[i]));
        models[i].title = mgk_file_name(table->settings.origins[i].path);
        mgk_model_hash_list(table->settings.origins[i].sha256, hashes, sizeof(hashes));
    }
    mgk_count_heading(table->thresholds[0], o->relative, sizeof(heading), heading);
    mgk_append_sizes(least, most, sizeof(heading), heading);
    const mgk_text_pair texts[] = {{"Software", "mgk " MGK_VERSION},
                                   {"Command", o->job.command ? o->job.command : "not known"},
                                   {"Model SHA-256", hashes}};
    mgk_picture_options options = mgk_picture_defaults();
    options.texts = texts;
    options.text_count = sizeof(texts) / sizeof(*texts) - (*hashes ? 0 : 1);
    options.force = o->job.force;
    const mgk_histograms histograms = {.tables = models,
                                       .table_count = inputs,
                                       .overlay = true,
                                       .real = shares,
                                       .value_name = mgk_rank_label(shares),
                                       .heading = heading};
    CHECK(mgk_draw_histograms(&histograms, &options, o->png));
out:
    for (size_t i = 0; drawn && i < inputs; i++)
        release_input(&drawn[i]);
    mgk_free(drawn);
    mgk_free(models);
    return status;
}
