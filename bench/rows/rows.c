/* SPDX-License-Identifier: MIT */
/*
 * Time of the kernels of kernels/rows.h on every level, beside plain loops in C with the logarithm
 * of the C library: bench_rows [N ...], default 64 256 1024. Runs alternate; times are the minimum
 * of several, by the thread's own clock, so that other programs do not count.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels/rows.h"

enum { HEADS = 8, PAIRS = HEADS * (HEADS - 1) / 2, LARGEST = 1 << 15 };

static const char *const levels[] = {MGK_CPU_LEVEL_NAMES};

/* The rows of one size: attention rows, each of sum 1. */
typedef struct bench {
    const mgk_row_kernels *kernels;
    size_t n;
    double *rows;                /* [HEADS, n] */
    float *floats;               /* the same, rounded */
    double *changed;             /* [n, MGK_SORT_ROWS]: what is written */
    double pairs[HEADS * HEADS]; /* [HEADS, HEADS] */
    volatile double result;
} bench;

typedef struct measured {
    const char *name, *unit;
    double (*units)(size_t n);
    void (*ours)(bench *b);
    void (*plain)(bench *b);
} measured;

static double entries(size_t n)
{
    return (double)(HEADS * n);
}

static double sorted_entries(size_t n)
{
    return (double)(MGK_SORT_ROWS * n);
}

static double pair_entries(size_t n)
{
    return (double)(PAIRS * n);
}

/* Calls a function of a row and sums its results. */
static void of_rows(bench *b, double (*function)(size_t, const double *))
{
    double sum = 0;
    for (size_t h = 0; h < HEADS; h++)
        sum += function(b->n, b->rows + h * b->n);
    b->result = sum;
}

static double plain_sum(size_t n, const double *x)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += x[j];
    return sum;
}

static double plain_range(size_t n, const double *x)
{
    double smallest = 0, largest = 0;
    for (size_t j = 0; j < n; j++) {
        smallest = x[j] < smallest ? x[j] : smallest;
        largest = x[j] > largest ? x[j] : largest;
    }
    return largest - smallest;
}

static double x_ln_x(double x)
{
    return x > 0 ? x * log(x) : 0;
}

static double plain_entropy(size_t n, const double *p)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum -= x_ln_x(p[j]);
    return sum;
}

static double plain_product(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += x[j] * y[j];
    return sum;
}

static double plain_difference(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += (x[j] - y[j]) * (x[j] - y[j]);
    return 0.5 * sum;
}

static double plain_mixture(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum -= x_ln_x(0.5 * (x[j] + y[j]));
    return sum;
}

static void of_pairs(bench *b, double (*function)(size_t, const double *, const double *))
{
    for (size_t h = 0; h < HEADS; h++)
        for (size_t g = 0; g < h; g++)
            b->pairs[h * HEADS + g] = b->pairs[g * HEADS + h] =
                function(b->n, b->rows + h * b->n, b->rows + g * b->n);
}

static void sum_ours(bench *b)
{
    of_rows(b, b->kernels->sum);
}

static void sum_plain(bench *b)
{
    of_rows(b, plain_sum);
}

static void range_ours(bench *b)
{
    double sum = 0;
    for (size_t h = 0; h < HEADS; h++)
        sum += b->kernels->range(b->n, b->rows + h * b->n).largest;
    b->result = sum;
}

static void range_plain(bench *b)
{
    of_rows(b, plain_range);
}

static void entropy_ours(bench *b)
{
    of_rows(b, b->kernels->entropy);
}

static void entropy_plain(bench *b)
{
    of_rows(b, plain_entropy);
}

static void dot_ours(bench *b)
{
    of_pairs(b, b->kernels->dot);
}

static void products_plain(bench *b)
{
    of_pairs(b, plain_product);
}

static void roots_ours(bench *b)
{
    b->kernels->roots(HEADS * b->n, b->rows, b->changed);
}

static void roots_plain(bench *b)
{
    for (size_t j = 0; j < HEADS * b->n; j++)
        b->changed[j] = sqrt(b->rows[j]);
}

static void narrow_ours(bench *b)
{
    for (size_t h = 0; h < HEADS; h++)
        b->kernels->narrow(b->n, b->rows + h * b->n, (float *)b->changed + h * b->n);
}

static void narrow_plain(bench *b)
{
    for (size_t j = 0; j < HEADS * b->n; j++)
        ((float *)b->changed)[j] = (float)b->rows[j];
}

static void widen_ours(bench *b)
{
    for (size_t h = 0; h < HEADS; h++)
        b->kernels->widen(b->n, b->floats + h * b->n, b->changed + h * b->n);
}

static void widen_plain(bench *b)
{
    for (size_t j = 0; j < HEADS * b->n; j++)
        b->changed[j] = (double)b->floats[j];
}

static void products_ours(bench *b)
{
    b->kernels->products(HEADS, b->n, b->rows, b->n, b->pairs);
}

static void differences_ours(bench *b)
{
    b->kernels->differences(HEADS, b->n, b->rows, b->n, b->pairs);
}

static void differences_plain(bench *b)
{
    of_pairs(b, plain_difference);
}

static void divergences_ours(bench *b)
{
    double entropies[HEADS];
    for (size_t h = 0; h < HEADS; h++)
        entropies[h] = b->kernels->entropy(b->n, b->rows + h * b->n);
    b->kernels->divergences(HEADS, b->n, b->rows, b->n, entropies, NULL, b->pairs);
}

