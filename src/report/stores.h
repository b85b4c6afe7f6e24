/* SPDX-License-Identifier: MIT */
/* Samples of attention stores, as JSON for the page: tokens and matrices. */
#ifndef MGK_REPORT_STORES_H
#define MGK_REPORT_STORES_H

#include <stdio.h>

#include "mgk.h"
#include "plot/measures.h"
#include "report/tables.h"
#include "store/schema/reader.h"

typedef struct mgk_report_store {
    const char *path;
    const mgk_report_reading *reading; /* of the table that names the file; NULL: none does */
    bool exact;                        /* a table names this path, not only a file of this name */
    mgk_store_reader *reader;
    const mgk_store_description *description;
    bool causal;
    int32_t samples; /* that are shown, from the first */
    int32_t tokens;  /* the most of a sample that are shown, from the first */
} mgk_report_store;

/* Opens the store at a path, or an array of other software as a table has read it; if none says
 * it, a report tells what its axes are taken for. `reading` and `exact` are taken over. Release
 * with mgk_report_close_store. STATUS_FORMAT: without matrices; STATUS_UNSUPPORTED:
 * cross-attention. Else as mgk_store_open_as and mgk_store_mask. */
mgk_status mgk_report_open_store(const mgk_report_options *options, const char *path,
                                 const mgk_report_reading *reading, bool exact,
                                 mgk_report_store *out);
void mgk_report_close_store(mgk_report_store *store); /* a zeroed one is accepted */

/*
 * Finds the store of each model, out [measures->count], that was read as the table of the model
 * says (readings [measures->count]): that of the model with the same hash; where a hash is not
 * known, that which the table names, by its file or by its model; -1: none.
 */
void mgk_report_match(const mgk_plot_measures *measures, const mgk_report_reading *readings,
                      const mgk_report_store *stores, size_t count, int32_t *out);

/*
 * Writes an array of stores [count]. A sample has texts and ids of tokens (null: not known) and,
 * for each layer and head, its matrix of the first n tokens: a peak, the largest entry, and n n
 * bytes q in base64, row by row, where a_ij = peak (q / 254)^2. 255: not a finite number. Negative
 * entries become 0.
 */
mgk_status mgk_report_stores(FILE *page, const mgk_job *job, const mgk_report_store *stores,
                             size_t count);

#endif
