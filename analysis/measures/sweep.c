/* SPDX-License-Identifier: MIT */
#include "analysis/measures/sweep.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

static const double first_decade = -8;
enum { PER_DECADE = 4 };

static size_t rank_at(const mgk_rank_table *table, size_t r, double tau)
{
    const double *sigma = table->spectra + r * table->n_max;
    const size_t n = table->rows[r].n;
    if (n == 0 || sigma[0] == 0)
        return 0;
    return mgk_rank_count_from(n, sigma, table->settings.relative ? tau * sigma[0] : tau);
}

static mgk_status count_spectra(mgk_rank_table *table)
{
    mgk_status status;
    double *thresholds = NULL;
    mgk_rank_count *counts = NULL;
    size_t total;
    CHECK(mgk_alloc(MGK_SWEEP_THRESHOLDS, sizeof(*thresholds), &thresholds));
    CHECK(mgk_multiply(table->row_count, MGK_SWEEP_THRESHOLDS, &total));
    CHECK(mgk_alloc(total, sizeof(*counts), &counts));
    for (size_t t = 0; t < MGK_SWEEP_THRESHOLDS; t++)
        thresholds[t] = pow(10, first_decade + (double)t / PER_DECADE);
    for (size_t i = 0; i < total; i++) {
        size_t t = i % MGK_SWEEP_THRESHOLDS;
        size_t rank = rank_at(table, i / MGK_SWEEP_THRESHOLDS, thresholds[t]);
        counts[i] = (mgk_rank_count){.rank = rank, .rank_low = rank, .rank_high = rank};
    }
    mgk_free(table->thresholds);
    mgk_free(table->counts);
    table->thresholds = thresholds;
    table->counts = counts;
    table->threshold_count = MGK_SWEEP_THRESHOLDS;
    table->capacity = table->row_count;
    return STATUS_OK;
out:
    mgk_free(thresholds);
    mgk_free(counts);
    return status;
}

/* The sorted position of each threshold: the number of smaller ones. */
static mgk_status find_places(const mgk_rank_table *table, size_t *places)
{
    for (size_t t = 0; t < table->threshold_count; t++) {
        if (!(table->thresholds[t] > 0))
            return mgk_fail(STATUS_FORMAT, "threshold %g, expected above 0", table->thresholds[t]);
        for (size_t u = 0; u < table->threshold_count; u++) {
            if (u != t && table->thresholds[u] == table->thresholds[t])
                return mgk_fail(STATUS_FORMAT, "threshold %g occurs twice", table->thresholds[t]);
            places[t] += table->thresholds[u] < table->thresholds[t];
        }
    }
    return STATUS_OK;
}

static mgk_status sort_thresholds(mgk_rank_table *table)
{
    mgk_status status;
    size_t thresholds = table->threshold_count, *places = NULL;
    double *values = NULL;
    mgk_rank_count *counts = NULL;
    CHECK(mgk_alloc(thresholds, sizeof(*places), &places));
    CHECK(mgk_alloc(thresholds, sizeof(*values), &values));
    CHECK(mgk_alloc(thresholds, sizeof(*counts), &counts));
    CHECK(find_places(table, places));
    memcpy(values, table->thresholds, thresholds * sizeof(*values));
    for (size_t t = 0; t < thresholds; t++)
        table->thresholds[places[t]] = values[t];
    for (size_t r = 0; r < table->row_count; r++) {
        mgk_rank_count *row = table->counts + r * thresholds;
        memcpy(counts, row, thresholds * sizeof(*counts));
        for (size_t t = 0; t < thresholds; t++)
            row[places[t]] = counts[t];
    }
out:
    mgk_free(places);
    mgk_free(values);
    mgk_free(counts);
    return status;
}

mgk_status mgk_rank_table_sweep(mgk_rank_table *table)
{
    if (table->spectra)
        return count_spectra(table);
    if (table->threshold_count < MGK_SWEEP_LEAST)
        return mgk_fail(STATUS_SHAPE,
                        "no singular values and %zu %s: a sweep needs a file with "
                        "singular values (option spectrum of mgk-rank, .h5) or %d thresholds",
                        table->threshold_count,
                        MGK_NOUN(table->threshold_count, "threshold", "thresholds"),
                        MGK_SWEEP_LEAST);
    return sort_thresholds(table);
}