static void roots_too_ours(bench *b)
{
    double entropies[HEADS];
    for (size_t h = 0; h < HEADS; h++)
        entropies[h] = b->kernels->entropy(b->n, b->rows + h * b->n);
    b->kernels->divergences(HEADS, b->n, b->rows, b->n, entropies, b->changed, b->pairs);
}

static void divergences_plain(bench *b)
{
    double entropy[HEADS];
    for (size_t h = 0; h < HEADS; h++)
        entropy[h] = plain_entropy(b->n, b->rows + h * b->n);
    of_pairs(b, plain_mixture);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t g = 0; g < HEADS; g++)
            b->pairs[h * HEADS + g] -= 0.5 * (entropy[h] + entropy[g]);
}

static void roots_too_plain(bench *b)
{
    divergences_plain(b);
    roots_plain(b);
}

/* Both sort the same numbers, each row twice or more often; the copy is part of the time. */
static void sort_ours(bench *b)
{
    const double *row[MGK_SORT_ROWS];
    for (size_t r = 0; r < MGK_SORT_ROWS; r++)
        row[r] = b->rows + r % HEADS * b->n;
    b->kernels->sort(b->n, row, b->changed);
}

static void sort_floats(bench *b)
{
    const float *row[MGK_SORT_ROWS];
    for (size_t r = 0; r < MGK_SORT_ROWS; r++)
        row[r] = b->floats + r % HEADS * b->n;
    b->kernels->sort_floats(b->n, row, b->changed);
}

static int compare(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static void sort_plain(bench *b)
{
    for (size_t r = 0; r < MGK_SORT_ROWS; r++) {
        double *row = b->changed + r * b->n;
        memcpy(row, b->rows + r % HEADS * b->n, b->n * sizeof(*row));
        qsort(row, b->n, sizeof(*row), compare);
    }
}

static const measured all[] = {
    {"sum", "entry", entries, sum_ours, sum_plain},
    {"range", "entry", entries, range_ours, range_plain},
    {"entropy", "entry", entries, entropy_ours, entropy_plain},
    {"roots", "entry", entries, roots_ours, roots_plain},
    {"narrow", "entry", entries, narrow_ours, narrow_plain},
    {"widen", "entry", entries, widen_ours, widen_plain},
    {"sort", "entry", sorted_entries, sort_ours, sort_plain},
    {"sort floats", "entry", sorted_entries, sort_floats, sort_plain},
    {"dot", "entry and pair", pair_entries, dot_ours, products_plain},
    {"products", "entry and pair", pair_entries, products_ours, products_plain},
    {"differences", "entry and pair", pair_entries, differences_ours, differences_plain},
    {"divergences", "entry and pair", pair_entries, divergences_ours, divergences_plain},
    {"with roots", "entry and pair", pair_entries, roots_too_ours, roots_too_plain},
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of a call, by as many calls as take a fraction of a millisecond. */
static double time_of(bench *b, void (*run)(bench *b))
{
    const size_t calls = 1 + (1 << 16) / (HEADS * b->n);
    const double start = seconds();
    for (size_t i = 0; i < calls; i++)
        run(b);
    return (seconds() - start) / (double)calls;
}

static void measure(bench *b, const char *level)
{
    enum { TURNS = 30 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const measured *m = &all[i];
        double ours = INFINITY, plain = INFINITY;
        for (int turn = 0; turn < TURNS; turn++) {
            ours = fmin(ours, time_of(b, m->ours));
            plain = fmin(plain, time_of(b, m->plain));
        }
        const double scale = 1e9 / m->units(b->n);
        printf("%-5s %6zu  %-12s %8.3f %8.3f %6.1f  ns an %s\n", level, b->n, m->name, ours * scale,
               plain * scale, plain / ours, m->unit);
    }
}

/* Rows of a softmax of normal scores with deviation 2. */
static void fill(bench *b)
{
    for (size_t h = 0; h < HEADS; h++) {
        double *row = b->rows + h * b->n, sum = 0;
        for (size_t j = 0; j < b->n; j++)
            sum += row[j] = exp(2 * mgk_random_normal(1, h, j));
        for (size_t j = 0; j < b->n; j++)
            row[j] /= sum;
    }
    for (size_t j = 0; j < HEADS * b->n; j++)
        b->floats[j] = (float)b->rows[j];
}

static mgk_status run(size_t n)
{
    mgk_status status = STATUS_OK;
    bench b = {.n = n};
    CHECK(mgk_alloc(HEADS * n, sizeof(double), &b.rows));
    CHECK(mgk_alloc(HEADS * n, sizeof(float), &b.floats));
    CHECK(mgk_alloc(MGK_SORT_ROWS * n, sizeof(double), &b.changed));
    fill(&b);
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        setenv("MGK_CPU_LEVEL", levels[l], 1);
        CHECK(mgk_row_kernels_choose(&b.kernels));
        measure(&b, levels[l]);
    }
out:
    mgk_free(b.rows);
    mgk_free(b.floats);
    mgk_free(b.changed);
    return status;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {64, 256, 1024};
    const size_t count = argc > 1 ? (size_t)argc - 1 : sizeof sizes / sizeof *sizes;
    printf("level      N  kernel           ours    plain  ratio\n");
    for (size_t i = 0; i < count; i++) {
        const long asked = argc > 1 ? strtol(argv[i + 1], NULL, 10) : (long)sizes[i];
        if (asked < 1 || asked > LARGEST) {
            fprintf(stderr, "%s: expected N between 1 and %d\n", argv[i + 1], LARGEST);
            return 2;
        }
        if (run((size_t)asked) != STATUS_OK) {
            fprintf(stderr, "%s\n", mgk_fail_message());
            return 1;
        }
    }
    return 0;
}
