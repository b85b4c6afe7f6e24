/*
 * OpenBLAS with the best kernel set for the processor. OpenBLAS chooses its kernels while it
 * is loaded, from a list of processors that ends with its release: on newer ones it takes kernels
 * of fifteen years ago, a quarter as fast. So the toolkit is not linked with it. It is loaded when
 * a device or workspace is first opened, and once more with better kernels where its own choice
 * uses less than the processor has.
 */
#ifndef MGK_KERNELS_BLAS_H
#define MGK_KERNELS_BLAS_H

#include <cblas.h>
#include <lapacke.h>
#include <stdbool.h>

#include "base/status.h"
#include "kernels/blas_library.h"

/* The functions in use: prefix of the library, name. */
#define MGK_BLAS_FUNCTIONS(X)      \
    X(cblas_, sgemm);              \
    X(cblas_, dgemm);              \
    X(cblas_, dsyrk);              \
    X(cblas_, dtrmm);              \
    X(cblas_, dtrsm);              \
    X(cblas_, dgemv);              \
    X(cblas_, dsymv);              \
    X(cblas_, dtrsv);              \
    X(cblas_, dger);               \
    X(cblas_, daxpy);              \
    X(cblas_, dcopy);              \
    X(cblas_, ddot);               \
    X(cblas_, dnrm2);              \
    X(cblas_, dscal);              \
    X(LAPACKE_, dgelqf_work);      \
    X(LAPACKE_, dgeqrf_work);      \
    X(LAPACKE_, dorgqr_work);      \
    X(LAPACKE_, dstevx_work);      \
    X(LAPACKE_, dsyev_work);       \
    X(LAPACKE_, dsyevd_work);      \
    X(openblas_, set_num_threads); \
    X(openblas_, get_num_threads);

/* Each as its library declares it: mgk_blas.dgemm is cblas_dgemm. */
typedef struct mgk_blas_table {
#define MGK_BLAS_MEMBER(prefix, name) __typeof__(&prefix##name) name
    MGK_BLAS_FUNCTIONS(MGK_BLAS_MEMBER)
#undef MGK_BLAS_MEMBER
} mgk_blas_table;

/* NULL functions until mgk_blas_open has succeeded; constant from then on. */
extern mgk_blas_table mgk_blas;

typedef enum mgk_blas_chooser {
    MGK_BLAS_BY_OPENBLAS, /* what OpenBLAS took by itself */
    MGK_BLAS_BY_TOOLKIT,  /* OpenBLAS took less than the processor has, or what computes wrongly */
    MGK_BLAS_BY_USER      /* OPENBLAS_CORETYPE in the environment */
} mgk_blas_chooser;

/* The libraries to load, as dlopen takes them: names to search for, or paths. */
typedef struct mgk_blas_names {
    const char *openblas, *lapacke;
} mgk_blas_names;

/* What was loaded. */
typedef struct mgk_blas_choice {
    char version[32]; /* "OpenBLAS 0.3.21" */
    char kernels[32]; /* "SkylakeX" */
    char path[4096];  /* of the file; "" where it is not known */
    mgk_blas_chooser chooser;
    bool below; /* the kernels use less than the processor has */
} mgk_blas_choice;

/*
 * Loads OpenBLAS unless it is there; thread-safe. The user's OPENBLAS_CORETYPE is taken where
 * OpenBLAS knows it.
 * A product of either precision must come out right, or the next kernel set is tried.
 * STATUS_DEVICE: a library is missing, or no kernel set multiplies correctly here; STATUS_MEMORY. A
 * failure is told again by every later call, but for the latter, after which the next call tries
 * again.
 */
mgk_status mgk_blas_open(void);

/* What mgk_blas_open has loaded. */
const mgk_blas_choice *mgk_blas_chosen(void);

/*
 * Has OpenBLAS reserve what `threads` threads need at once to multiply, 128 MB of addresses each,
 * which are memory only as far as they are used; it would wait for ever for what it cannot have.
 * *out is how many of them can, at least 1. STATUS_MEMORY: none. After mgk_blas_open.
 */
mgk_status mgk_blas_reserve(int threads, int *out);

/*
 * What mgk_blas_open does, for a processor of that level (kernels/processor.h). `library` and
 * `table` are what was chosen; the library is the caller's. Not for several threads at once.
 */
mgk_status mgk_blas_choose(const mgk_blas_names *names, int processor_level,
                           mgk_blas_library *library, mgk_blas_table *table, mgk_blas_choice *out);

#endif
