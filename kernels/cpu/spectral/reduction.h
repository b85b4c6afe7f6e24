/* The reductions of the variant that a file is compiled for; see kernels/cpu/spectral/reductions.h.
 */
#ifndef MGK_KERNELS_CPU_REDUCTION_H
#define MGK_KERNELS_CPU_REDUCTION_H

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/spectral/reductions.h"

void MGK_CPU(bidiagonalise)(size_t n, size_t pitch, double *a, double *work, double *diagonal,
                            double *superdiagonal);
void MGK_CPU(dense_to_band)(size_t n, size_t width, double *a, size_t pitch, double *band,
                            double *work);
void MGK_CPU(chase_band)(size_t n, size_t width, double *band, double *diagonal,
                         double *superdiagonal);
void MGK_CPU(sturm)(size_t steps, const double *squares, mgk_sturm_points *points);
void MGK_CPU(square)(size_t n, const double *c, size_t stride, double *product,
                     size_t product_stride);
void MGK_CPU(factor)(size_t n, double *k, size_t stride, double *work);
void MGK_CPU(solve)(size_t n, size_t rows, double *below, size_t stride, double *work, double *w,
                    size_t pitch);
double MGK_CPU(growth)(size_t n, const double *k, size_t stride, double *work);
void MGK_CPU(residual)(const mgk_residual *r, double *w, double *work);
void MGK_CPU(multiply_exactly)(const mgk_residual *r, double *w, double *work);

#endif
