/* Ranks of matrices whose squares leave the range of a double, or whose entries have lost digits.
 */
#ifndef MGK_ANALYSIS_SCALED_H
#define MGK_ANALYSIS_SCALED_H

#include "analysis/counting/engine.h"

/*
 * As mgk_engine_rank, for entries of any size: a matrix of norm below 1e-60 or above 1e60 goes to
 * the engine times a power of two that brings its largest entry into [1, 2), with thresholds times
 * the same. What the engine finds is brought back; what does not depend on the scale is exact, even
 * where singular values are too small for all digits of a double. STATUS_NUMERIC also where
 * singular values overflow.
 */
mgk_status mgk_scaled_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                           double *matrix, mgk_rank_row *row, mgk_rank_count *counts,
                           double *sigma);

#endif
