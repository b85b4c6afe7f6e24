/* SPDX-License-Identifier: MIT */
/*
 * Ranks of matrices whose squares exceed the range of a double, or whose entries have lost digits.
 */
#ifndef MGK_ANALYSIS_SCALED_H
#define MGK_ANALYSIS_SCALED_H

#include "analysis/counting/engine.h"

/*
 * Like mgk_engine_rank, for entries of any size. A matrix with a norm below 1e-60 or above 1e60 is
 * multiplied by a power of two that brings its largest entry into [1, 2), and so are the
 * thresholds; the results are scaled back. Results that do not depend on the scale are exact, even
 * where singular values are too small for all digits of a double. STATUS_NUMERIC also if singular
 * values overflow.
 */
mgk_status mgk_scaled_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                           double *matrix, mgk_rank_row *row, mgk_rank_count *counts,
                           double *sigma);

#endif
