/* SPDX-License-Identifier: MIT */
/*
 * A library that imitates OpenBLAS's choice of kernels. It has Prescott, Nehalem, Haswell and
 * SkylakeX, and selects FAKE_OWN by default. Kernels listed in FAKE_WRONG compute one entry of one
 * product wrongly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kernels/blas.h"

static const char *own(void)
{
    const char *name = getenv("FAKE_OWN");
    return name ? name : "Prescott";
}

static const char *taken; /* read while loading, as OpenBLAS does */
static char threads[8];

__attribute__((constructor)) static void choose(void)
{
    static const char *const known[] = {"Prescott", "Nehalem", "Haswell", "SkylakeX"};
    const char *wanted = getenv("OPENBLAS_CORETYPE"), *limit = getenv("OPENBLAS_NUM_THREADS");
    taken = own();
    snprintf(threads, sizeof(threads), "%s", limit ? limit : "");
    for (size_t i = 0; wanted && i < sizeof(known) / sizeof(*known); i++)
        if (strcasecmp(wanted, known[i]) == 0)
            taken = known[i];
}

#define EXPORT __attribute__((visibility("default")))

EXPORT char *openblas_get_corename(void);
char *openblas_get_corename(void)
{
    static char name[32];
    snprintf(name, sizeof(name), "%s", taken);
    return name;
}

EXPORT char *openblas_get_config(void);
char *openblas_get_config(void)
{
    static char config[64];
    snprintf(config, sizeof(config), "OpenBLAS 9.8.7 FAKE threads=%s", threads);
    return config;
}

/* Number of times that the active kernels are named in FAKE_WRONG as `precision` + name:
 * "dHaswell". */
static int is_wrong(char precision)
{
    char name[40];
    const char *wrong = getenv("FAKE_WRONG");
    snprintf(name, sizeof(name), "%c%s", precision, taken);
    return wrong && strstr(wrong, name);
}

#define PRODUCT(name, real, precision)                                                    \
    EXPORT void cblas_##name(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, \
                             blasint m, blasint n, blasint k, real alpha, const real *a,  \
                             blasint lda, const real *b, blasint ldb, real beta, real *c, \
                             blasint ldc)                                                 \
    {                                                                                     \
        (void)layout, (void)ta, (void)tb, (void)beta;                                     \
        for (blasint i = 0; i < m; i++)                                                   \
            for (blasint j = 0; j < n; j++) {                                             \
                real sum = 0;                                                             \
                for (blasint p = 0; p < k; p++)                                           \
                    sum += a[i * lda + p] * b[p * ldb + j];                               \
                c[i * ldc + j] = alpha * sum;                                             \
            }                                                                             \
        if (is_wrong(precision))                                                          \
            c[(m - 1) * ldc + n - 1] += 1;                                                \
    }
PRODUCT(sgemm, float, 's')
PRODUCT(dgemm, double, 'd')

/* The other functions are looked up but never called. */
#define MISSING(symbol)                                  \
    EXPORT void missing_##symbol(void) __asm__(#symbol); \
    void missing_##symbol(void)                          \
    {                                                    \
        abort();                                         \
    }
MISSING(cblas_dsyrk)
MISSING(cblas_dtrmm)
MISSING(cblas_dtrsm)
MISSING(cblas_dgemv)
MISSING(cblas_dsymv)
MISSING(cblas_dtrsv)
MISSING(cblas_dger)
MISSING(cblas_daxpy)
MISSING(cblas_dcopy)
MISSING(cblas_ddot)
MISSING(cblas_dnrm2)
MISSING(cblas_dscal)
MISSING(LAPACKE_dgelqf_work)
MISSING(LAPACKE_dgeqrf_work)
MISSING(LAPACKE_dgeqp3_work)
MISSING(LAPACKE_dorgqr_work)
MISSING(LAPACKE_dstevx_work)
MISSING(LAPACKE_dsyev_work)
MISSING(LAPACKE_dsyevd_work)
MISSING(openblas_set_num_threads)
MISSING(openblas_get_num_threads)
