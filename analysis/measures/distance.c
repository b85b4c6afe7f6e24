/* How far a query looks. */
#include "analysis/measures/registry.h"

/* |i − j| of the keys, for the kernel's product. */
static void distances(size_t query, size_t keys, double *out)
{
    for (size_t j = 0; j < keys; j++)
        out[j] = j < query ? (double)(query - j) : (double)(j - query);
}

static void distance(const mgk_rows *rows, double *values)
{
    for (size_t r = 0; r < rows->count; r++) {
        const size_t keys = mgk_row_keys(rows, r);
        distances(mgk_row_query(rows, r), keys, rows->scratch);
        values[r] = rows->kernels->dot(keys, mgk_row(rows, r), rows->scratch);
    }
}

const mgk_measure mgk_measure_distance = {.name = "distance",
                                          .level = MGK_MEASURE_HEAD,
                                          .unit = "tokens",
                                          .range = "0 to N - 1",
                                          .formula = "mean_i sum_j a_ij |i - j|",
                                          .source = "Dosovitskiy et al. 2021",
                                          .rows = distance};
