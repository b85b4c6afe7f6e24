/* SPDX-License-Identifier: MIT */
/* The CUDA backend of a build without CUDA. */
#include "kernels/cuda/device.h"

mgk_status mgk_cuda_open(int index, mgk_precision precision, int threads, mgk_device **out)
{
    (void)index;
    (void)precision;
    (void)threads;
    *out = NULL;
    return mgk_fail(STATUS_DEVICE, "this program was built without CUDA");
}
