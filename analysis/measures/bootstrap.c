/* SPDX-License-Identifier: MIT */
#include "analysis/measures/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"

/* ---- means of draws -------------------------------------------------------------------------- */

static double weight_of(const mgk_sample_values *table, size_t sample)
{
    return table->weights ? table->weights[sample] : 1;
}

/*
 * The mean of each column over the samples, sample i taken times[i] times, into means [columns];
 * sums [columns] is overwritten. NaN: no sample has a value.
 */
static void average(const mgk_sample_values *table, size_t columns, const double *times,
                    double *means, double *sums)
{
    for (size_t c = 0; c < columns; c++)
        means[c] = sums[c] = 0;
    for (size_t i = 0; i < table->count; i++) {
        const double *row = table->values + i * columns, weight = times[i] * weight_of(table, i);
        for (size_t c = 0; c < columns && times[i] > 0; c++) {
            const bool there = !isnan(row[c]);
            means[c] += there ? weight * row[c] : 0;
            sums[c] += there ? weight : 0;
        }
    }
    for (size_t c = 0; c < columns; c++)
        means[c] = sums[c] > 0 ? means[c] / sums[c] : NAN;
}

/* How often each of `count` samples is in a draw. */
static void draw_samples(uint64_t seed, uint64_t stream, size_t draw, size_t count, double *times)
{
    for (size_t i = 0; i < count; i++)
        times[i] = 0;
    for (size_t i = 0; i < count; i++)
        times[mgk_random_below(seed, stream, draw * count + i, count)]++;
}

/* The means of all columns for the samples as they are and for each draw, into means
 * [1 + MGK_BOOTSTRAP_DRAWS, columns]. */
static mgk_status average_draws(const mgk_sample_values *table, size_t columns, uint64_t seed,
                                uint64_t stream, int threads, double *means)
{
    double *work; /* of each thread: times, counts */
    const size_t size = table->count + columns;
    bool enough = true;
#pragma omp parallel num_threads(threads) private(work) reduction(&& : enough)
    {
        enough = mgk_alloc(size, sizeof(double), &work) == STATUS_OK;
#pragma omp for
        for (size_t draw = 0; draw <= MGK_BOOTSTRAP_DRAWS; draw++) {
            if (!enough)
                continue;
            draw_samples(seed, stream, draw, table->count, work);
            for (size_t i = 0; draw == 0 && i < table->count; i++)
                work[i] = 1;
            average(table, columns, work, means + draw * columns, work + table->count);
        }
        mgk_free(work);
    }
    return enough ? STATUS_OK : mgk_fail(STATUS_MEMORY, "no memory for %zu samples", table->count);
}

/* ---- differences ----------------------------------------------------------------------------- */

/* The middle 95 % of the draws [count], which are sorted. */
static void describe_draws(size_t count, double *draws, mgk_difference *out)
{
    if (count == 0)
        return;
    mgk_sort_reals(draws, count);
    out->low = mgk_quantile(draws, count, 0.025);
    out->high = mgk_quantile(draws, count, 0.975);
}

/* ---- t tests --------------------------------------------------------------------------------- */

/* Number, mean, and squared standard error of the mean. */
typedef struct moments {
    size_t count;
    double mean, error;
} moments;

/* With weights the error is n / (n − 1) Σ w² (x − m)² / (Σ w)². */
static moments describe_samples(const mgk_sample_values *table, size_t columns, size_t column)
{
    moments m = {.count = 0};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < table->count; i++) {
        const double x = table->values[i * columns + column], weight = weight_of(table, i);
        if (isnan(x))
            continue;
        sum += weight;
        m.mean = m.count++ > 0 ? m.mean + weight * (x - m.mean) / sum : x;
    }
    for (size_t i = 0; i < table->count; i++) {
        const double far = weight_of(table, i) * (table->values[i * columns + column] - m.mean);
        squares += isnan(far) ? 0 : far * far;
    }
    const double count = (double)m.count;
    m.error = m.count > 1 ? count / (count - 1) * squares / (sum * sum) : NAN;
    return m;
}

/* The continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8), by Lentz's
 * method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double value = 1, c = 1, d = 1 / fmax(tiny, fabs(1 - (a + b) * x / (a + 1)));
    value = d;
    for (int m = 1; m < 10000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        value *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        value *= c * d;
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return value;
}

/* The probability that |T| >= |t| for Student's T with `freedom` degrees of freedom, the
 * regularised incomplete beta function of f / (f + t²), f / 2 and 1 / 2. */
static double two_sided(double t, double freedom)
{
    const double a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t);
    if (isinf(t))
        return 0;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The largest magnitude of a column. */
static double largest_of(const mgk_sample_values *table, size_t columns, size_t column)
{
    double largest = 0;
    for (size_t i = 0; i < table->count; i++)
        largest = fmax(largest, fabs(table->values[i * columns + column]));
    return largest;
}

/* p of the difference b − a; `a` NULL: b are differences of pairs. Values of up to `largest` vary
 * by their roundings. */
