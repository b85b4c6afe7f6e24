/* OpenBLAS and LAPACKE as files: loading them by hand, with a kernel set of choice. */
#ifndef MGK_KERNELS_BLAS_LIBRARY_H
#define MGK_KERNELS_BLAS_LIBRARY_H

#include <stdbool.h>

#include "base/status.h"

/* The libraries to load, as dlopen takes them: names to search for, or paths. */
typedef struct mgk_blas_names {
    const char *openblas, *lapacke;
} mgk_blas_names;

/* Zeroed is closed. */
typedef struct mgk_blas_library {
    void *openblas, *lapacke; /* handles of dlopen */
    char path[4096];          /* of OpenBLAS's file; "" where it is not known */
} mgk_blas_library;

/*
 * Loads both libraries. OpenBLAS reads its environment while it is loaded; it sees
 * OPENBLAS_CORETYPE=`kernels`, or the user's where that is NULL, and OPENBLAS_NUM_THREADS=1: its
 * threads wait for ever for memory that they cannot have, and the toolkit brings its own. Other
 * threads may read the environment meanwhile, but not change it.
 *
 * Where the process has this OpenBLAS already, its kernels and its threads are its owner's: a
 * private copy of the file is loaded.
 *
 * STATUS_DEVICE: a library is missing. Closed with mgk_blas_library_close.
 */
mgk_status mgk_blas_library_open(const mgk_blas_names *names, const char *kernels,
                                 mgk_blas_library *out);
void mgk_blas_library_close(mgk_blas_library *library);

/* The address of a function of either library, stored at `function`; STATUS_DEVICE: there is none.
 */
mgk_status mgk_blas_library_find(const mgk_blas_library *library, const char *name, void *function);

#endif
