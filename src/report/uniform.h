/* SPDX-License-Identifier: MIT */
/* The scores of roles that uniform attention has on the samples of a model, as JSON for the page.
 */
#ifndef MGK_REPORT_UNIFORM_H
#define MGK_REPORT_UNIFORM_H

#include "report/stores.h"

/*
 * Writes {"samples": S, "scores": [[name of the measure, mean over the samples], …]} of the first S
 * samples of the model's store (NULL: none), which are the samples behind its values; null if the
 * store does not have these. Where the table does not tell its samples, they are those of the store
 * if they are as many. STATUS_MEMORY, or an error of mgk_store_read_tokens.
 */
mgk_status mgk_report_uniform(FILE *page, const mgk_diversity_values *values,
                              const mgk_report_store *store);

#endif
