/* SPDX-License-Identifier: MIT */
/*
 * Loads OpenBLAS with the best kernels for the processor. OpenBLAS chooses its kernels when it is
 * loaded, from the list of processors known at its release. On newer processors it uses kernels of
 * fifteen years ago, at a quarter of the speed. So the toolkit is not linked with OpenBLAS. It
 * loads OpenBLAS when a device or workspace is first opened, and loads it again with better kernels
 * if OpenBLAS's choice does not use the processor's instruction set.
 */
#ifndef MGK_KERNELS_BLAS_H
#define MGK_KERNELS_BLAS_H

#include <cblas.h>
#include <lapacke.h>
#include <stdbool.h>

#include "base/status.h"
#include "kernels/blas_library.h"

/* The functions in use: the library's prefix, and the name. */
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
    X(LAPACKE_, dgeqp3_work);      \
    X(LAPACKE_, dgeqrf_work);      \
    X(LAPACKE_, dorgqr_work);      \
    X(LAPACKE_, dstevx_work);      \
    X(LAPACKE_, dsyev_work);       \
    X(LAPACKE_, dsyevd_work);      \
    X(openblas_, set_num_threads); \
    X(openblas_, get_num_threads);

/* Types as declared by the libraries: mgk_blas.dgemm is cblas_dgemm. */
typedef struct mgk_blas_table {
#define MGK_BLAS_MEMBER(prefix, name) __typeof__(&prefix##name) name
    MGK_BLAS_FUNCTIONS(MGK_BLAS_MEMBER)
#undef MGK_BLAS_MEMBER
} mgk_blas_table;

/* NULL functions until mgk_blas_open has succeeded; constant from then on. */
extern mgk_blas_table mgk_blas;

typedef enum mgk_blas_chooser {
    MGK_BLAS_BY_OPENBLAS, /* OpenBLAS's own choice */
    MGK_BLAS_BY_TOOLKIT, /* OpenBLAS's choice is below the processor's level, or computes wrongly */
    MGK_BLAS_BY_USER     /* OPENBLAS_CORETYPE in the environment */
} mgk_blas_chooser;

/* The libraries to load, names or paths as dlopen takes them. */
typedef struct mgk_blas_names {
    const char *openblas, *lapacke;
} mgk_blas_names;

/* The loaded libraries. */
typedef struct mgk_blas_choice {
    char version[32]; /* "OpenBLAS 0.3.21" */
    char kernels[32]; /* "SkylakeX" */
    char path[4096];  /* of the file; "" if unknown */
    mgk_blas_chooser chooser;
    bool below; /* the kernels use a lower level than the processor's */
} mgk_blas_choice;

/*
 * Loads OpenBLAS unless it is loaded; thread-safe. Uses the user's OPENBLAS_CORETYPE if OpenBLAS
 * knows it. Checks one product in each precision; if one is wrong, tries the next kernel set.
 * STATUS_DEVICE: a library is missing, or no kernel set multiplies correctly here; later calls
 * repeat this failure. STATUS_MEMORY: the next call tries again.
 */
mgk_status mgk_blas_open(void);

/* The choice of mgk_blas_open. */
const mgk_blas_choice *mgk_blas_chosen(void);

/*
 * Has OpenBLAS reserve the buffers that `threads` threads need to multiply concurrently: 128 MB of
 * address space each, which take memory only when used. Without a reservation OpenBLAS waits for
 * ever for memory that it cannot have. *out: the number of threads with a buffer, at least 1.
 * STATUS_MEMORY: none. Call after mgk_blas_open.
 */
mgk_status mgk_blas_reserve(int threads, int *out);

/*
 * The work of mgk_blas_open, for a processor of this level (kernels/processor.h). `library` and
 * `table` receive the choice; the caller closes the library. Not thread-safe.
 */
mgk_status mgk_blas_choose(const mgk_blas_names *names, int processor_level,
                           mgk_blas_library *library, mgk_blas_table *table, mgk_blas_choice *out);

#endif
