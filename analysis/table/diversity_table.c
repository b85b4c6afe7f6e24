/* SPDX-License-Identifier: MIT */
#include "analysis/table/diversity_table.h"

#include <math.h>

#include "base/memory.h"

/* The levels of measures, that of a difference, and that of a pruned model. */
static const char *const levels[MGK_DIVERSITY_LEVELS] = {"head", "pair", "layer", "difference",
                                                         "model"};

#define COLUMN(kind, member, text)                                                         \
    {                                                                                      \
        .name = #member, .type = MGK_COLUMN_##kind, .level = MGK_LEVEL_MATRIX, .unit = "", \
        .formula = (text), .source = "", .offset = offsetof(mgk_diversity_row, member)     \
    }

#define OPTIONAL(member, text)                                                           \
    {                                                                                    \
        .name = #member, .type = MGK_COLUMN_REAL, .level = MGK_LEVEL_MATRIX, .unit = "", \
        .formula = (text), .source = "", .offset = offsetof(mgk_diversity_row, member),  \
        .optional = true                                                                 \
    }

static const mgk_column columns[] = {
    COLUMN(NAME, input, "file or model"),
    {.name = "level",
     .type = MGK_COLUMN_WORD,
     .level = MGK_LEVEL_MATRIX,
     .unit = "",
     .formula = "what is measured: a head, a pair of heads of a layer, a layer, the difference of "
                "a layer's "
                "means between two inputs, or a model without some heads",
     .source = "",
     .words = levels,
     .word_count = MGK_DIVERSITY_LEVELS,
     .offset = offsetof(mgk_diversity_row, level)},
    COLUMN(NAME, measure, "name of the measure"),
    COLUMN(INTEGER_OR_NONE, sample, "number of the sample in the input; empty: a mean"),
    COLUMN(INTEGER_OR_NONE, layer, "number of the layer in the model"),
    COLUMN(INTEGER_OR_NONE, head, "number of the head in the layer"),
    COLUMN(INTEGER_OR_NONE, other_layer, "layer of the pair's other head"),
    COLUMN(INTEGER_OR_NONE, other_head, "the pair's other head"),
    COLUMN(INTEGER_OR_NONE, component,
           "component of a mixture, or the heads that a model has left"),
    COLUMN(REAL, value, "of the sample, or the mean over samples"),
    COLUMN(
        REAL, sd,
        "standard deviation of the samples, sqrt(sum (x - mean)^2 / (S - 1)); of prune_random that "
        "of its ten orders"),
    COLUMN(INTEGER_OR_NONE, samples, "S: the samples with a value"),
    OPTIONAL(low, "lower end of the 95 % interval of the difference"),
    OPTIONAL(high, "its upper end"),
    OPTIONAL(p, "two-sided p of the difference, t test over samples"),
    OPTIONAL(p_holm, "the same, adjusted for all rows of the comparison (Holm 1979)"),
    {.name = "paired",
     .type = MGK_COLUMN_INTEGER_OR_NONE,
     .level = MGK_LEVEL_MATRIX,
     .unit = "0 or 1",
     .formula = "1: the difference is that of the samples that both inputs have",
     .source = "",
     .offset = offsetof(mgk_diversity_row, paired),
     .optional = true},
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns), OF_DIFFERENCES = 5 };

const mgk_schema mgk_diversity_schema = {.format = "mgk-diversity",
                                         .version = 1,
                                         .title = "diversity table",
                                         .rows = "values",
                                         .columns = columns,
                                         .column_count = COLUMNS - OF_DIFFERENCES};

const mgk_schema mgk_comparison_schema = {.format = "mgk-diversity",
                                          .version = 1,
                                          .title = "diversity table",
                                          .rows = "values",
                                          .columns = columns,
                                          .column_count = COLUMNS};

/* A row whose cells are empty. */
static const mgk_diversity_row empty_row = {.sample = -1,
                                            .layer = -1,
                                            .head = -1,
                                            .other_layer = -1,
                                            .other_head = -1,
                                            .component = -1,
                                            .samples = -1,
                                            .value = NAN,
                                            .sd = NAN,
                                            .low = NAN,
                                            .high = NAN,
                                            .p = NAN,
                                            .p_holm = NAN,
                                            .paired = -1};

/* Rows that are being written. */
typedef struct row_writer {
    mgk_table *table;
    size_t *r;
    const mgk_diversity_input *input;
    const double *record;             /* of a sample, or NULL */
    const mgk_diversity_means *means; /* or NULL */
    mgk_diversity_row row;            /* the next one; cells that many share are set already */
} row_writer;

static int32_t number_of(const int32_t *numbers, size_t position)
{
    return numbers ? numbers[position] : (int32_t)position;
}

/* Sums of values near the end of the range overflow. */
static double within_range(double value)
{
    return isinf(value) ? NAN : value;
}

/* Puts the row with value number i of a record. */
static mgk_status put(row_writer *w, size_t i)
{
    w->row.value = within_range(w->record ? w->record[i] : mgk_diversity_mean(w->means, i));
    w->row.sd = w->record ? NAN : within_range(mgk_diversity_sd(w->means, i));
    w->row.samples = w->record ? -1 : w->means->samples[i];
    return mgk_table_put(w->table, (*w->r)++, &w->row);
}

/* Puts the rows of a head measure with `components` values for each head, or one. */
static mgk_status put_heads(row_writer *w, size_t i, size_t components)
{
    const size_t heads = w->input->layout->heads;
    for (size_t h = 0; h < heads; h++)
        for (size_t r = 0; r < components; r++) {
            w->row.head = number_of(w->input->heads, h);
            w->row.component = components > 1 ? (int32_t)r : -1;
            TRY(put(w, i + h * components + r));
        }
    w->row.component = -1;
    return STATUS_OK;
}

