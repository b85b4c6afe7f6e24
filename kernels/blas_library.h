/* SPDX-License-Identifier: MIT */
/* Loads OpenBLAS and LAPACKE with dlopen, with a chosen kernel set. */
#ifndef MGK_KERNELS_BLAS_LIBRARY_H
#define MGK_KERNELS_BLAS_LIBRARY_H

#include "base/status.h"

/* Zeroed is closed. */
typedef struct mgk_blas_library {
    void *openblas, *lapacke; /* handles of dlopen; NULL: not loaded */
    char path[4096];          /* of OpenBLAS's file; "" if unknown */
} mgk_blas_library;

/*
 * Loads OpenBLAS, a name to search for or a path. OpenBLAS reads its environment while it is
 * loaded. Meanwhile OPENBLAS_CORETYPE is `kernels` (NULL: unset), and OPENBLAS_NUM_THREADS is 1,
 * because its threads wait for ever for memory that they cannot have, and the toolkit has its own
 * threads. No other thread may read the environment during the call.
 *
 * If the process already has this OpenBLAS, its kernels and threads belong to the code that loaded
 * it: a private copy of the file is loaded.
 *
 * STATUS_DEVICE: there is no such library. Close with mgk_blas_library_close.
 */
mgk_status mgk_blas_library_open(const char *openblas, const char *kernels, mgk_blas_library *out);
void mgk_blas_library_close(mgk_blas_library *library);

/*
 * Also loads LAPACKE, in the same way. It calls the process's own OpenBLAS, even if a private copy
 * is loaded. STATUS_DEVICE: there is no such library.
 */
mgk_status mgk_blas_library_add_lapacke(const char *lapacke, const char *kernels,
                                        mgk_blas_library *library);

/*
 * Stores the address of a function of either library at `function`. STATUS_DEVICE: no such
 * function.
 */
mgk_status mgk_blas_library_find(const mgk_blas_library *library, const char *name, void *function);

#endif
