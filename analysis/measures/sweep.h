/*
 * Ranks against the threshold: the count at one threshold saturates and hides how singular values
 * are spread, a sweep shows it.
 */
#ifndef MGK_ANALYSIS_SWEEP_H
#define MGK_ANALYSIS_SWEEP_H

#include "analysis/table/rank_table.h"
#include "base/status.h"

/* 1e-8 to 1e-2, four a decade and both ends; so many that a table must have of its own. */
enum { MGK_SWEEP_THRESHOLDS = 25, MGK_SWEEP_LEAST = 3 };

/*
 * Makes a table ready for a sweep: ranks at ascending thresholds. Where the table has spectra they
 * are counted anew, at MGK_SWEEP_THRESHOLDS instead of its own thresholds (multiples of sigma_1 if
 * those are), with ranks alone in its counts; otherwise its own thresholds are sorted.
 * STATUS_SHAPE: no spectra, and fewer than MGK_SWEEP_LEAST thresholds; STATUS_FORMAT: a threshold
 * that is not above 0, or repeated; STATUS_MEMORY.
 */
mgk_status mgk_rank_table_sweep(mgk_rank_table *table);

#endif