static double test(const moments *a, const moments *b, double largest)
{
    const double rounding = 0x1p-40 * largest;
    const moments none = {.count = 0};
    const moments *first = a ? a : &none;
    const double difference = b->mean - first->mean, error = b->error + first->error;
    if (b->count < 2 || (a && a->count < 2) || !(error * (double)b->count > rounding * rounding))
        return NAN;
    double freedom = (double)b->count - 1;
    if (a) /* Welch & Satterthwaite */
        freedom = error * error /
                  (b->error * b->error / freedom + a->error * a->error / ((double)a->count - 1));
    return two_sided(difference / sqrt(error), freedom);
}

/* The interval of a column from the means [1 + draws, columns]; `before` NULL: means are of
 * differences already. draws [MGK_BOOTSTRAP_DRAWS] is overwritten. */
static void describe_column(const double *means, const double *before, size_t columns,
                            size_t column, double *draws, mgk_difference *out)
{
    size_t count = 0;
    out->value = means[column] - (before ? before[column] : 0);
    for (size_t d = 1; d <= MGK_BOOTSTRAP_DRAWS && out->samples > 1; d++) {
        const size_t i = d * columns + column;
        const double draw = means[i] - (before ? before[i] : 0);
        if (!isnan(draw))
            draws[count++] = draw;
    }
    describe_draws(count, draws, out);
}

/* The work of a bootstrap. */
typedef struct bootstrap {
    double *differences; /* [count, columns] of pairs */
    double *of_a, *of_b; /* means [1 + draws, columns] */
    double *draws;       /* [draws] */
} bootstrap;

static void release(bootstrap *work)
{
    mgk_free(work->differences);
    mgk_free(work->of_a);
    mgk_free(work->of_b);
    mgk_free(work->draws);
}

/* One table of the differences of each sample. */
static mgk_status subtract(const mgk_sample_values *a, const mgk_sample_values *b, size_t columns,
                           bootstrap *work, mgk_sample_values *out)
{
    TRY(mgk_alloc(a->count, columns * sizeof(double), &work->differences));
    for (size_t i = 0; i < a->count * columns; i++)
        work->differences[i] = b->values[i] - a->values[i];
    *out = (mgk_sample_values){a->count, work->differences, b->weights};
    return STATUS_OK;
}

static mgk_status compare_tables(const mgk_sample_values *a, const mgk_sample_values *b,
                                 size_t columns, bool paired, uint64_t seed, int threads,
                                 bootstrap *work, mgk_difference *out)
{
    mgk_sample_values last = *b;
    TRY(mgk_alloc(MGK_BOOTSTRAP_DRAWS, sizeof(double), &work->draws));
    TRY(mgk_alloc(columns, (1 + MGK_BOOTSTRAP_DRAWS) * sizeof(double), &work->of_b));
    if (paired) {
        TRY(subtract(a, b, columns, work, &last));
    } else {
        TRY(mgk_alloc(columns, (1 + MGK_BOOTSTRAP_DRAWS) * sizeof(double), &work->of_a));
        TRY(average_draws(a, columns, seed, 1, threads, work->of_a));
    }
    TRY(average_draws(&last, columns, seed, 0, threads, work->of_b));
    for (size_t c = 0; c < columns; c++) {
        const moments of_a = describe_samples(a, columns, c);
        const moments of_b = describe_samples(&last, columns, c);
        const bool fewer = !paired && of_a.count < of_b.count;
        const double largest = fmax(largest_of(a, columns, c), largest_of(b, columns, c));
        out[c] = (mgk_difference){.low = NAN,
                                  .high = NAN,
                                  .p = test(paired ? NULL : &of_a, &of_b, largest),
                                  .p_holm = NAN,
                                  .samples = fewer ? of_a.count : of_b.count};
        describe_column(work->of_b, work->of_a, columns, c, work->draws, &out[c]);
    }
    return STATUS_OK;
}

mgk_status mgk_bootstrap(const mgk_sample_values *a, const mgk_sample_values *b, size_t columns,
                         bool paired, uint64_t seed, int threads, mgk_difference *out)
{
    bootstrap work = {.differences = NULL};
    mgk_status status = compare_tables(a, b, columns, paired, seed, threads, &work, out);
    release(&work);
    return status;
}

/* ---- many comparisons ------------------------------------------------------------------------ */

static int compare_p(const void *a, const void *b)
{
    const mgk_difference *x = *(mgk_difference *const *)a, *y = *(mgk_difference *const *)b;
    return (x->p > y->p) - (x->p < y->p);
}

mgk_status mgk_adjust_by_holm(size_t count, mgk_difference *differences)
{
    mgk_difference **order;
    size_t tests = 0;
    double before = 0;
    TRY(mgk_alloc(count, sizeof(mgk_difference *), &order));
    for (size_t i = 0; i < count; i++)
        if (!isnan(differences[i].p))
            order[tests++] = &differences[i];
    if (tests > 0)
        qsort(order, tests, sizeof(*order), compare_p);
    for (size_t k = 0; k < tests; k++) {
        before = fmax(before, fmin(1, (double)(tests - k) * order[k]->p));
        order[k]->p_holm = before;
    }
    mgk_free(order);
    return STATUS_OK;
}
