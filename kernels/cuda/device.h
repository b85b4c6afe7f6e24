/* SPDX-License-Identifier: MIT */
/* Opens the CUDA backend: device.cu in its library, load.c in programs, absent.c without CUDA. */
#ifndef MGK_KERNELS_CUDA_DEVICE_H
#define MGK_KERNELS_CUDA_DEVICE_H

#include "kernels/backend.h"

/* See mgk_device_open. index: from 0; −1 − turn takes the devices in turn, the first one again
 * after the last. STATUS_DEVICE: the message says why there is none. */
mgk_status mgk_cuda_open(int index, mgk_precision precision, int threads, mgk_device **out);

#endif
