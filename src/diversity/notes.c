/* SPDX-License-Identifier: MIT */
/* What a reader of measures must know about the matrices that they were computed from. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/append.h"
#include "base/number.h"
#include "diversity/diversity.h"

/* Rows further from a sum of 1 than rounding explains. */
static const double unusual_sum = 0.01;

static void collect_matrix(const double *facts, mgk_diversity_facts *out)
{
    const double rows = facts[MGK_FACT_ROWS];
    if (isnan(rows))
        return;
    out->least_rows = out->matrices == 0 ? rows : fmin(out->least_rows, rows);
    out->most_rows = fmax(out->most_rows, rows);
    out->matrices++;
    out->zero_rows += (size_t)facts[MGK_FACT_ZERO_ROWS];
    out->with_zero_rows += facts[MGK_FACT_ZERO_ROWS] > 0;
    out->unnormalised += facts[MGK_FACT_ROW_SUM_ERROR] > unusual_sum;
    out->row_sum_error = fmax(out->row_sum_error, facts[MGK_FACT_ROW_SUM_ERROR]);
    out->negative += facts[MGK_FACT_LOWEST] < 0;
    out->lowest = fmin(out->lowest, facts[MGK_FACT_LOWEST]);
    out->later += facts[MGK_FACT_LATER] > 0;
}

void mgk_diversity_collect(const mgk_record_layout *layout, double *record,
                           mgk_diversity_facts *facts)
{
    for (size_t l = 0; l < layout->layers; l++)
        for (size_t h = 0; h < layout->heads; h++)
            collect_matrix(mgk_record_facts(layout, record, l, h), facts);
}

__attribute__((format(printf, 2, 3))) static void add(mgk_diversity_notes *notes,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(notes->lines[notes->count++], MGK_DIVERSITY_NOTE, format, arguments);
    va_end(arguments);
}

void mgk_diversity_explain(const char *name, const mgk_diversity_facts *facts, bool causal,
                           bool unnormalized, mgk_diversity_notes *out)
{
    *out = (mgk_diversity_notes){.count = 0};
    if (!causal && facts->later == 0 && facts->most_rows > 1)
        add(out,
            "%s: all entries right of the diagonal are 0: if the model has a causal mask, say so "
            "by `causal`, or normalized_entropy, gini and next count keys that no query sees",
            name);
    if (facts->least_rows < facts->most_rows)
        add(out,
            "%s: samples have %.0f to %.0f tokens; ranks, entropies and distances grow with that "
            "number, so means over samples mix lengths",
            name, facts->least_rows, facts->most_rows);
    if (facts->zero_rows > 0)
        add(out, "%s: means over rows leave out %zu %s of zeros in %zu %s", name, facts->zero_rows,
            MGK_NOUN(facts->zero_rows, "row", "rows"), facts->with_zero_rows,
            MGK_NOUN(facts->with_zero_rows, "matrix", "matrices"));
    if (facts->negative > 0)
        add(out,
            "%s: %zu %s negative entries, down to %.2g: measures of rows as distributions are "
            "empty for them",
            name, facts->negative, MGK_NOUN(facts->negative, "matrix has", "matrices have"),
            facts->lowest);
    if (facts->unnormalised > 0)
        add(out,
            "%s: rows of %zu %s do not sum to 1 but are off by up to %.2g: %smeasures take them as "
            "they are, and js, distance and others may leave their ranges",
            name, facts->unnormalised, MGK_NOUN(facts->unnormalised, "matrix", "matrices"),
            facts->row_sum_error,
            unnormalized ? "this attention does not normalise them, and " : "");
}

/*
 * f16 has 11 significant bits, and below 2^-14 steps of 2^-24. Entries of two equal heads may
 * become 2^-10 of themselves apart: js is then up to 2^-20 / (8 ln 2), hellinger up to 2^-10 /
 * sqrt(8).
 */
void mgk_diversity_explain_half(const char *name, char note[MGK_DIVERSITY_NOTE])
{
    snprintf(
        note, MGK_DIVERSITY_NOTE,
        "%s: the matrices are f16: each entry is off by up to 2^-11 of itself, below 6e-5 by up "
        "to 3e-8; a js below 2e-7 or a hellinger below 4e-4 may be that alone, more if many "
        "weights are small; singular values are off by up to 2^-11 of the norm of the matrix, so "
        "that a rank at a smaller threshold counts rounding",
        name);
}

void mgk_diversity_explain_heads(const char *name, size_t heads, size_t all,
                                 char note[MGK_DIVERSITY_NOTE])
{
    *note = '\0';
    if (heads < all)
        snprintf(note, MGK_DIVERSITY_NOTE,
                 "%s: %zu of the %zu heads of a layer: measures of layers are of these alone, and "
                 "rollout is empty",
                 name, heads, all);
}

static bool is_compared(const mgk_diversity_comparison *comparisons, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < comparisons[i].columns; c++)
            if (strcmp(comparisons[i].measures[c], name) == 0)
                return true;
    return false;
}

void mgk_diversity_explain_weights(const mgk_diversity_comparison *comparisons, size_t count,
                                   char note[MGK_DIVERSITY_NOTE])
{
    *note = '\0';
    for (size_t m = 0; m < mgk_measure_count; m++)
        if (mgk_measure_is_of_weights(mgk_measures[m]) &&
            is_compared(comparisons, count, mgk_measures[m]->name))
            mgk_append(note, MGK_DIVERSITY_NOTE, "%s%s", *note ? ", " : "", mgk_measures[m]->name);
    if (*note)
        mgk_append(note, MGK_DIVERSITY_NOTE,
                   ": of weights alone, the same on each sample: their differences have no "
                   "interval and no p");
}
