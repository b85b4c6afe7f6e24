/* SPDX-License-Identifier: MIT */
/* The table of measures of diversity: one row for each value. */
#ifndef MGK_ANALYSIS_DIVERSITY_TABLE_H
#define MGK_ANALYSIS_DIVERSITY_TABLE_H

#include "analysis/measures/bootstrap.h"
#include "analysis/table/diversity_means.h"
#include "analysis/table/pruning.h"
#include "table/table.h"

/*
 * input,level,measure,sample,layer,head,other_layer,other_head,component,value,sd,samples. Cells
 * that do not apply are empty: `sample` of a mean; `sd` and `samples` of a single sample; heads of
 * a layer. Pairs of a layer have head < other_head, those across layers layer < other_layer.
 */
extern const mgk_schema mgk_diversity_schema;

/* The same, then low,high,p,p_holm,paired, which rows of level "difference" have: their input is
 * "B-A", their samples are those that stand behind the difference. */
extern const mgk_schema mgk_comparison_schema;

/* The levels of a difference and of a pruned model, after those of measures. */
enum { MGK_LEVEL_DIFFERENCE = MGK_MEASURE_LEVELS, MGK_LEVEL_PRUNED, MGK_DIVERSITY_LEVELS };

/* A row of the table; -1: the cell is empty. `input` and `measure` are indices in its names. */
typedef struct mgk_diversity_row {
    int32_t input, measure;
    int level; /* mgk_measure_level, MGK_LEVEL_DIFFERENCE or MGK_LEVEL_PRUNED */
    int32_t sample, layer, head, other_layer, other_head, component, samples;
    double value, sd, low, high, p, p_holm;
    int32_t paired; /* 0 or 1 */
} mgk_diversity_row;

/* An input of the table: the layout of its records, and the model's numbers of their positions. */
typedef struct mgk_diversity_input {
    const char *name; /* valid UTF-8 */
    const mgk_record_layout *layout;
    const int32_t *samples, *layers, *heads; /* NULL: equal to the positions */
    size_t sample_count;
} mgk_diversity_input;

/* The number of rows for one record, or for the means over all records. */
size_t mgk_diversity_row_count(const mgk_record_layout *layout);

/* Writes these rows from row *r on, which moves behind them: those of the sample at a position, or
 * those of the means. STATUS_FORMAT: a value that no file can hold; STATUS_MEMORY. */
mgk_status mgk_diversity_put_sample(mgk_table *table, size_t *r, const mgk_diversity_input *input,
                                    size_t position, const double *record);
mgk_status mgk_diversity_put_means(mgk_table *table, size_t *r, const mgk_diversity_input *input,
                                   const mgk_diversity_means *means);

/* The same for a difference of a layer, in a table of mgk_comparison_schema. */
mgk_status mgk_diversity_put_difference(mgk_table *table, size_t *r, const char *input,
                                        const char *measure, int32_t layer,
                                        const mgk_difference *difference, bool paired);

/* The same for a point of a curve: `component` is the number of heads left, `layer` and `head` are
 * those of the head that was removed last. */
mgk_status mgk_diversity_put_point(mgk_table *table, size_t *r, const char *input,
                                   const char *measure, int32_t left, int32_t samples,
                                   const mgk_pruning_point *point);

#endif
