/* Scales: a value becomes a number in [0, 1], fitted to the values that a picture shows. */
#ifndef MGK_PLOTS_SCALE_H
#define MGK_PLOTS_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum mgk_scaling {
    SCALING_LINEAR,
    SCALING_LOG,
    SCALING_PERCENTILE, /* the share of the values that are smaller */
    SCALING_COUNT
} mgk_scaling;

/* "linear", "log" or "percentile". */
const char *mgk_scaling_name(mgk_scaling scaling);

/* The scaling of that name; STATUS_USAGE lists the names. */
mgk_status mgk_scaling_parse(const char *name, mgk_scaling *out);

typedef struct mgk_scale_rule {
    mgk_scaling scaling;
    /* Zero goes to 1/2 and the two signs get equal ranges: for diverging colour maps. */
    bool symmetric;
    /* Log only: smaller magnitudes share its colour. 0: the 1 % quantile of the positive
       magnitudes, but at least 1e-6 of the greatest. */
    double floor;
} mgk_scale_rule;

/*
 * A summary of the values that a fit has seen: their range, and an evenly spaced subset for
 * the quantiles, so that memory stays bounded. Zeroed is empty.
 */
typedef struct mgk_sample {
    double *kept; /* [count] */
    size_t count, capacity;
    size_t seen, stride; /* one value in `stride` is kept */
    double low, high;    /* of the finite values; low > high before the first */
} mgk_sample;

/* Prepares for `total` values, of which at most a million or so are kept. */
mgk_status mgk_sample_open(size_t total, mgk_sample *out);

/* Adds values [count]; those that are not finite are passed over. */
void mgk_sample_add(mgk_sample *sample, const double *values, size_t count);

void mgk_sample_close(mgk_sample *sample);

enum { MGK_QUANTILES = 257 };

/*
 * A fitted scale. A symmetric one scales the magnitude and unfolds it about 1/2. Zero is the
 * background of every other scale of non-negative values: it takes no part in the fit and goes
 * to 0, so that a causal mask looks the same under all of them.
 */
typedef struct mgk_scale {
    mgk_scaling scaling;
    bool symmetric;
    bool clipped;     /* log only: smaller values were seen; they go to 0 as low does */
    double low, high; /* go to 0 and 1; of the magnitude when symmetric */
    double quantiles[MGK_QUANTILES]; /* percentile only: ascending, evenly spaced in [0, 1] */
} mgk_scale;

/* STATUS_NUMERIC: a log scale that is not symmetric was asked for negative values. */
mgk_status mgk_scale_check(mgk_scale_rule rule, const mgk_sample *sample);

/*
 * Fits a scale; sorts the sample. STATUS_NUMERIC: no finite value was seen, or mgk_scale_check
 * fails. STATUS_USAGE: the floor is not a finite
 * number >= 0.
 */
mgk_status mgk_scale_fit(mgk_scale_rule rule, mgk_sample *sample, mgk_scale *out);

/* The place of a value in [0, 1]; NaN for NaN and infinities. Constant data goes to 1/2. */
double mgk_scale_at(const mgk_scale *scale, double value);

#endif
