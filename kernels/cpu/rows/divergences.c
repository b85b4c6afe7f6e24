/*
 * Jensen-Shannon divergences of all pairs of rows. With F(a, b) = sum_j (a_j + b_j) ln((a_j + b_j)
 * / 2) the divergence is F(a, a) / 4 + F(b, b) / 4 - F(a, b) / 2, so a pair takes one logarithm an
 * entry. F is symmetric, and one function computes it for all pairs: identical rows have three
 * identical terms and a divergence of exactly 0.
 */
#include <string.h>

#include "kernels/cpu/log.h"
#include "kernels/cpu/rows/row.h"

static inline mgk_vector add_mixture(mgk_vector sum, mgk_vector x, mgk_vector y)
{
    const mgk_vector both = x + y;
    return sum + both * mgk_log(both, 1);
}

static double mixture(size_t n, const double *a, const double *b)
{
    return mgk_row_reduce(add_mixture, n, a, b);
}

/* F [heads, heads], h >= g, is replaced by divergences. */
static void finish(size_t heads, double *out)
{
    for (size_t h = 0; h < heads; h++)
        for (size_t g = 0; g < h; g++) {
            const double own = out[h * heads + h] + out[g * heads + g];
            const double divergence = 0.25 * own - 0.5 * out[h * heads + g];
            out[h * heads + g] = out[g * heads + h] = divergence > 0 ? divergence : 0;
        }
    for (size_t h = 0; h < heads; h++)
        out[h * heads + h] = 0;
}

void MGK_CPU(row_divergences)(size_t heads, size_t n, const double *rows, size_t pitch, double *out)
{
    const size_t block = mgk_row_block(heads);
    memset(out, 0, heads * heads * sizeof(*out));
    for (size_t j = 0; j < n; j += block) {
        const size_t columns = n - j < block ? n - j : block;
        for (size_t h = 0; h < heads; h++)
            for (size_t g = 0; g <= h; g++)
                out[h * heads + g] += mixture(columns, rows + h * pitch + j, rows + g * pitch + j);
    }
    finish(heads, out);
}
