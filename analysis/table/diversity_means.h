/* SPDX-License-Identifier: MIT */
/* Mean and standard deviation of each measure over samples. */
#ifndef MGK_ANALYSIS_DIVERSITY_MEANS_H
#define MGK_ANALYSIS_DIVERSITY_MEANS_H

#include "analysis/run/record.h"

typedef struct mgk_diversity_means {
    size_t size; /* of a record */
    /* [size], for each value of a record; samples without a value are left out */
    double *mean;
    double *squares; /* sum of squared distances from the mean */
    int32_t *samples;
} mgk_diversity_means;

/* Starts without samples, for records of `size` values; release with mgk_diversity_means_free.
 * STATUS_MEMORY. */
mgk_status mgk_diversity_means_make(size_t size, mgk_diversity_means *out);
void mgk_diversity_means_free(mgk_diversity_means *means); /* a zeroed one is accepted */

/* Adds the record of a sample (Welford 1962: one pass, without cancellation). */
void mgk_diversity_means_add(mgk_diversity_means *means, const double *record);

/* Adds value number i of a sample; NaN: the sample has none. */
void mgk_diversity_means_add_value(mgk_diversity_means *means, size_t i, double value);

/* NaN without a sample. */
double mgk_diversity_mean(const mgk_diversity_means *means, size_t i);

/* The standard deviation of the samples, √(sum (x − mean)² / (S − 1)); NaN for fewer than two. */
double mgk_diversity_sd(const mgk_diversity_means *means, size_t i);

#endif
