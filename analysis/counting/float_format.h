/* SPDX-License-Identifier: MIT */
/*
 * The storage format of a matrix: the coarsest floating-point format that holds all its entries.
 * Numbers that were once f16 keep 42 zero bits at the end of their float64 significand in all later
 * formats. Their rounding raises every small singular value, so it limits the meaning of a rank.
 */
#ifndef MGK_ANALYSIS_FLOAT_FORMAT_H
#define MGK_ANALYSIS_FLOAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* From fine to coarse: the larger of two is the coarser. */
typedef enum mgk_float_format {
    MGK_FLOAT_F64,
    MGK_FLOAT_F32,
    MGK_FLOAT_F16,
    MGK_FLOAT_BF16
} mgk_float_format;

enum { MGK_FLOAT_COUNT = MGK_FLOAT_BF16 + 1 };

/* "f64", "f32", "f16", "bf16". */
extern const char *const mgk_float_format_names[MGK_FLOAT_COUNT];

/* The unit roundoff u of the format: 2^-53, 2^-24, 2^-11 or 2^-8. */
double mgk_float_format_roundoff(mgk_float_format format);

/*
 * The coarsest format that holds `count` finite entries. Zeros and powers of two are in every
 * format and prove nothing; with no other entries the answer is f64.
 */
mgk_float_format mgk_float_format_detect(size_t count, const double *entries);

/*
 * The two steps of mgk_float_format_detect: the bits that are set in any entry, and their format.
 */
uint64_t mgk_float_format_bits(size_t count, const double *entries);
mgk_float_format mgk_float_format_of_bits(uint64_t bits);

#endif
