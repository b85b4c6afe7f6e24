/* SPDX-License-Identifier: MIT */
/*
 * The entry of libmgk_cuda, the CUDA backend as a separate library: one function, which takes the
 * program's mgk_fail before the arguments of mgk_cuda_open. So the program finds the messages of
 * failures in the library.
 */
#ifndef MGK_KERNELS_CUDA_LIBRARY_H
#define MGK_KERNELS_CUDA_LIBRARY_H

#include "kernels/backend.h"

typedef mgk_status mgk_fail_function(mgk_status status, const char *format, ...);

typedef mgk_status mgk_cuda_entry(mgk_fail_function *fail, int index, mgk_precision precision,
                                  int threads, mgk_device **out);

/* Both sides have the same version, which is part of the library's name. */
mgk_cuda_entry mgk_cuda_library_open;

#endif
