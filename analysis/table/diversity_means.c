/* SPDX-License-Identifier: MIT */
#include "analysis/table/diversity_means.h"

#include <math.h>

#include "base/memory.h"

mgk_status mgk_diversity_means_make(size_t size, mgk_diversity_means *out)
{
    mgk_status status;
    *out = (mgk_diversity_means){.size = size};
    CHECK(mgk_alloc(size, sizeof(double), &out->mean));
    CHECK(mgk_alloc(size, sizeof(double), &out->squares));
    CHECK(mgk_alloc(size, sizeof(*out->samples), &out->samples));
    return STATUS_OK;
out:
    mgk_diversity_means_free(out);
    return status;
}

void mgk_diversity_means_free(mgk_diversity_means *means)
{
    mgk_free(means->mean);
    mgk_free(means->squares);
    mgk_free(means->samples);
    *means = (mgk_diversity_means){0};
}

void mgk_diversity_means_add_value(mgk_diversity_means *means, size_t i, double value)
{
    if (isnan(value))
        return;
    const double distance = value - means->mean[i];
    means->mean[i] += distance / (double)++means->samples[i];
    means->squares[i] += distance * (value - means->mean[i]);
}

void mgk_diversity_means_add(mgk_diversity_means *means, const double *record)
{
    for (size_t i = 0; i < means->size; i++)
        mgk_diversity_means_add_value(means, i, record[i]);
}

double mgk_diversity_mean(const mgk_diversity_means *means, size_t i)
{
    return means->samples[i] > 0 ? means->mean[i] : NAN;
}

double mgk_diversity_sd(const mgk_diversity_means *means, size_t i)
{
    const double others = (double)means->samples[i] - 1;
    return others > 0 ? sqrt(means->squares[i] / others) : NAN;
}