static mgk_status put_pairs(row_writer *w, size_t i)
{
    const size_t heads = w->input->layout->heads;
    w->row.other_layer = w->row.layer;
    for (size_t h = 0; h < heads; h++)
        for (size_t g = h + 1; g < heads; g++) {
            w->row.head = number_of(w->input->heads, h);
            w->row.other_head = number_of(w->input->heads, g);
            TRY(put(w, i + h * heads + g));
        }
    return STATUS_OK;
}

/* Puts the rows of the pairs of heads of different layers, values [L H, L H] from number i on. */
static mgk_status put_across(row_writer *w, size_t i)
{
    const size_t heads = w->input->layout->heads, all = w->input->layout->layers * heads;
    for (size_t h = 0; h < all; h++)
        for (size_t g = (h / heads + 1) * heads; g < all; g++) {
            w->row.layer = number_of(w->input->layers, h / heads);
            w->row.head = number_of(w->input->heads, h % heads);
            w->row.other_layer = number_of(w->input->layers, g / heads);
            w->row.other_head = number_of(w->input->heads, g % heads);
            TRY(put(w, i + h * all + g));
        }
    return STATUS_OK;
}

/* Puts the rows of measure number m in a layer. */
static mgk_status put_layer(row_writer *w, size_t m, size_t layer)
{
    const mgk_record_layout *layout = w->input->layout;
    const mgk_measure *measure = layout->measures[m];
    const size_t i = layer * layout->layer_size + layout->offsets[m];
    w->row.head = w->row.other_layer = w->row.other_head = -1;
    w->row.layer = number_of(w->input->layers, layer);
    switch (measure->level) {
    case MGK_MEASURE_HEAD:
        return put_heads(w, i, measure->components ? layout->mixtures : 1);
    case MGK_MEASURE_PAIR:
        return put_pairs(w, i);
    default:
        return put(w, i);
    }
}

/* Puts the rows of measure number m: layer by layer, then those across layers. */
static mgk_status put_measure(row_writer *w, size_t m)
{
    const mgk_record_layout *layout = w->input->layout;
    const mgk_measure *measure = layout->measures[m];
    w->row.level = (int)measure->level;
    TRY(mgk_table_name(w->table, measure->name, &w->row.measure));
    for (size_t layer = 0; layer < layout->layers; layer++)
        TRY(put_layer(w, m, layer));
    return layout->across && measure->level == MGK_MEASURE_PAIR
               ? put_across(w, mgk_record_across(layout, m))
               : STATUS_OK;
}

static mgk_status put_rows(row_writer *w)
{
    TRY(mgk_table_name(w->table, w->input->name, &w->row.input));
    for (size_t m = 0; m < w->input->layout->chosen; m++)
        TRY(put_measure(w, m));
    return STATUS_OK;
}

size_t mgk_diversity_row_count(const mgk_record_layout *layout)
{
    const size_t heads = layout->heads, layers = layout->layers;
    const size_t across = layout->across ? layers * (layers - 1) / 2 * heads * heads : 0;
    size_t rows = 0;
    for (size_t m = 0; m < layout->chosen; m++)
        rows += layout->measures[m]->level == MGK_MEASURE_PAIR
                    ? layers * (heads * (heads - 1) / 2) + across
                    : layers * mgk_measure_size(layout->measures[m], heads, layout->mixtures);
    return rows;
}

mgk_status mgk_diversity_put_sample(mgk_table *table, size_t *r, const mgk_diversity_input *input,
                                    size_t position, const double *record)
{
    row_writer w = {.table = table, .r = r, .input = input, .record = record, .row = empty_row};
    w.row.sample = number_of(input->samples, position);
    return put_rows(&w);
}

mgk_status mgk_diversity_put_means(mgk_table *table, size_t *r, const mgk_diversity_input *input,
                                   const mgk_diversity_means *means)
{
    row_writer w = {.table = table, .r = r, .input = input, .means = means, .row = empty_row};
    return put_rows(&w);
}

mgk_status mgk_diversity_put_difference(mgk_table *table, size_t *r, const char *input,
                                        const char *measure, int32_t layer,
                                        const mgk_difference *difference, bool paired)
{
    mgk_diversity_row row = empty_row;
    row.level = MGK_LEVEL_DIFFERENCE;
    row.layer = layer;
    row.samples = (int32_t)difference->samples;
    row.value = difference->value;
    row.low = difference->low;
    row.high = difference->high;
    row.p = difference->p;
    row.p_holm = difference->p_holm;
    row.paired = paired;
    TRY(mgk_table_name(table, input, &row.input));
    TRY(mgk_table_name(table, measure, &row.measure));
    return mgk_table_put(table, (*r)++, &row);
}

mgk_status mgk_diversity_put_point(mgk_table *table, size_t *r, const char *input,
                                   const char *measure, int32_t left, int32_t samples,
                                   const mgk_pruning_point *point)
{
    mgk_diversity_row row = empty_row;
    row.level = MGK_LEVEL_PRUNED;
    row.layer = point->layer;
    row.head = point->head;
    row.component = left;
    row.value = within_range(point->value);
    row.sd = within_range(point->sd);
    row.samples = samples;
    TRY(mgk_table_name(table, input, &row.input));
    TRY(mgk_table_name(table, measure, &row.measure));
    return mgk_table_put(table, (*r)++, &row);
}
