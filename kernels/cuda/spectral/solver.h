/* SPDX-License-Identifier: MIT */
/* cuSOLVER: its handle, and its errors. */
#ifndef MGK_KERNELS_CUDA_SOLVER_H
#define MGK_KERNELS_CUDA_SOLVER_H

#include "kernels/cuda/cuda.h"

/* STATUS_OK, or a failure with the names of the call and the status. */
mgk_status mgk_cuda_check_solver(cusolverStatus_t error, const char *what);

/*
 * Creates the device's handle, on its stream, if there is none. It keeps cuSOLVER's defaults:
 * deterministic results, no emulated arithmetic.
 */
mgk_status mgk_cuda_open_solver(mgk_device *device);

#endif
