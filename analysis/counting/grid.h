/*
 * The storage grid of a matrix: the coarsest floating-point format that holds all
 * its entries. Numbers that once were f16 keep 42 zero bits at the end of their
 * float64 significand, wherever they travelled since; the rounding they suffered
 * raises every small singular value, so it bounds what a rank can mean.
 */
#ifndef MGK_ANALYSIS_GRID_H
#define MGK_ANALYSIS_GRID_H

#include <stddef.h>
#include <stdint.h>

/* From fine to coarse, so that the larger of two is the coarser. */
typedef enum mgk_grid { MGK_GRID_F64, MGK_GRID_F32, MGK_GRID_F16, MGK_GRID_BF16 } mgk_grid;

enum { MGK_GRID_COUNT = MGK_GRID_BF16 + 1 };

/* "f64", "f32", "f16" or "bf16". */
const char *mgk_grid_name(mgk_grid grid);

/* The unit roundoff u of the format: 2^-53, 2^-24, 2^-11 or 2^-8. */
double mgk_grid_roundoff(mgk_grid grid);

/*
 * The coarsest grid that `count` finite entries lie on. Zeros and powers of two lie
 * on every grid and prove nothing; where there is nothing else the answer is f64.
 */
mgk_grid mgk_grid_detect(size_t count, const double *entries);

/* The two halves of that: all bits that are set in any of the entries, and the grid they tell. */
uint64_t mgk_grid_bits(size_t count, const double *entries);
mgk_grid mgk_grid_of_bits(uint64_t bits);

#endif
