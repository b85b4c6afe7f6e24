/* SPDX-License-Identifier: MIT */
#include "tools/print_pruning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The width of " +- " and a deviation. */
enum { SPREAD = 11 };

/* The first rows of the curves of an input, which have as many rows each; returns their number. */
static size_t find_curves(const mgk_mean_rows *in, size_t first[3])
{
    size_t count = 0;
    for (size_t r = in->first; r < in->end; r++)
        if (r == in->first || in->m->measure.integers[r] != in->m->measure.integers[r - 1])
            first[count++] = r;
    return count;
}

/* Whether a curve, of rows from `first` on, is the mean of several orders. */
static bool is_mean_of_orders(const mgk_means *m, size_t first, size_t heads)
{
    return heads > 0 && m->head.integers[first + 1] < 0;
}

/* Prints which heads a curve loses, in their order; nothing of the mean of several orders. */
static void print_order(const mgk_means *m, size_t first, size_t heads)
{
    enum { MOST = 24 };
    if (heads == 0 || is_mean_of_orders(m, first, heads))
        return;
    printf("%s removes (layer.head)", m->measure.words[m->measure.integers[first]]);
    for (size_t k = 1; k <= heads && k <= MOST; k++)
        printf(" %d.%d", m->layer.integers[first + k], m->head.integers[first + k]);
    puts(heads > MOST ? " ..." : "");
}

/* Prints row r of a curve; `spread`: with the deviation of its orders. */
static void print_point(const mgk_means *m, size_t r, bool spread)
{
    const int width = (int)strlen(m->measure.words[m->measure.integers[r]]);
    const double value = m->value.reals[r], sd = m->sd.reals[r];
    if (isnan(value))
        printf("  %*s", width, "-");
    else
        printf("  %*.6g", width, value);
    if (spread && sd > 0)
        printf(" +- %-*.2g", SPREAD - 4, sd);
    else if (spread)
        printf("%*s", SPREAD, "");
}

void mgk_print_pruning(const mgk_mean_rows *in)
{
    const mgk_means *m = in->m;
    size_t first[3];
    const size_t curves = find_curves(in, first), heads = (in->end - in->first) / curves - 1;
    const size_t step = heads > 8 ? (heads + 7) / 8 : 1;
    printf("%s\n%5s", m->input.words[m->input.integers[in->first]], "heads");
    for (size_t i = 0; i < curves; i++)
        printf("  %s%*s", m->measure.words[m->measure.integers[first[i]]],
               is_mean_of_orders(m, first[i], heads) ? SPREAD : 0, "");
    putchar('\n');
    for (size_t k = 0; k <= heads; k += k + step > heads && k < heads ? heads - k : step) {
        printf("%5d", m->component.integers[first[0] + k]);
        for (size_t i = 0; i < curves; i++)
            print_point(m, first[i] + k, is_mean_of_orders(m, first[i], heads));
        putchar('\n');
    }
    for (size_t i = 0; i < curves; i++)
        print_order(m, first[i], heads);
    const int samples = m->samples.integers[first[0]];
    printf("means over %d %s\n", samples, samples == 1 ? "sample" : "samples");
}
