/* SPDX-License-Identifier: MIT */
/*
 * Time of a spectrum on one thread, compared with LAPACK: bench_spectrum [N ...]. Runs alternate;
 * times are the minimum of several, by the thread's own clock, so that other programs do not count.
 */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels.h"
#include "kernels/spectral/spectrum.h"

/* The buffers for one size. */
typedef struct bench {
    size_t n;
    double *source, *a, *b, *sigma, *expected;
    mgk_spectrum *spectrum;
} bench;

typedef enum way { GESDD, GEBRD_BDSQR, OURS, GEMM, WAYS } way;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* dgebrd, then dbdsqr; b is their workspace. */
static mgk_status gebrd_bdsqr(const bench *x)
{
    int n = (int)x->n;
    double *e = x->b, *left = e + n, *right = left + n, *work = right + n;
    int info = LAPACKE_dgebrd_work(LAPACK_COL_MAJOR, n, n, x->a, n, x->sigma, e, left, right, work,
                                   64 * n);
    if (info == 0)
        info = LAPACKE_dbdsqr_work(LAPACK_COL_MAJOR, 'U', n, 0, 0, 0, x->sigma, e, NULL, 1, NULL, 1,
                                   NULL, 1, work);
    return info == 0 ? STATUS_OK : mgk_fail(STATUS_NUMERIC, "LAPACK info %d", info);
}

static mgk_status compute(const bench *x, way how)
{
    int n = (int)x->n;
    switch (how) {
    case GESDD:
        if (LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', n, n, x->a, n, x->expected, NULL, 1, NULL, 1) !=
            0)
            return mgk_fail(STATUS_NUMERIC, "dgesdd fails");
        return STATUS_OK;
    case GEBRD_BDSQR:
        return gebrd_bdsqr(x);
    case OURS:
        return mgk_spectrum_compute(x->spectrum, x->n, x->a, x->sigma);
    default:
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, x->source, n, x->source,
                    n, 0, x->a, n);
        return STATUS_OK;
    }
}

/* The distance between the spectra in `sigma` and `expected`, over n u sigma_1. */
static double distance(const bench *x)
{
    double largest = 0;
    for (size_t i = 0; i < x->n; i++)
        largest = fmax(largest, fabs(x->sigma[i] - x->expected[i]));
    return largest / ((double)x->n * 0x1p-53 * x->expected[0]);
}

static mgk_status measure(const bench *x, double *least)
{
    const size_t entries = x->n * x->n, turns = x->n <= 300 ? 40 : x->n <= 1100 ? 6 : 2;
    for (way how = 0; how < WAYS; how++)
        least[how] = INFINITY;
    for (size_t turn = 0; turn < turns; turn++)
        for (way how = 0; how < WAYS; how++) {
            /* OURS is the last way that leaves a spectrum, so `sigma` holds it for comparison. */
            memcpy(x->a, x->source, entries * sizeof(double));
            double start = seconds();
            TRY(compute(x, how));
            least[how] = fmin(least[how], seconds() - start);
        }
    return STATUS_OK;
}

/* Softmax of normal logits, similar to attention. */
static void fill(const bench *x)
{
    for (size_t i = 0; i < x->n; i++) {
        double sum = 0, *row = x->source + i * x->n;
        for (size_t j = 0; j < x->n; j++)
            sum += row[j] = exp(2 * mgk_random_normal(x->n, 0, i * x->n + j));
        for (size_t j = 0; j < x->n; j++)
            row[j] /= sum;
    }
}

static mgk_status run(size_t n)
{
    mgk_status status = STATUS_OK;
    bench x = {.n = n};
    double least[WAYS];
    CHECK(mgk_alloc(n * n, sizeof(double), &x.source));
    CHECK(mgk_alloc(n * n, sizeof(double), &x.a));
    CHECK(mgk_alloc(n, 68 * sizeof(double), &x.b));
    CHECK(mgk_alloc(n, sizeof(double), &x.sigma));
    CHECK(mgk_alloc(n, sizeof(double), &x.expected));
    CHECK(mgk_spectrum_open(n, &x.spectrum));
    fill(&x);
    CHECK(measure(&x, least));
    printf("%6zu %10.3f %12.3f %9.3f %7.2f %9.3f %10.1f\n", n, 1e3 * least[GESDD],
           1e3 * least[GEBRD_BDSQR], 1e3 * least[OURS], least[GESDD] / least[OURS], distance(&x),
           2e-9 * pow((double)n, 3) / least[GEMM]);
    fflush(stdout);
out:
    mgk_spectrum_close(x.spectrum);
    mgk_free(x.source);
    mgk_free(x.a);
    mgk_free(x.b);
    mgk_free(x.sigma);
    mgk_free(x.expected);
    return status;
}

int main(int argc, char **argv)
{
    static const size_t usual[] = {64, 128, 256, 512, 1024, 2048};
    const size_t count = argc > 1 ? (size_t)(argc - 1) : sizeof usual / sizeof *usual;
    bench_require_kernels("bench_spectrum");
    printf("OpenBLAS kernels: %s, OPENBLAS_CORETYPE %s; one thread, times in ms\n",
           openblas_get_corename(), getenv("OPENBLAS_CORETYPE") ? "set" : "not set");
    printf("%6s %10s %12s %9s %7s %9s %10s\n", "n", "dgesdd", "dgebrd+bdsqr", "ours", "ratio",
           "diff/nus1", "dgemm GF/s");
    for (size_t i = 0; i < count; i++)
        if (run(argc > 1 ? strtoul(argv[i + 1], NULL, 10) : usual[i]) != STATUS_OK) {
            fprintf(stderr, "bench_spectrum: %s\n", mgk_fail_message());
            return EXIT_FAILURE;
        }
    return EXIT_SUCCESS;
}
