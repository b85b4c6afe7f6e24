/* SPDX-License-Identifier: MIT */
/* Draws the histograms of a rank table. */
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/core/model_hash.h"
#include "plots/canvas/canvas.h"
#include "plots/charts/heatmap_grid.h"
#include "plots/charts/histogram.h"
#include "rank/rank.h"

/* One input's ranks at the first threshold, for plots/. */
typedef struct drawn_input {
    size_t *sorted;   /* [R], scratch for one layer */
    double *ranks;    /* [layers, count] */
    int32_t *numbers; /* [layers] */
} drawn_input;

static void release_input(drawn_input *drawn)
{
    mgk_free(drawn->sorted);
    mgk_free(drawn->ranks);
    mgk_free(drawn->numbers);
}

/* Each layer of an input must have the same number of matrices. */
static mgk_status gather(const mgk_rank_table *part, drawn_input *drawn, mgk_model_ranks *out)
{
    size_t layers, *numbers;
    TRY(mgk_rank_table_layers(part, &layers, &numbers));
    mgk_status status;
    CHECK(mgk_alloc(part->row_count, sizeof(*drawn->sorted), &drawn->sorted));
    CHECK(mgk_alloc(part->row_count, sizeof(*drawn->ranks), &drawn->ranks));
    CHECK(mgk_alloc(layers, sizeof(*drawn->numbers), &drawn->numbers));
    double *rank = drawn->ranks;
    for (size_t l = 0; l < layers; l++) {
        drawn->numbers[l] = (int32_t)numbers[l];
        size_t count = mgk_rank_table_ranks(part, numbers[l], 0, drawn->sorted);
        for (size_t i = 0; i < count; i++)
            *rank++ = (double)drawn->sorted[i];
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
    drawn_input *drawn = NULL;
    mgk_model_ranks *models = NULL;
    char heading[80], hashes[MGK_GROUPS_MAX * (MGK_SHA256_HEX_SIZE + 2)] = "";
    TRY(mgk_text_check_room());
    CHECK(mgk_alloc(inputs, sizeof(*drawn), &drawn));
    CHECK(mgk_alloc(inputs, sizeof(*models), &models));
    for (size_t i = 0; i < inputs; i++) {
        mgk_rank_table part = mgk_rank_table_input(table, i);
        CHECK(gather(&part, &drawn[i], &models[i]));
        models[i].title = mgk_file_name(table->settings.origins[i].path);
        mgk_model_hash_list(table->settings.origins[i].sha256, hashes, sizeof(hashes));
    }
    mgk_count_heading(table->thresholds[0], o->relative, sizeof(heading), heading);
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
                                       .value_name = "rank",
                                       .heading = heading};
    CHECK(mgk_draw_histograms(&histograms, &options, o->png));
out:
    for (size_t i = 0; drawn && i < inputs; i++)
        release_input(&drawn[i]);
    mgk_free(drawn);
    mgk_free(models);
    return status;
}
