/* SPDX-License-Identifier: MIT */
/* The numbers that torch.randn draws on a CPU, for models whose random numbers are a seed alone. */
#ifndef MGK_MODEL_TORCH_NORMAL_H
#define MGK_MODEL_TORCH_NORMAL_H

#include <stddef.h>
#include <stdint.h>

/* The precision in which torch draws; both give other numbers. */
typedef enum mgk_torch_precision { MGK_TORCH_SINGLE, MGK_TORCH_DOUBLE } mgk_torch_precision;

/*
 * values [count]: torch.randn of so many numbers after torch.manual_seed(seed). Those of single
 * precision are as exact as double; torch rounds them, and its logarithms and cosines, to 24 bits.
 */
void mgk_torch_normal(int64_t seed, mgk_torch_precision precision, size_t count, double *values);

#endif
