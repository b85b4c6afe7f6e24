/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "analysis/measures/histogram.h"
#include "analysis/table/rank_columns.h"
#include "base/memory.h"
#include "base/number.h"

/* JSON has no NaN. */
static void write_number(FILE *file, double value)
{
    if (isfinite(value))
        mgk_print_real(file, value);
    else
        fputs("null", file);
}

/* Writes the distribution of the ranks [count], sorted, of one layer at one threshold. */
static void write_layer(FILE *file, size_t input, size_t layer, double threshold, size_t count,
                        const size_t *ranks)
{
    size_t counts[MGK_BINS_MAX] = {0};
    mgk_bins bins = mgk_choose_bins(count, ranks, MGK_BINS_MAX);
    mgk_count_bins(bins, count, ranks, counts);
    mgk_summary summary = mgk_summarize(count, ranks);
    fprintf(file, "{\"input\": %zu, \"layer\": %zu, \"threshold\": ", input, layer);
    write_number(file, threshold);
    fputs(", \"histogram\": {\"bin_left\": [", file);
    for (size_t k = 0; k < bins.count; k++)
        fprintf(file, "%s%zu", k > 0 ? ", " : "", bins.left + k * bins.width);
    fputs("], \"count\": [", file);
    for (size_t k = 0; k < bins.count; k++)
        fprintf(file, "%s%zu", k > 0 ? ", " : "", counts[k]);
    fprintf(file, "], \"bin_width\": %zu}, \"mean\": ", bins.width);
    write_number(file, summary.mean);
    fputs(", \"median\": ", file);
    write_number(file, summary.quartile[1]);
    fputs(", \"quartiles\": [", file);
    for (size_t k = 0; k < 3; k++) {
        fputs(k > 0 ? ", " : "", file);
        write_number(file, summary.quartile[k]);
    }
    fputs("]}", file);
}

/* Writes the layers of one input; a comma precedes all but the very first. */
static mgk_status write_input_layers(FILE *file, const mgk_rank_table *table, size_t input)
{
    mgk_status status = STATUS_OK;
    mgk_rank_table part = mgk_rank_table_input(table, input);
    size_t layer_count, *layers = NULL, *ranks = NULL;
    CHECK(mgk_rank_table_layers(&part, &layer_count, &layers));
    CHECK(mgk_alloc(part.row_count, sizeof(*ranks), &ranks));
    for (size_t i = 0; i < layer_count; i++)
        for (size_t t = 0; t < part.threshold_count; t++) {
            size_t count = mgk_rank_table_ranks(&part, layers[i], t, ranks);
            fputs(input + i + t > 0 ? ",\n" : "\n", file);
            write_layer(file, input, layers[i], part.thresholds[t], count, ranks);
        }
out:
    mgk_free(layers);
    mgk_free(ranks);
    return status;
}

mgk_status mgk_rank_table_print_layers(FILE *file, const void *table)
{
    fputs(",\n\"layers\": [", file);
    for (size_t input = 0; input < mgk_rank_table_inputs(table); input++)
        TRY(write_input_layers(file, table, input));
    fputc(']', file);
    return STATUS_OK;
}
