/* The operations of backend.h on a CUDA device; real is float or double. */
#ifndef MGK_KERNELS_CUDA_OPERATIONS_H
#define MGK_KERNELS_CUDA_OPERATIONS_H

#include "kernels/cuda/cuda.h"

/* Both precisions of an operation, at the end of the file that defines it. */
#define MGK_CUDA_OPERATION(name)                \
    template decltype(name<float>) name<float>; \
    template decltype(name<double>) name<double>

mgk_status mgk_cuda_allocate(mgk_device *, size_t bytes, void *out);
void mgk_cuda_release(mgk_device *, void *array);
mgk_status mgk_cuda_upload(mgk_device *, void *array, const void *host, size_t bytes);
mgk_status mgk_cuda_download(mgk_device *, void *host, const void *array, size_t bytes);
mgk_status mgk_cuda_zero(mgk_device *, void *array, size_t bytes);
mgk_status mgk_cuda_copy(mgk_device *, void *destination, const void *source, size_t bytes);
mgk_status mgk_cuda_synchronize(mgk_device *);
void mgk_cuda_close(mgk_device *);
mgk_status mgk_cuda_memory(mgk_device *, size_t *left, size_t *total);
mgk_status mgk_cuda_mirror_open(mgk_device *, size_t bytes, mgk_mirror *out);
mgk_status mgk_cuda_mirror_send(mgk_device *, const mgk_mirror *);
mgk_status mgk_cuda_mirror_wait(mgk_device *, const mgk_mirror *);
void mgk_cuda_mirror_close(mgk_device *, mgk_mirror *);
mgk_status mgk_cuda_allow_tf32(mgk_device *);

/* Tells cuBLAS how exact products must be; device->tf32 decides. */
mgk_status mgk_cuda_set_math(mgk_device *);
template <typename real>
mgk_status mgk_cuda_multiply(mgk_device *, bool transpose_a, bool transpose_b, size_t m, size_t n,
                             size_t k, double alpha, const void *a, size_t lda, const void *b,
                             size_t ldb, double beta, void *c, size_t ldc);
template <typename real>
mgk_status mgk_cuda_bias_activation(mgk_device *, mgk_activation, size_t rows, size_t cols,
                                    const void *bias, void *x, void *y);
template <typename real>
mgk_status mgk_cuda_activation_backward(mgk_device *, mgk_activation, size_t count, const void *x,
                                        const void *dy, void *dx);
template <typename real>
mgk_status mgk_cuda_column_sums(mgk_device *, size_t rows, size_t cols, const void *x, void *sums);
template <typename real>
mgk_status mgk_cuda_dropout_add(mgk_device *, size_t count, double rate, const mgk_draw *draw,
                                uint64_t site, const void *x, const void *residual, void *y);
template <typename real>
mgk_status mgk_cuda_layer_norm(mgk_device *, size_t rows, size_t cols, double epsilon,
                               const void *x, const void *gamma, const void *beta, void *y,
                               void *mean, void *deviation);
template <typename real>
mgk_status mgk_cuda_layer_norm_backward(mgk_device *, size_t rows, size_t cols, const void *x,
                                        const void *gamma, const void *mean, const void *deviation,
                                        const void *dy, const void *residual, void *dx,
                                        void *dgamma, void *dbeta);
template <typename real>
mgk_status mgk_cuda_rms_norm(mgk_device *, size_t rows, size_t cols, double epsilon, const void *x,
                             const void *gamma, void *y);
template <typename real>
mgk_status mgk_cuda_gate(mgk_device *, mgk_activation, size_t rows, size_t cols, const void *x,
                         void *y);
template <typename real>
mgk_status mgk_cuda_rotary_embedding(mgk_device *, size_t samples, size_t tokens, size_t heads,
                                     size_t key_heads, size_t dim, const void *angles,
                                     const void *x, size_t x_stride, void *y, size_t y_stride);
template <typename real>
mgk_status mgk_cuda_embed(mgk_device *, size_t samples, size_t tokens, size_t cols,
                          const int32_t *ids, const int32_t *lengths, double scale,
                          const void *table, const void *position, void *y);
template <typename real>
mgk_status mgk_cuda_embed_backward(mgk_device *, size_t samples, size_t tokens, size_t cols,
                                   const int32_t *ids, double scale, const void *dy, void *dtable,
                                   void *dposition);
template <typename real>
mgk_status mgk_cuda_pool(mgk_device *, size_t samples, size_t tokens, size_t cols,
                         const int32_t *lengths, size_t divisor, const void *x, void *y);
template <typename real>
mgk_status mgk_cuda_pool_backward(mgk_device *, size_t samples, size_t tokens, size_t cols,
                                  const int32_t *lengths, const void *dy, void *dx);
