/* SPDX-License-Identifier: MIT */
/* The measures of all models, as JSON for the page. */
#ifndef MGK_REPORT_MODELS_H
#define MGK_REPORT_MODELS_H

#include "plot/measures.h"
#include "report/stores.h"
#include "report/tables.h"

/*
 * Writes an array of models, which are those of the measures. Each has the names of its tables
 * (the paths, where names are equal), the thresholds of their ranks, what several of them give
 * (`again`, see mgk_report_again), its curves of pruning, the scores of uniform attention (see
 * mgk_report_uniform), and its measures. A measure has the means
 * over samples, their standard deviations and the numbers of samples: for each layer those of its
 * heads (of their components), of its pairs g < h of heads, or of the layer. Numbers are texts with
 * the digits of CSV. `store_of` [count] are the positions in `stores` of the models' stores, -1:
 * none. STATUS_MEMORY, or an error of mgk_report_uniform.
 */
mgk_status mgk_report_models(FILE *page, const mgk_report_tables *tables,
                             const mgk_plot_measures *measures, const mgk_report_store *stores,
                             const int32_t *store_of);

/* Whether the page has value i of a layer: of a matrix of pairs, which is symmetric, only the part
 * right of the diagonal. */
bool mgk_report_tells(const mgk_measure *measure, size_t heads, size_t i);

/* Whether a model has several keys per position: a measure of their components has a value. */
bool mgk_report_has_mixture(const mgk_plot_measures *measures);

#endif
