/* SPDX-License-Identifier: MIT */
#include "analysis/measures/rank.h"
#include "kernels/blas.h"
#include "kernels/rows.h"

#include <math.h>
#include <string.h>

const size_t mgk_energy_counts[MGK_ENERGIES] = {1, 4, 16, 64};

double mgk_rank_noise_floor(size_t rows, size_t columns, double frobenius, mgk_float_format format)
{
    /* The n of 2 / √n = 1/√rows + 1/√columns; exactly n if both are n. */
    const double m = (double)rows, k = (double)columns;
    const double n = 4 * m * k / (m + k + 2 * sqrt(m * k));
    return 0.82 * mgk_float_format_roundoff(format) * frobenius / sqrt(n);
}

double mgk_rank_solver_error(double sigma_1, size_t order)
{
    return (double)order * 0x1p-53 * sigma_1;
}

const char *const mgk_rank_method_names[MGK_METHOD_COUNT] = {
    [MGK_METHOD_SVD] = "svd",         [MGK_METHOD_AUGMENTED] = "augmented",
    [MGK_METHOD_GRAM] = "gram",       [MGK_METHOD_BISECTION] = "bisection",
    [MGK_METHOD_FACTORS] = "factors", [MGK_METHOD_LOW_RANK] = "low-rank"};

const char *const mgk_certificate_names[MGK_CERTIFICATE_COUNT] = {
    [MGK_CERTIFICATE_NONE] = "none",
    [MGK_CERTIFICATE_STATISTICAL] = "statistical",
    [MGK_CERTIFICATE_BOUND] = "bound",
    [MGK_CERTIFICATE_MEASURED] = "measured"};

bool mgk_rank_method_counts(mgk_rank_method method)
{
    return method == MGK_METHOD_GRAM || method == MGK_METHOD_LOW_RANK;
}

static mgk_status fail_row(size_t i, size_t n, const double *row)
{
    for (size_t j = 0; j < n; j++)
        if (!isfinite(row[j]))
            return mgk_fail(STATUS_NUMERIC, "entry [%zu, %zu] is %g", i, j, row[j]);
    return mgk_fail(STATUS_NUMERIC, "the sum of row %zu overflows", i);
}

/* Squares leave the range of a double long before norms do. */
static double norm_of(size_t count, const double *a, double squares)
{
    bool safe = squares > 1e-200 && squares < 1e300;
    return safe ? sqrt(squares) : mgk_blas.dnrm2((blasint)count, a, 1);
}

static bool describe(size_t rows, size_t columns, const mgk_entries *entries,
                     mgk_float_format stored, mgk_rank_row *row)
{
    row->n = rows;
    row->format = stored;
    row->row_sum_error = row->column_sum_max = row->frobenius = row->noise_floor = NAN;
    row->zero_rows = 0;
    if (rows == 0 || columns == 0)
        return true;
    mgk_float_format seen = mgk_float_format_of_bits(entries->bits);
    row->format = seen > stored ? seen : stored;
    row->row_sum_error = entries->row_sum_error;
    row->zero_rows = entries->zero_rows;
    row->column_sum_max = entries->column_sum_max;
    row->frobenius = entries->norm;
    row->noise_floor = mgk_rank_noise_floor(rows, columns, row->frobenius, row->format);
    return isfinite(entries->row_sum_error) && isfinite(entries->norm);
}

bool mgk_rank_describe_entries(size_t n, const mgk_entries *entries, mgk_float_format stored,
                               mgk_rank_row *row)
{
    return describe(n, n, entries, stored, row);
}

