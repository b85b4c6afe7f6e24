/* OpenBLAS and LAPACKE as files: loading them by hand, with a kernel set of choice. */
#ifndef MGK_KERNELS_BLAS_LIBRARY_H
#define MGK_KERNELS_BLAS_LIBRARY_H

#include "base/status.h"

/* Zeroed is closed. */
typedef struct mgk_blas_library {
    void *openblas, *lapacke; /* handles of dlopen; NULL: not loaded */
    char path[4096];          /* of OpenBLAS's file; "" where it is not known */
} mgk_blas_library;

/*
 * Loads OpenBLAS, a name to search for or a path. It reads its environment while it is loaded:
 * meanwhile OPENBLAS_CORETYPE is `kernels`, or not set where that is NULL, and OPENBLAS_NUM_THREADS
 * is 1, for its threads wait for ever for memory that they cannot have, and the toolkit brings its
 * own. No other thread may read the environment then.
 *
 * Where the process has this OpenBLAS already, its kernels and its threads are its owner's: a
 * private copy of the file is loaded.
 *
 * STATUS_DEVICE: there is no such library. Closed with mgk_blas_library_close.
 */
mgk_status mgk_blas_library_open(const char *openblas, const char *kernels, mgk_blas_library *out);
void mgk_blas_library_close(mgk_blas_library *library);

/*
 * Loads LAPACKE besides, in the same way. It calls the OpenBLAS that the process has: beside a
 * private copy that is the owner's. STATUS_DEVICE: there is no such library.
 */
mgk_status mgk_blas_library_add_lapacke(const char *lapacke, const char *kernels,
                                        mgk_blas_library *library);

/* The address of a function of either, stored at `function`; STATUS_DEVICE: there is none. */
mgk_status mgk_blas_library_find(const mgk_blas_library *library, const char *name, void *function);

#endif
