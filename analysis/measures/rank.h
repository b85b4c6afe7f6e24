/* SPDX-License-Identifier: MIT */
/*
 * Measures of one attention matrix A [queries, keys]: numerical rank, with the range that rounding
 * leaves open, effective and stable rank, and the distance of A from a row-stochastic matrix.
 * Values that are not defined (n = 0, A = 0) or were not computed are NaN.
 */
#ifndef MGK_ANALYSIS_RANK_H
#define MGK_ANALYSIS_RANK_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/counting/float_format.h"
#include "base/status.h"
#include "kernels/backend.h"

/* How the singular values of a matrix were counted. */
typedef enum mgk_rank_method {
    MGK_METHOD_SVD,       /* computed, by kernels/spectral/spectrum.h */
    MGK_METHOD_AUGMENTED, /* computed on a GPU, as eigenvalues of [[0, A'], [A, 0]] */
    MGK_METHOD_GRAM,      /* the inertia of A'A - tau^2 I: analysis/counting/count.h */
    MGK_METHOD_BISECTION, /* computed on a GPU, by bisection of a bidiagonal form */
    MGK_METHOD_FACTORS,   /* computed from thin factors: analysis/counting/factors.h */
    MGK_METHOD_LOW_RANK   /* from QᵀA and the norm of A - Q QᵀA: analysis/counting/low_rank.h */
} mgk_rank_method;

enum { MGK_METHOD_COUNT = MGK_METHOD_LOW_RANK + 1 };

/* "svd", "augmented", "gram", "bisection", "factors", "low-rank". */
extern const char *const mgk_rank_method_names[MGK_METHOD_COUNT];

/* Whether the method counts without computing all singular values. */
bool mgk_rank_method_counts(mgk_rank_method method);

/* The k of mgk_rank_row.energy: the first k singular values. */
enum { MGK_ENERGIES = 4 };
extern const size_t mgk_energy_counts[MGK_ENERGIES]; /* 1, 4, 16, 64 */

/* Measures of one matrix that need no threshold. */
typedef struct mgk_rank_row {
    size_t input;    /* number of the input, from 0 */
    size_t sample;   /* number of the sample in the input */
    size_t position; /* position in the store, or in the run of a model */
    size_t layer, head;
    size_t n; /* order of the matrix, or the smaller side of one that is not square: the number of
                 its singular values */
    double sigma_max, sigma_min;
    double
        effective_rank; /* exp(-sum p_i ln p_i), p_i = sigma_i / sum sigma; Roy & Vetterli 2007 */
    double stable_rank; /* sum sigma_i^2 / sigma_1^2 */
    double sigma_ratio; /* sigma_2 / sigma_1: near 0 where rank has collapsed; NaN for n = 1 */
    double energy[MGK_ENERGIES]; /* sum of the first k sigma_i^2 / sum sigma_i^2; k from n on: 1 */
    double frobenius;            /* sqrt(sum a_ij^2), which is sqrt(sum sigma_i^2) */
    double noise_floor;          /* see mgk_rank_noise_floor; noise_floor of factors.c */
    double row_sum_error;        /* max_i |sum_j a_ij - 1| over rows that are not all zeros */
    size_t zero_rows;            /* number of rows that are all zeros */
    double column_sum_max;       /* max_j sum_i a_ij: n for a column that takes all attention */
    mgk_float_format format;     /* the coarser of the source's format and that of the entries */
    mgk_rank_method method;
} mgk_rank_row;

/* The certificate of a rank. */
typedef enum mgk_certificate {
    MGK_CERTIFICATE_NONE,        /* none: a singular value is within the error of tau */
    MGK_CERTIFICATE_STATISTICAL, /* an estimate of rounding errors: read, never made */
    MGK_CERTIFICATE_BOUND,       /* a bound of errors; of computed values mgk_rank_solver_error */
    MGK_CERTIFICATE_MEASURED     /* measured rounding errors: see mgk_gram_measure */
} mgk_certificate;

enum { MGK_CERTIFICATE_COUNT = MGK_CERTIFICATE_MEASURED + 1 };

/* "none", "statistical", "bound", "measured". */
extern const char *const mgk_certificate_names[MGK_CERTIFICATE_COUNT];

