/* SPDX-License-Identifier: MIT */
/* Opens the CUDA backend: device.cu in its library, load.c in programs, absent.c without CUDA. */
#ifndef MGK_KERNELS_CUDA_DEVICE_H
#define MGK_KERNELS_CUDA_DEVICE_H

#include "kernels/backend.h"

/* See mgk_device_open. STATUS_DEVICE: the message says why there is none. */
mgk_status mgk_cuda_open(int index, mgk_precision precision, int threads, mgk_device **out);

#endif
