/* SPDX-License-Identifier: MIT */
/* Scales: map values to numbers in [0, 1], fitted to the values of a picture. */
#ifndef MGK_PLOTS_SCALE_H
#define MGK_PLOTS_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum mgk_scaling {
    SCALING_LINEAR,
    SCALING_LOG,
    SCALING_PERCENTILE, /* the fraction of smaller values */
    SCALING_COUNT
} mgk_scaling;

/* "linear", "log" or "percentile". */
const char *mgk_scaling_name(mgk_scaling scaling);

/* Finds the scaling of this name; STATUS_USAGE lists the names. */
mgk_status mgk_scaling_parse(const char *name, mgk_scaling *out);

typedef struct mgk_scale_rule {
    mgk_scaling scaling;
    /* Maps zero to 1/2, with equal ranges for both signs: for diverging colour maps. */
    bool symmetric;
    /*
     * Log only: smaller magnitudes have its colour. 0: the 1 % quantile of the positive magnitudes,
     * but at least 1e-6 of the greatest.
     */
    double floor;
} mgk_scale_rule;

/*
 * A summary of values for a fit: their range, and an evenly spaced subset for the quantiles, which
 * bounds the memory. Zeroed is empty.
 */
typedef struct mgk_sample {
    double *kept; /* [count] */
    size_t count, capacity;
    size_t seen, stride; /* one value in `stride` is kept */
    double low, high;    /* range of the finite values; low > high if there are none */
} mgk_sample;

/*
 * Prepares for `total` values; keeps about a million at most. Release with mgk_sample_close.
 * STATUS_MEMORY.
 */
mgk_status mgk_sample_open(size_t total, mgk_sample *out);

/* Adds values [count]; ignores values that are not finite. */
void mgk_sample_add(mgk_sample *sample, const double *values, size_t count);

void mgk_sample_close(mgk_sample *sample);

enum { MGK_QUANTILES = 257 };

/*
 * A fitted scale. A symmetric scale maps the magnitude and its sign to both sides of 1/2. On other
 * scales of non-negative values zero is the background: it is excluded from the fit and maps to 0,
 * so that a causal mask looks the same on all of them.
 */
typedef struct mgk_scale {
    mgk_scaling scaling;
    bool symmetric;
    bool clipped;     /* log only: there are smaller values; they map to 0, like low */
    double low, high; /* map to 0 and 1; magnitudes if symmetric */
    double quantiles[MGK_QUANTILES]; /* percentile only: ascending, evenly spaced in [0, 1] */
} mgk_scale;

/* STATUS_NUMERIC: a log scale that is not symmetric has negative values. */
mgk_status mgk_scale_check(mgk_scale_rule rule, const mgk_sample *sample);

/*
 * Fits a scale; sorts the sample. STATUS_NUMERIC: no finite value, or mgk_scale_check fails;
 * STATUS_USAGE: the floor is not a finite number >= 0.
 */
mgk_status mgk_scale_fit(mgk_scale_rule rule, mgk_sample *sample, mgk_scale *out);

/* Maps a value to [0, 1]; NaN for NaN and infinities. Constant data maps to 1/2. */
double mgk_scale_at(const mgk_scale *scale, double value);

#endif