/* The rank of one matrix at one threshold tau. */
typedef struct mgk_rank_count {
    size_t rank;                 /* #{ sigma_i >= tau } */
    size_t rank_low;             /* #{ sigma_i >= tau + error } */
    size_t rank_high;            /* #{ sigma_i >= tau - error } */
    bool undecided;              /* rank_low < rank_high: a sigma_i is too close to tau */
    mgk_certificate certificate; /* of the rank of the stored matrix */
    double nearest;              /* the sigma_i nearest to tau; NaN if unknown */
} mgk_rank_count;

/*
 * Measures the entries of `a` [rows, pitch], which are 0 beyond the first `columns` of each row,
 * stored in a format at least as coarse as `stored`; sets format, row_sum_error, zero_rows,
 * column_sum_max, frobenius, noise_floor and n, the rows, of *row, and the sums of rows [rows],
 * unless NULL, and of columns [columns]. STATUS_NUMERIC: an entry is not finite; the message names
 * it.
 */
mgk_status mgk_rank_measure_rectangle(size_t rows, size_t columns, size_t pitch, const double *a,
                                      mgk_float_format stored, double *row_sums,
                                      double *column_sums, mgk_rank_row *row);

/* The same of a square matrix [n, n]. */
mgk_status mgk_rank_measure_entries(size_t n, const double *a, mgk_float_format stored,
                                    double *row_sums, double *column_sums, mgk_rank_row *row);

/* Whether all entries of a row [n] are 0. */
bool mgk_rank_is_zero_row(size_t n, const double *row);

/* The first zero row of `a` [rows, columns], `rows` if there is none. */
size_t mgk_rank_zero_row(size_t rows, size_t columns, const double *a);

/* STATUS_UNSUPPORTED: row i is all zeros, which the options do not allow. */
mgk_status mgk_rank_fail_zero_row(size_t i);

/*
 * The same from a device's statistics of the entries of a square matrix; false if the host must
 * measure them: a row sum is not finite, or the norm is unknown.
 */
bool mgk_rank_describe_entries(size_t n, const mgk_entries *entries, mgk_float_format stored,
                               mgk_rank_row *row);

/*
 * Measures the spectrum `sigma` [n], descending; sets sigma_max, sigma_min, sigma_ratio,
 * effective_rank, stable_rank and energy of *row.
 */
void mgk_rank_measure_spectrum(size_t n, const double *sigma, mgk_rank_row *row);

/* Sets all measures of mgk_rank_measure_spectrum to NaN: there is no spectrum. */
void mgk_rank_forget_spectrum(mgk_rank_row *row);

/*
 * The same, but sets sigma_max to `largest`, NaN if unknown, and stable_rank, which follows from it
 * and the norm of the entries.
 */
void mgk_rank_set_largest(mgk_rank_row *row, double largest);

/*
 * How far storage rounding moves singular values. Rounding to unit roundoff u adds a matrix E with
 * relative errors uniform in about [-u, u] within a binade, so |E|_F = 0.41 u |A|_F. Noise without
 * direction spreads evenly over the spectrum, |E|_2 = 2 |E|_F / sqrt(n). The floor is that
 * estimate, 0.82 u |A|_F / sqrt(n); the guaranteed bound u |A|_F is sqrt(n) times larger and is
 * almost never reached. Of a matrix with m rows and k columns |E|_2 = (1/sqrt(m) + 1/sqrt(k))
 * |E|_F.
 */
double mgk_rank_noise_floor(size_t rows, size_t columns, double frobenius, mgk_float_format format);

/* The number of singular values sigma [n], descending, that are at least `tau`. */
size_t mgk_rank_count_from(size_t n, const double *sigma, double tau);

/*
 * Counts at `tau` > 0. A singular value within `solver` of tau leaves the rank without a
 * certificate; one within solver + storage leaves it undecided. The rank of a zero matrix is 0.
 */
mgk_rank_count mgk_rank_count_at(size_t n, const double *sigma, double tau, double solver,
                                 double storage);

/*
 * The error of computed singular values: order * 2^-53 * sigma_1 for the float64 solver (backward
 * stable: Weyl's inequality for a backward error of that size). `order` is that of the matrix which
 * the solver reduces: n, or 2N for [[0, A'], [A, 0]] padded to the N of a batch, whose norm is
 * sigma_1 as well. Add MGK_SOLVER_CONSTANT where small orders occur, whose constants matter.
 */
double mgk_rank_solver_error(double sigma_1, size_t order);

#endif
