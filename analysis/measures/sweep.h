/* SPDX-License-Identifier: MIT */
/*
 * Ranks as a function of the threshold. The count at one threshold saturates and hides the spread
 * of the singular values; a sweep shows it.
 */
#ifndef MGK_ANALYSIS_SWEEP_H
#define MGK_ANALYSIS_SWEEP_H

#include "analysis/table/rank_table.h"
#include "base/status.h"

/* 1e-8 to 1e-2, four per decade, with both ends; the least number of a table's own thresholds. */
enum { MGK_SWEEP_THRESHOLDS = 25, MGK_SWEEP_LEAST = 3 };

/*
 * Prepares a table for a sweep: ranks at ascending thresholds. A table with spectra is counted
 * again, at MGK_SWEEP_THRESHOLDS thresholds instead of its own (as multiples of sigma_1 if its own
 * are), and its counts then hold only ranks; otherwise its own thresholds are sorted. STATUS_SHAPE:
 * no spectra, and fewer than MGK_SWEEP_LEAST thresholds; STATUS_FORMAT: a threshold that is not
 * above 0, or repeated; STATUS_MEMORY.
 */
mgk_status mgk_rank_table_sweep(mgk_rank_table *table);

#endif
