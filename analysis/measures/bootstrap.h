/* SPDX-License-Identifier: MIT */
/*
 * Differences of means over samples: bootstrap intervals (Efron & Tibshirani 1993, §13.3:
 * percentile intervals) and t tests. Samples are drawn, not matrices: matrices of one sample are
 * not independent.
 */
#ifndef MGK_ANALYSIS_BOOTSTRAP_H
#define MGK_ANALYSIS_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { MGK_BOOTSTRAP_DRAWS = 10000 };

/* Of fewer samples intervals are too narrow: of normal values those of 4 samples hold the mean 80
 * times of 100, of 8 samples 90 times, of 12 samples 93 times. */
enum { MGK_BOOTSTRAP_SAMPLES = 12 };

/* What to tell then, with their number. */
#define MGK_NARROW_INTERVALS                                                                   \
    "intervals of fewer than %d samples are too narrow: simulated ones of 4 samples hold the " \
    "mean 80 times in 100, of 8 samples 90 times, not 95"

static inline bool mgk_bootstrap_is_narrow(size_t samples)
{
    return samples >= 2 && samples < MGK_BOOTSTRAP_SAMPLES;
}

/* Several values of each of some samples: [count, columns]; NaN: no value. Means are Σ w x / Σ w:
 * a sample that is itself a mean of w things weighs as much as they do. */
typedef struct mgk_sample_values {
    size_t count;
    const double *values;
    const double *weights; /* w [count], > 0 where there is a value; NULL: 1. Pairs
                              have those of b */
} mgk_sample_values;

/* The difference of one column. */
typedef struct mgk_difference {
    double value;     /* mean of b − mean of a */
    double low, high; /* the middle 95 % of the draws; NaN for fewer than two samples */
    /*
     * Two-sided, of Student's t test of the differences of pairs, or of Welch's test without pairs:
     * draws cannot show a probability below their number, which many rows together need. With
     * weights the variance of a mean is that of a ratio (Cochran 1977, §2.11). NaN for fewer than
     * two samples, and for differences that do not vary, or by no more than 2⁻⁴⁰ of the largest
     * value, which may be rounding: no test can judge them.
     */
    double p;
    double p_holm;  /* see mgk_adjust_by_holm */
    size_t samples; /* that have a value; if they are not the same ones, the fewer of a and b */
} mgk_difference;

/*
 * The differences of all columns, into out [columns], without p_holm. `paired`: row i of a and b is
 * the same sample, one draw takes the same rows of both, and a sample without a value in one of
 * them is left out. All columns share the draws, also those of other calls with the same seed and
 * samples. Takes 80 KB a column, twice as much without pairs. STATUS_MEMORY.
 */
mgk_status mgk_bootstrap(const mgk_sample_values *a, const mgk_sample_values *b, size_t columns,
                         bool paired, uint64_t seed, int threads, mgk_difference *out);

/*
 * Sets p_holm of each difference that has a p: the k-th smallest of m values times m − k + 1, at
 * least that of the one before, at most 1 (Holm 1979). Among all rows together the probability of
 * any false discovery is then at most the level. STATUS_MEMORY.
 */
mgk_status mgk_adjust_by_holm(size_t count, mgk_difference *differences);

#endif
