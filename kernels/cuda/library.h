/*
 * How a program enters libmgk_cuda, the CUDA backend as a library of its own: through one function,
 * which takes the program's mgk_fail before the arguments of mgk_cuda_open. So failures in the
 * library leave their messages where the program looks for them.
 */
#ifndef MGK_KERNELS_CUDA_LIBRARY_H
#define MGK_KERNELS_CUDA_LIBRARY_H

#include "kernels/backend.h"

typedef mgk_status mgk_fail_function(mgk_status status, const char *format, ...);

typedef mgk_status mgk_cuda_entry(mgk_fail_function *fail, int index, mgk_precision precision,
                                  int threads, mgk_device **out);

/* Both sides are of one version, which the name of the library contains. */
mgk_cuda_entry mgk_cuda_library_open;

#endif