bool mgk_rank_is_zero_row(size_t n, const double *row)
{
    size_t j = 0;
    while (j < n && row[j] == 0)
        j++;
    return j == n;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

mgk_status mgk_rank_measure_rectangle(size_t rows, size_t columns, size_t pitch, const double *a,
                                      mgk_float_format stored, double *row_sums,
                                      double *column_sums, mgk_rank_row *row)
{
    double squares = 0;
    mgk_entries seen = {.column_sum_max = -INFINITY};
    const mgk_row_kernels *kernels;
    TRY(mgk_row_kernels_choose(&kernels));
    if (columns > 0) /* an empty matrix may have none */
        memset(column_sums, 0, columns * sizeof(*column_sums));
    for (size_t i = 0; i < rows; i++) {
        const double *entries = a + i * pitch;
        const mgk_row_facts facts = kernels->facts(columns, entries, column_sums);
        if (!isfinite(facts.sum))
            return fail_row(i, columns, entries);
        squares += facts.squares;
        seen.bits |= facts.bits;
        if (row_sums)
            row_sums[i] = facts.sum;
        if (mgk_rank_is_zero_row(columns, entries))
            seen.zero_rows++;
        else
            seen.row_sum_error = larger(fabs(facts.sum - 1), seen.row_sum_error);
    }
    for (size_t j = 0; j < columns; j++)
        seen.column_sum_max = larger(column_sums[j], seen.column_sum_max);
    seen.norm = norm_of(rows * pitch, a, squares);
    describe(rows, columns, &seen, stored, row);
    return STATUS_OK;
}

mgk_status mgk_rank_measure_entries(size_t n, const double *a, mgk_float_format stored,
                                    double *row_sums, double *column_sums, mgk_rank_row *row)
{
    return mgk_rank_measure_rectangle(n, n, n, a, stored, row_sums, column_sums, row);
}

mgk_status mgk_rank_fail_zero_row(size_t i)
{
    return mgk_fail(STATUS_UNSUPPORTED,
                    "row %zu is all zeros, as those of padded queries are, and those whose scores "
                    "underflow where a small number is added to their sum: leave padding out, by "
                    "the mask or the lengths of the samples, or accept such rows by "
                    "`allow_zero_rows`",
                    i);
}

size_t mgk_rank_zero_row(size_t rows, size_t columns, const double *a)
{
    size_t i = 0;
    while (i < rows && !mgk_rank_is_zero_row(columns, a + i * columns))
        i++;
    return i;
}

/* p ln p tends to 0 with p: vanished singular values add nothing. */
static double effective_rank(size_t n, const double *sigma, double sum)
{
    double entropy = 0;
    for (size_t i = 0; i < n; i++) {
        double p = sigma[i] / sum;
        if (p > 0)
            entropy -= p * log(p);
    }
    return exp(entropy);
}

void mgk_rank_forget_spectrum(mgk_rank_row *row)
{
    row->sigma_max = row->sigma_min = row->sigma_ratio = NAN;
    row->effective_rank = row->stable_rank = NAN;
    for (size_t k = 0; k < MGK_ENERGIES; k++)
        row->energy[k] = NAN;
}

void mgk_rank_set_largest(mgk_rank_row *row, double largest)
{
    const double ratio = row->frobenius / largest;
    mgk_rank_forget_spectrum(row);
    row->sigma_max = largest;
    row->stable_rank = largest > 0 ? ratio * ratio : NAN;
}

void mgk_rank_measure_spectrum(size_t n, const double *sigma, mgk_rank_row *row)
{
    double sum = 0, squares = 0, first[MGK_ENERGIES] = {0};
    mgk_rank_forget_spectrum(row);
    if (n == 0)
        return;
    row->sigma_max = sigma[0];
    row->sigma_min = sigma[n - 1];
    if (sigma[0] == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        double ratio = sigma[i] / sigma[0];
        sum += sigma[i];
        squares += ratio * ratio;
        for (size_t k = 0; k < MGK_ENERGIES; k++)
            if (i < mgk_energy_counts[k])
                first[k] = squares;
    }
    row->sigma_ratio = n > 1 ? sigma[1] / sigma[0] : NAN;
    for (size_t k = 0; k < MGK_ENERGIES; k++)
        row->energy[k] = first[k] / squares;
    row->effective_rank = effective_rank(n, sigma, sum);
    row->stable_rank = squares;
}

size_t mgk_rank_count_from(size_t n, const double *sigma, double tau)
{
    size_t count = 0;
    while (count < n && sigma[count] >= tau)
        count++;
    return count;
}

mgk_rank_count mgk_rank_count_at(size_t n, const double *sigma, double tau, double solver,
                                 double storage)
{
    const double error = solver + storage;
    mgk_rank_count count = {.nearest = n > 0 ? sigma[0] : NAN,
                            .certificate = MGK_CERTIFICATE_BOUND};
    if (n == 0 || sigma[0] == 0)
        return count;
    count.rank = mgk_rank_count_from(n, sigma, tau);
    count.rank_low = mgk_rank_count_from(n, sigma, tau + error);
    count.rank_high = mgk_rank_count_from(n, sigma, tau - error);
    count.undecided = count.rank_low < count.rank_high;
    for (size_t i = 1; i < n; i++)
        if (fabs(sigma[i] - tau) < fabs(count.nearest - tau))
            count.nearest = sigma[i];
    if (fabs(count.nearest - tau) <= solver)
        count.certificate = MGK_CERTIFICATE_NONE;
    return count;
}
