/* SPDX-License-Identifier: MIT */
/* The table of operations, made in table.cu. */
#ifndef MGK_KERNELS_CUDA_TABLE_H
#define MGK_KERNELS_CUDA_TABLE_H

#include "kernels/cuda/cuda.h"

const mgk_operations *mgk_cuda_table(mgk_precision precision);

#endif
