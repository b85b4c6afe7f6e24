/* SPDX-License-Identifier: MIT */
/* The table of mgk-eval: a row for each model. */
#ifndef MGK_TOOLS_PRINT_EVALUATION_H
#define MGK_TOOLS_PRINT_EVALUATION_H

#include <stdbool.h>
#include <stdio.h>

#include "mgk.h"

typedef enum mgk_evaluation_layout {
    MGK_EVALUATION_LINES,
    MGK_EVALUATION_CSV,
    MGK_EVALUATION_JSON
} mgk_evaluation_layout;

/* A row. */
typedef struct mgk_evaluation_row {
    const char *name;
    mgk_evaluation_summary summary;
    const struct mgk_evaluation_row *reference; /* what it is compared with; NULL: nothing */
    bool compared;
    mgk_evaluation_difference difference; /* if it is compared */
} mgk_evaluation_row;

/* A table on its way to a stream. Columns of heads that are removed, and of differences, are there
 * if they are asked for. */
typedef struct mgk_evaluation_table {
    FILE *stream; /* NULL: none */
    mgk_evaluation_layout layout;
    const char *removed; /* what --remove says; NULL: nothing is removed */
    bool compares;
    size_t rows;
} mgk_evaluation_table;

/* Lines have no columns of differences. */
void mgk_print_evaluation(mgk_evaluation_table *table, const mgk_evaluation_row *row);

/* Once all rows are printed. */
void mgk_end_evaluations(const mgk_evaluation_table *table);

/* Lines of the differences of those rows [count] that are compared. */
void mgk_print_differences(FILE *stream, size_t count, const mgk_evaluation_row *rows);

#endif
