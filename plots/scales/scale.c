/* SPDX-License-Identifier: MIT */
#include "plots/scales/scale.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "plots/scales/ticks.h"

enum { SAMPLE_MAX = 1 << 20 };

static const char *const names[SCALING_COUNT] = {"linear", "log", "percentile"};

const char *mgk_scaling_name(mgk_scaling scaling)
{
    return names[scaling];
}

mgk_status mgk_scaling_parse(const char *name, mgk_scaling *out)
{
    for (int i = 0; i < SCALING_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (mgk_scaling)i;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_USAGE, "scaling \"%s\": expected linear, log or percentile", name);
}

mgk_status mgk_sample_open(size_t total, mgk_sample *out)
{
    *out = (mgk_sample){.stride = total / SAMPLE_MAX + 1, .low = INFINITY, .high = -INFINITY};
    /* An odd stride does not resonate with rows whose length is a power of two. */
    out->stride |= 1;
    out->capacity = total / out->stride + 1;
    return mgk_alloc(out->capacity, sizeof(double), &out->kept);
}

void mgk_sample_add(mgk_sample *sample, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        sample->low = fmin(sample->low, values[i]);
        sample->high = fmax(sample->high, values[i]);
        if (sample->seen++ % sample->stride == 0 && sample->count < sample->capacity)
            sample->kept[sample->count++] = values[i];
    }
}

void mgk_sample_close(mgk_sample *sample)
{
    mgk_free(sample->kept);
    *sample = (mgk_sample){0};
}

/* Keeps the sorted magnitudes; drops zeros if zero is the background. */
static void sort_sample(mgk_sample *sample, bool symmetric)
{
    size_t count = 0;
    bool drop_zeros = symmetric || sample->low >= 0;
    for (size_t i = 0; i < sample->count; i++) {
        double value = symmetric ? fabs(sample->kept[i]) : sample->kept[i];
        if (value != 0 || !drop_zeros)
            sample->kept[count++] = value;
    }
    sample->count = count;
    mgk_sort_reals(sample->kept, count);
}

/* A quantile of the sorted sample; 0 for an empty one. */
static double quantile(const mgk_sample *sorted, double share)
{
    return sorted->count > 0 ? mgk_quantile(sorted->kept, sorted->count, share) : 0;
}

/* The floor of a log scale is a value of the sample, so that it is not inside a gap of the data. */
static double log_floor(const mgk_sample *sorted, double high)
{
    if (sorted->count == 0)
        return high;
    return fmax(sorted->kept[(size_t)(0.01 * (double)(sorted->count - 1))], 1e-6 * high);
}

mgk_status mgk_scale_check(mgk_scale_rule rule, const mgk_sample *sample)
{
    if (rule.scaling == SCALING_LOG && !rule.symmetric && sample->low < 0)
        return mgk_fail(STATUS_NUMERIC,
                        "%g is negative, which a log scale cannot show: `scale` linear does",
                        sample->low);
    return STATUS_OK;
}

mgk_status mgk_scale_fit(mgk_scale_rule rule, mgk_sample *sample, mgk_scale *out)
{
    *out = (mgk_scale){.scaling = rule.scaling, .symmetric = rule.symmetric};
    if (!isfinite(rule.floor) || rule.floor < 0)
        return mgk_fail(STATUS_USAGE, "log scale: floor %g is not a number >= 0", rule.floor);
    if (!(sample->low <= sample->high))
        return mgk_fail(STATUS_NUMERIC, "no finite value to draw");
    TRY(mgk_scale_check(rule, sample));
    out->low = rule.symmetric ? 0 : sample->low;
    out->high = rule.symmetric ? fmax(fabs(sample->low), fabs(sample->high)) : sample->high;
    if (rule.scaling == SCALING_LINEAR)
        return STATUS_OK;
    sort_sample(sample, rule.symmetric);
    if (rule.scaling == SCALING_LOG) {
        out->low = rule.floor > 0 ? rule.floor : log_floor(sample, out->high);
        out->high = fmax(out->high, out->low);
        out->clipped = !rule.symmetric && sample->low < out->low;
        return STATUS_OK;
    }
    for (int i = 0; i < MGK_QUANTILES; i++)
        out->quantiles[i] = quantile(sample, (double)i / (MGK_QUANTILES - 1));
    /* The subset may not contain the extremes. */
    out->quantiles[MGK_QUANTILES - 1] = out->high;
    if (out->low != 0)
        out->quantiles[0] = out->low;
    return STATUS_OK;
}

/* The number of quantiles below `value`, or up to it if `inclusive`. */
static int quantiles_below(const mgk_scale *scale, double value, bool inclusive)
{
    int low = 0, high = MGK_QUANTILES;
    while (low < high) {
        int middle = (low + high) / 2;
        double knot = scale->quantiles[middle];
        if (knot < value || (inclusive && knot == value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double percentile_at(const mgk_scale *scale, double value)
{
    int below = quantiles_below(scale, value, false);
    int through = quantiles_below(scale, value, true);
    /* A value that fills several quantiles maps to their middle, so constant data to 1/2. */
    if (through > below)
        return (below + through - 1) / 2.0 / (MGK_QUANTILES - 1);
    if (below == 0)
        return 0;
    if (below == MGK_QUANTILES)
        return 1;
    double left = scale->quantiles[below - 1], right = scale->quantiles[below];
    return (below - 1 + (value - left) / (right - left)) / (MGK_QUANTILES - 1);
}

/*
 * (x - low) / (high - low) clamped to [0, 1]; halves first, because the range may exceed DBL_MAX.
 */
static double linear_at(double low, double high, double x)
{
    if (mgk_is_one_value(low, high))
        return 0.5;
    return fmin(fmax((x / 2 - low / 2) / (high / 2 - low / 2), 0), 1);
}

static double magnitude_at(const mgk_scale *scale, double value)
{
    bool background = value == 0 && (scale->symmetric || scale->low >= 0);
    switch (scale->scaling) {
    case SCALING_LOG:
        if (!(value > 0))
            return 0;
        return linear_at(log(scale->low), log(scale->high), log(value));
    case SCALING_PERCENTILE:
        return background ? 0 : percentile_at(scale, value);
    default:
        return background ? 0 : linear_at(scale->low, scale->high, value);
    }
}

double mgk_scale_at(const mgk_scale *scale, double value)
{
    if (!isfinite(value))
        return NAN;
    if (!scale->symmetric)
        return magnitude_at(scale, value);
    return 0.5 + copysign(0.5 * magnitude_at(scale, fabs(value)), value);
}
