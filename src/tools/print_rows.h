/* SPDX-License-Identifier: MIT */
/* The table of means as the printing of it reads it. */
#ifndef MGK_TOOLS_PRINT_ROWS_H
#define MGK_TOOLS_PRINT_ROWS_H

#include <stdbool.h>

#include "mgk.h"

/* The columns of the table of means. */
typedef struct mgk_means {
    size_t rows;
    mgk_table_column input, level, measure, layer, head, other_layer, other_head, component, value,
        sd, samples;
    mgk_table_column p_holm; /* zeroed without a comparison */
    /* Of two inputs as one: the number of the first layer of the second one; 0: it is one input. */
    int32_t second_layers_from;
} mgk_means;

/* The rows first … end − 1 of the table, which are of one input or comparison. */
typedef struct mgk_mean_rows {
    const mgk_means *m;
    size_t first, end;
} mgk_mean_rows;

/* False: the table lacks a column. */
bool mgk_find_columns(const mgk_table *table, mgk_means *out);

/* The number of a measure among the words of its column; −1: none has this name. */
int32_t mgk_find_measure(const mgk_means *m, const char *name);

bool mgk_has_measure(const mgk_mean_rows *in, int32_t measure);

/* Whether they are the differences of a comparison. */
bool mgk_are_differences(const mgk_mean_rows *in);

/* Whether a row is of a pair of heads of different layers; whether it is a point of a curve. */
bool mgk_is_across(const mgk_mean_rows *in, size_t r);
bool mgk_is_curve(const mgk_means *m, size_t r);

/* Whether a row is of one of several components. */
bool mgk_is_component(const mgk_mean_rows *in, size_t r);

/* Whether a row has a value of a measure of a layer; of several components the first counts. */
bool mgk_is_of(const mgk_mean_rows *in, size_t r, int32_t layer, int32_t measure);

#endif
