/* The CPU's operations; what each does is said in kernels/backend.h. */
#ifndef MGK_KERNELS_CPU_OPERATIONS_H
#define MGK_KERNELS_CPU_OPERATIONS_H

#include "kernels/cpu/cpu.h"

mgk_status MGK_CPU(multiply)(mgk_device *, bool transpose_a, bool transpose_b, size_t m, size_t n,
                             size_t k, double alpha, const void *a, size_t lda, const void *b,
                             size_t ldb, double beta, void *c, size_t ldc);
mgk_status MGK_CPU(bias_activation)(mgk_device *, mgk_activation, size_t rows, size_t cols,
                                    const void *bias, void *x, void *y);
mgk_status MGK_CPU(activation_backward)(mgk_device *, mgk_activation, size_t count, const void *x,
                                        const void *dy, void *dx);
mgk_status MGK_CPU(column_sums)(mgk_device *, size_t rows, size_t cols, const void *x, void *sums);
mgk_status MGK_CPU(dropout_add)(mgk_device *, size_t count, double rate, const mgk_draw *draw,
                                uint64_t site, const void *x, const void *residual, void *y);
mgk_status MGK_CPU(layer_norm)(mgk_device *, size_t rows, size_t cols, double epsilon,
                               const void *x, const void *gamma, const void *beta, void *y,
                               void *mean, void *deviation);
mgk_status MGK_CPU(layer_norm_backward)(mgk_device *, size_t rows, size_t cols, const void *x,
                                        const void *gamma, const void *mean, const void *deviation,
                                        const void *dy, const void *residual, void *dx,
                                        void *dgamma, void *dbeta);
mgk_status MGK_CPU(rms_norm)(mgk_device *, size_t rows, size_t cols, double epsilon, const void *x,
                             const void *gamma, void *y);
mgk_status MGK_CPU(gate)(mgk_device *, mgk_activation, size_t rows, size_t cols, const void *x,
                         void *y);
mgk_status MGK_CPU(rotary_embedding)(mgk_device *, size_t samples, size_t tokens, size_t heads,
                                     size_t key_heads, size_t dim, const void *angles,
                                     const void *x, size_t x_stride, void *y, size_t y_stride);
mgk_status MGK_CPU(embed)(mgk_device *, size_t samples, size_t tokens, size_t cols,
                          const int32_t *ids, const int32_t *lengths, double scale,
                          const void *table, const void *position, void *y);
mgk_status MGK_CPU(embed_backward)(mgk_device *, size_t samples, size_t tokens, size_t cols,
                                   const int32_t *ids, double scale, const void *dy, void *dtable,
                                   void *dposition);
mgk_status MGK_CPU(pool)(mgk_device *, size_t samples, size_t tokens, size_t cols,
                         const int32_t *lengths, size_t divisor, const void *x, void *y);
mgk_status MGK_CPU(pool_backward)(mgk_device *, size_t samples, size_t tokens, size_t cols,
                                  const int32_t *lengths, const void *dy, void *dx);
mgk_status MGK_CPU(pair_features)(mgk_device *, size_t pairs, size_t cols, const void *x, void *y);
mgk_status MGK_CPU(pair_features_backward)(mgk_device *, size_t pairs, size_t cols, const void *x,
                                           const void *dy, void *dx);
mgk_status MGK_CPU(cross_entropy)(mgk_device *, size_t rows, size_t classes, const void *logits,
                                  const int32_t *targets, double scale, void *dlogits,
                                  mgk_loss *loss);
mgk_status MGK_CPU(shift_keys)(mgk_device *, size_t rows, size_t mixtures, size_t width,
                               const void *base, size_t base_stride, const void *shift, void *keys);
mgk_status MGK_CPU(shift_keys_backward)(mgk_device *, size_t rows, size_t mixtures, size_t width,
                                        const void *dkeys, void *dbase, size_t base_stride,
                                        void *dshift);
mgk_status MGK_CPU(mixture_attention)(mgk_device *, const mgk_attention_view *, const mgk_mixture *,
                                      void *output, size_t output_stride, void *statistic);
mgk_status MGK_CPU(mixture_attention_backward)(mgk_device *, const mgk_attention_view *,
                                               const mgk_mixture *, const void *output,
                                               const void *statistic, const void *doutput,
                                               size_t output_stride,
                                               const mgk_attention_gradient *);
mgk_status MGK_CPU(linear_attention)(mgk_device *, const mgk_attention_view *, const mgk_linear *,
                                     void *output, size_t output_stride);
mgk_status MGK_CPU(linear_attention_backward)(mgk_device *, const mgk_attention_view *,
                                              const mgk_linear *, const void *output,
                                              const void *doutput, size_t output_stride,
                                              const mgk_attention_gradient *);
mgk_status MGK_CPU(mixture_matrix)(mgk_device *, const mgk_attention_view *, const mgk_mixture *,
                                   mgk_matrix_content, int sample, const int32_t *heads, int count,
                                   void *matrix);
mgk_status MGK_CPU(mixture_matrix_output)(mgk_device *, const mgk_attention_view *,
                                          const mgk_mixture *, int sample, const int32_t *heads,
                                          int count, void *matrix, void *output,
                                          size_t output_stride);
mgk_status MGK_CPU(linear_matrix)(mgk_device *, const mgk_attention_view *, const mgk_linear *,
                                  mgk_matrix_content, int sample, const int32_t *heads, int count,
                                  void *matrix);
mgk_status MGK_CPU(linear_factors)(mgk_device *, const mgk_attention_view *, const mgk_linear *,
                                   int sample, const int32_t *heads, int count, void *left,
                                   void *right);
mgk_status MGK_CPU(responsibilities)(mgk_device *, const mgk_attention_view *, const mgk_mixture *,
                                     void *prior);
mgk_status MGK_CPU(linear_responsibilities)(mgk_device *, const mgk_attention_view *,
                                            const mgk_linear *, void *prior);
mgk_status MGK_CPU(take_block)(mgk_device *, size_t n, size_t stride, const void *matrix,
                               double *block);
mgk_status MGK_CPU(sum_squares)(mgk_device *, size_t count, const void *x, double *out);
mgk_status MGK_CPU(adamw)(mgk_device *, const mgk_adamw *, const mgk_adamw_step *, size_t count,
                          const void *gradient, void *weight, void *m, void *v);

#endif
