/* The rows of the registry, and what related kinds share. */
#ifndef MGK_KERNELS_ATTENTION_KINDS_H
#define MGK_KERNELS_ATTENTION_KINDS_H

#include "kernels/attention.h"

extern const mgk_attention_kind mgk_attention_softmax;
extern const mgk_attention_kind mgk_attention_mgk;
extern const mgk_attention_kind mgk_attention_smgk;
extern const mgk_attention_kind mgk_attention_linear;
extern const mgk_attention_kind mgk_attention_mlk;
extern const mgk_attention_kind mgk_attention_smlk;

/* mgk and smgk differ in how keys are made, not in their scores. */
mgk_status mgk_gaussian_forward(mgk_device *, const mgk_attention_view *,
                                const mgk_attention_layer *, void *output, size_t output_stride,
                                void *statistic);
mgk_status mgk_gaussian_backward(mgk_device *, const mgk_attention_view *,
                                 const mgk_attention_layer *, const void *output,
                                 const void *doutput, size_t output_stride, const void *statistic,
                                 const mgk_attention_gradient *);
mgk_status mgk_gaussian_matrix(mgk_device *, const mgk_attention_view *,
                               const mgk_attention_layer *, mgk_matrix_content, int sample,
                               const int32_t *heads, int count, void *matrix);
mgk_status mgk_gaussian_matrix_output(mgk_device *, const mgk_attention_view *,
                                      const mgk_attention_layer *, int sample, const int32_t *heads,
                                      int count, void *matrix, void *output, size_t output_stride);
mgk_status mgk_gaussian_update_prior(mgk_device *, const mgk_attention_view *,
                                     const mgk_attention_layer *, void *prior);
double mgk_gaussian_flops(const mgk_attention_size *);

/* The same for linear, mlk and smlk. */
mgk_status mgk_feature_forward(mgk_device *, const mgk_attention_view *,
                               const mgk_attention_layer *, void *output, size_t output_stride,
                               void *statistic);
mgk_status mgk_feature_backward(mgk_device *, const mgk_attention_view *,
                                const mgk_attention_layer *, const void *output,
                                const void *doutput, size_t output_stride, const void *statistic,
                                const mgk_attention_gradient *);
mgk_status mgk_feature_matrix(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                              mgk_matrix_content, int sample, const int32_t *heads, int count,
                              void *matrix);
mgk_status mgk_feature_factors(mgk_device *, const mgk_attention_view *,
                               const mgk_attention_layer *, int sample, const int32_t *heads,
                               int count, void *left, void *right);
mgk_status mgk_feature_update_prior(mgk_device *, const mgk_attention_view *,
                                    const mgk_attention_layer *, void *prior);
double mgk_feature_flops(const mgk_attention_size *);

#endif