template <typename real>
mgk_status mgk_cuda_pair_features(mgk_device *, size_t pairs, size_t cols, const void *x, void *y);
template <typename real>
mgk_status mgk_cuda_pair_features_backward(mgk_device *, size_t pairs, size_t cols, const void *x,
                                           const void *dy, void *dx);
template <typename real>
mgk_status mgk_cuda_cross_entropy(mgk_device *, size_t rows, size_t classes, const void *logits,
                                  const int32_t *targets, double scale, void *dlogits,
                                  mgk_loss *loss);
template <typename real>
mgk_status mgk_cuda_shift_keys(mgk_device *, size_t rows, size_t mixtures, size_t width,
                               const void *base, size_t base_stride, const void *shift, void *keys);
template <typename real>
mgk_status mgk_cuda_shift_keys_backward(mgk_device *, size_t rows, size_t mixtures, size_t width,
                                        const void *dkeys, void *dbase, size_t base_stride,
                                        void *dshift);
template <typename real>
mgk_status mgk_cuda_mixture_attention(mgk_device *, const mgk_attention_view *, const mgk_mixture *,
                                      void *output, size_t output_stride, void *statistic);
template <typename real>
mgk_status
mgk_cuda_mixture_attention_backward(mgk_device *, const mgk_attention_view *, const mgk_mixture *,
                                    const void *output, const void *statistic, const void *doutput,
                                    size_t output_stride, const mgk_attention_gradient *);
template <typename real>
mgk_status mgk_cuda_linear_attention(mgk_device *, const mgk_attention_view *, const mgk_linear *,
                                     void *output, size_t output_stride);
template <typename real>
mgk_status mgk_cuda_linear_attention_backward(mgk_device *, const mgk_attention_view *,
                                              const mgk_linear *, const void *output,
                                              const void *doutput, size_t output_stride,
                                              const mgk_attention_gradient *);
template <typename real>
mgk_status mgk_cuda_mixture_matrix(mgk_device *, const mgk_attention_view *, const mgk_mixture *,
                                   mgk_matrix_content, int sample, const int32_t *heads, int count,
                                   void *matrix);
template <typename real>
mgk_status mgk_cuda_linear_matrix(mgk_device *, const mgk_attention_view *, const mgk_linear *,
                                  mgk_matrix_content, int sample, const int32_t *heads, int count,
                                  void *matrix);
template <typename real>
mgk_status mgk_cuda_linear_factors(mgk_device *, const mgk_attention_view *, const mgk_linear *,
                                   int sample, const int32_t *heads, int count, void *left,
                                   void *right);
template <typename real>
mgk_status mgk_cuda_responsibilities(mgk_device *, const mgk_attention_view *, const mgk_mixture *,
                                     void *prior);
template <typename real>
mgk_status mgk_cuda_linear_responsibilities(mgk_device *, const mgk_attention_view *,
                                            const mgk_linear *, void *prior);
template <typename real>
mgk_status mgk_cuda_take_block(mgk_device *, size_t n, size_t stride, const void *matrix,
                               double *block);
mgk_status mgk_cuda_measure_entries(mgk_device *, size_t count, size_t n, const size_t *orders,
                                    const double *matrices, mgk_entries *out);
mgk_status mgk_cuda_singular_values(mgk_device *, size_t count, size_t n, const size_t *orders,
                                    double *matrices, double *sigma);
mgk_status mgk_cuda_bisected_values(mgk_device *, size_t count, size_t n, const size_t *orders,
                                    double *matrices, double *sigma);
mgk_status mgk_cuda_reduce_to_bands(mgk_device *, size_t count, size_t n, const size_t *orders,
                                    const double *matrices, double *bands);
mgk_status mgk_cuda_prove_full_rank(mgk_device *, size_t count, size_t n, const size_t *orders,
                                    const double *matrices, const double *levels, int *proven);
mgk_status mgk_cuda_bound_square(mgk_device *, size_t n, size_t stride, const double *a,
                                 double *bound);
mgk_status mgk_cuda_shifted_inertia(mgk_device *, size_t n, const double *product, const double *b,
                                    double x, double scale, double *work, size_t *positive,
                                    double *growth);
mgk_status mgk_cuda_solve_factored(mgk_device *, size_t n, const double *work, size_t count,
                                   double *rows);
template <typename real>
mgk_status mgk_cuda_sum_squares(mgk_device *, size_t count, const void *x, double *out);
template <typename real>
mgk_status mgk_cuda_adamw(mgk_device *, const mgk_adamw *, const mgk_adamw_step *, size_t count,
                          const void *gradient, void *weight, void *m, void *v);

mgk_status mgk_cuda_record(mgk_device *, mgk_status (*work)(void *), void *context,
                           mgk_recording **out);
mgk_status mgk_cuda_replay(mgk_device *, mgk_recording *);
void mgk_cuda_release_recording(mgk_device *, mgk_recording *);

#endif
