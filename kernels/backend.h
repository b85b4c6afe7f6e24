/* SPDX-License-Identifier: MIT */
/*
 * The interface of a device: a table of operations, the same for every backend. The
 * model's forward and backward passes, the optimizer and the export are written
 * once over this table; nothing outside kernels/ knows which device runs them.
 *
 * Conventions
 *  - "real" is float or double, as the device was opened; `void *` arrays are
 *    arrays of real in device memory, `int32_t *` arrays lie in device memory too.
 *  - Matrices are row-major; strides count elements.
 *  - Letters: B samples in a batch, H heads, N tokens, M mixture components,
 *    D head dimension, C model dimension, V vocabulary. d<x> is the gradient of x.
 *  - "+=" in a description: the result is added to what the array holds.
 *  - Every operation is asynchronous with respect to the host until `synchronize`
 *    or an operation that returns a value to the host; on the CPU all are immediate.
 *  - An operation fails only for lack of memory or when the device fails.
 */
#ifndef MGK_KERNELS_BACKEND_H
#define MGK_KERNELS_BACKEND_H

#include "kernels/attention_operations.h"
#include "kernels/device.h"
#include "kernels/spectral/operations.h"

typedef struct mgk_dense_operations mgk_dense_operations; /* kernels/dense.h */

typedef enum mgk_activation {
    MGK_ACTIVATION_GELU, /* x Φ(x), the exact form */
    MGK_ACTIVATION_RELU,
    MGK_ACTIVATION_GELU_TANH, /* x / (1 + exp(−2 u)), u = √(2/π) (x + 0.044715 x³) */
    MGK_ACTIVATION_SILU,      /* x / (1 + exp(−x)) */
    MGK_ACTIVATION_NONE
} mgk_activation;

typedef struct mgk_adamw {
    double beta1, beta2, epsilon, decay;
    double clip; /* largest norm of the whole gradient, which is scaled down to it; 0: none */
} mgk_adamw;

/* The values that change with every AdamW step t = 1, 2, …; in device memory. */
typedef struct mgk_adamw_step {
    double rate;
    double correction1, correction2; /* 1 − β₁ᵗ and 1 − β₂ᵗ: the moments start at 0 */
    double squares;                  /* Σ g² of the whole gradient */
} mgk_adamw_step;

typedef struct mgk_loss {
    double sum;      /* Σ −ln p(target), in nats */
    int64_t count;   /* rows with a target */
    int64_t correct; /* rows whose largest logit is the target's */
} mgk_loss;

/* Recorded work that can be replayed; each backend has its own type. */
typedef struct mgk_recording mgk_recording;

/*
 * Memory. New memory is zeroed. Sizes are in bytes; `upload` and `download` are complete on return.
 */
typedef mgk_status mgk_allocate_fn(mgk_device *, size_t bytes, void *out);
typedef void mgk_release_fn(mgk_device *, void *array);
typedef mgk_status mgk_upload_fn(mgk_device *, void *device, const void *host, size_t bytes);
typedef mgk_status mgk_download_fn(mgk_device *, void *host, const void *device, size_t bytes);
typedef mgk_status mgk_zero_fn(mgk_device *, void *array, size_t bytes);
typedef mgk_status mgk_copy_fn(mgk_device *, void *destination, const void *source, size_t bytes);
typedef mgk_status mgk_synchronize_fn(mgk_device *);
typedef void mgk_close_fn(mgk_device *);
/*
 * Opens the same processor again in the same precision. Either device may use arrays of the other
 * that are complete: their work runs concurrently, and a thread may use one while another thread
 * uses the other. Close with mgk_device_close. A device without shifted_inertia may lack this.
 */
typedef mgk_status mgk_open_again_fn(mgk_device *, mgk_device **out);
/* Bytes that can still be allocated, as far as the device knows, and bytes in total. */
typedef mgk_status mgk_memory_fn(mgk_device *, size_t *left, size_t *total);

/*
 * Mirrors [count] of `bytes` each, with undefined contents at first, whose arrays follow one
 * another in memory: one operation may write several. `send` starts a copy of mirror->array as the
 * earlier operations leave it; after `wait`, mirror->host holds the copy. Operations called between
 * the two run concurrently with the copy and must not touch the array. `close` waits, takes the
 * mirrors that were opened together, and accepts zeroed ones.
 */
typedef mgk_status mgk_mirror_open_fn(mgk_device *, size_t count, size_t bytes, mgk_mirror *out);
typedef mgk_status mgk_mirror_send_fn(mgk_device *, const mgk_mirror *);
typedef mgk_status mgk_mirror_wait_fn(mgk_device *, const mgk_mirror *);
typedef void mgk_mirror_close_fn(mgk_device *, size_t count, mgk_mirror *);

/*
 * From now on products may round their factors to TF32, 10 bits after the point; sets device->tf32
 * and adds it to device->name. Without this call float32 products use float32. STATUS_USAGE: not a
 * GPU in single precision.
 */
typedef mgk_status mgk_allow_tf32_fn(mgk_device *);

/* C [m, n] = alpha op(A) op(B) + beta C; op transposes if requested; k is the inner dimension. */
typedef mgk_status mgk_multiply_fn(mgk_device *, bool transpose_a, bool transpose_b, size_t m,
                                   size_t n, size_t k, double alpha, const void *a, size_t lda,
                                   const void *b, size_t ldb, double beta, void *c, size_t ldc);

/* x [rows, cols] += bias [cols] (NULL: no bias); y = activation(x) (y NULL: only x). */
typedef mgk_status mgk_bias_activation_fn(mgk_device *, mgk_activation, size_t rows, size_t cols,
                                          const void *bias, void *x, void *y);
/* dx = dy activation'(x), with the x that the forward operation left; dx may be dy. */
typedef mgk_status mgk_activation_backward_fn(mgk_device *, mgk_activation, size_t count,
                                              const void *x, const void *dy, void *dx);
/* sums [cols] += column sums of x [rows, cols]. */
typedef mgk_status mgk_column_sums_fn(mgk_device *, size_t rows, size_t cols, const void *x,
                                      void *sums);

/*
 * y [rows, cols] = residual + x·mask/(1 − rate); residual NULL: 0. The mask is drawn from (seed,
 * stream + site) of *draw, in device memory, a word for each element; rate 0 keeps all elements.
 */
typedef mgk_status mgk_dropout_add_fn(mgk_device *, size_t rows, size_t cols, double rate,
                                      const mgk_draw *draw, uint64_t site, const void *x,
                                      const void *residual, void *y);

/*
 * y = gamma (x − mean)/√(variance + epsilon) + beta of each row; mean, deviation [rows] receive the
 * mean and 1/√(variance + epsilon). gamma and beta may be NULL, for 1 and 0, on a device with
 * all_parts.
 */
typedef mgk_status mgk_layer_norm_fn(mgk_device *, size_t rows, size_t cols, double epsilon,
                                     const void *x, const void *gamma, const void *beta, void *y,
                                     void *mean, void *deviation);
/* dx = residual + gradient through the norm (residual NULL: 0); dgamma, dbeta += . */
typedef mgk_status mgk_layer_norm_backward_fn(mgk_device *, size_t rows, size_t cols, const void *x,
                                              const void *gamma, const void *mean,
                                              const void *deviation, const void *dy,
                                              const void *residual, void *dx, void *dgamma,
                                              void *dbeta);

/* y = gamma x/√(mean of x² + epsilon) of each row (Zhang & Sennrich 2019). */
typedef mgk_status mgk_rms_norm_fn(mgk_device *, size_t rows, size_t cols, double epsilon,
                                   const void *x, const void *gamma, void *y);

/*
 * Normalises vectors in place, `groups` of `cols` numbers in each row of x; rows are `stride`
 * apart. All groups have the same gamma and beta [cols]. `centred`: as layer_norm, beta NULL: 0;
 * otherwise as rms_norm. NULL for a device without all_parts.
 */
typedef mgk_status mgk_group_norm_fn(mgk_device *, bool centred, size_t rows, size_t groups,
                                     size_t cols, double epsilon, void *x, size_t stride,
                                     const void *gamma, const void *beta);

/* x = cap tanh(x / cap), in place. NULL for a device without all_parts. */
typedef mgk_status mgk_soft_cap_fn(mgk_device *, size_t count, double cap, void *x);

/* y [rows, cols] = activation(a)·b, where a row of x [rows, 2 cols] is [a, b]. */
typedef mgk_status mgk_gate_fn(mgk_device *, mgk_activation, size_t rows, size_t cols,
                               const void *x, void *y);

/*
 * Rotary embedding, and grouped keys: head h of y [B N, heads] is made of head h key_heads / heads
 * of x [B N, key_heads]. Rows are tokens, x_stride and y_stride apart; a head is D consecutive
 * numbers. `angles` [N, D] has cos in the first half of a row and sin in the second; a head of
 * position t is rotated by row t (Su et al. 2021):
 *     y_d = x_d cos_td − x_(d+D/2) sin_td,   y_(d+D/2) = x_(d+D/2) cos_td + x_d sin_td.
 * angles NULL: copied without rotation. y must not be x.
 */
typedef mgk_status mgk_rotary_embedding_fn(mgk_device *, size_t samples, size_t tokens,
                                           size_t heads, size_t key_heads, size_t dim,
                                           const void *angles, const void *x, size_t x_stride,
                                           void *y, size_t y_stride);

/*
 * y [B, N, C] = scale table[token] + position[p]; token < 0 (padding) gives 0. With lengths NULL,
 * p = t. Otherwise positions count backwards, p = lengths[b] − 1 − t, and tokens t >= lengths[b]
 * are padding. position NULL: 0.
 */
typedef mgk_status mgk_embed_fn(mgk_device *, size_t samples, size_t tokens, size_t cols,
                                const int32_t *ids, const int32_t *lengths, double scale,
                                const void *table, const void *position, void *y);
/* Row i of y [rows, cols] += row index[i] of the table; index < 0: nothing. NULL if a device lacks
 * it. */
typedef mgk_status mgk_add_rows_fn(mgk_device *, size_t rows, size_t cols, const int32_t *index,
                                   const void *table, void *y);
/* dtable += scale dy, dposition += dy (NULL: positions are constant). */
typedef mgk_status mgk_embed_backward_fn(mgk_device *, size_t samples, size_t tokens, size_t cols,
                                         const int32_t *ids, double scale, const void *dy,
                                         void *dtable, void *dposition);

/*
 * y [B, C] = sum of x [B, N, C] over the valid tokens, divided by `divisor` (0: by their number).
 * Padding receives a gradient of 0.
 */
typedef mgk_status mgk_pool_fn(mgk_device *, size_t samples, size_t tokens, size_t cols,
                               const int32_t *lengths, size_t divisor, const void *x, void *y);
typedef mgk_status mgk_pool_backward_fn(mgk_device *, size_t samples, size_t tokens, size_t cols,
                                        const int32_t *lengths, size_t divisor, const void *dy,
                                        void *dx);

/*
 * Moves the valid tokens of x [B, N, C] together, in place: token t of sample b becomes row
 * lengths[0] + … + lengths[b − 1] + t. unpack_tokens moves them back, and padding becomes 0. NULL
 * for a device whose recordings hold the number of rows.
 */
typedef mgk_status mgk_pack_tokens_fn(mgk_device *, size_t samples, size_t tokens, size_t cols,
                                      const int32_t *lengths, void *x);

/* y [P, 4C] = [a, b, a·b, a−b] for the pairs (a, b) = (x_2p, x_2p+1) of x [2P, C]. */
typedef mgk_status mgk_pair_features_fn(mgk_device *, size_t pairs, size_t cols, const void *x,
                                        void *y);
typedef mgk_status mgk_pair_features_backward_fn(mgk_device *, size_t pairs, size_t cols,
                                                 const void *x, const void *dy, void *dx);

/*
 * Softmax cross-entropy of logits [rows, V] against targets (< 0: no target). dlogits (may be
 * logits, may be NULL) = scale (p − one-hot), 0 without a target. The sums over the rows are added
 * to *loss, in device memory.
 */
typedef mgk_status mgk_cross_entropy_fn(mgk_device *, size_t rows, size_t classes,
                                        const void *logits, const int32_t *targets, double scale,
                                        void *dlogits, mgk_loss *loss);

/*
 * The gradient of a smoothed target (Szegedy et al. 2016), which is 1 − ε for the target and ε / V
 * for all classes: dlogits [rows, V] of cross_entropy += amount (one-hot − 1/V) in rows with a
 * target, amount = scale ε. NULL for a device without all_parts.
 */
typedef mgk_status mgk_smooth_targets_fn(mgk_device *, size_t rows, size_t classes,
                                         const int32_t *targets, double amount, void *dlogits);

/* block [n, n] = the first n rows and columns of matrix [stride, stride], in float64. */
typedef mgk_status mgk_take_block_fn(mgk_device *, size_t n, size_t stride, const void *matrix,
                                     double *block);
/* *out = Σ x², in device memory. */
typedef mgk_status mgk_sum_squares_fn(mgk_device *, size_t count, const void *x, double *out);
/*
 * AdamW with decoupled weight decay (Loshchilov & Hutter 2019); first and second moments m, v.
 * Changes nothing if step->squares is not finite.
 */
typedef mgk_status mgk_adamw_fn(mgk_device *, const mgk_adamw *, const mgk_adamw_step *,
                                size_t count, const void *gradient, void *weight, void *m, void *v);

/*
 * Prepares `work` for replay without running it. Replaying has the effect of work(context), which
 * must call the same operations with the same arguments every time; values that change between
 * replays are read from device memory. A GPU calls `work` in the first replay, records it in the
 * second, and records it again if scratch memory has moved. So `work` must not allocate, transfer
 * to or from the host, or synchronize. Release with release_recording (NULL is accepted) before the
 * device is closed. STATUS_DEVICE: `work` does something that cannot be recorded.
 */
typedef mgk_status mgk_record_fn(mgk_device *, mgk_status (*work)(void *), void *context,
                                 mgk_recording **out);
typedef mgk_status mgk_replay_fn(mgk_device *, mgk_recording *);
typedef void mgk_release_recording_fn(mgk_device *, mgk_recording *);

/* The operations of a device. An operation is NULL only where its type above allows that. */
struct mgk_operations {
    mgk_allocate_fn *allocate;
    mgk_release_fn *release;
    mgk_upload_fn *upload;
    mgk_download_fn *download;
    mgk_zero_fn *zero;
    mgk_copy_fn *copy;
    mgk_synchronize_fn *synchronize;
    mgk_close_fn *close;
    mgk_open_again_fn *open_again;
    mgk_memory_fn *memory;
    mgk_mirror_open_fn *mirror_open;
    mgk_mirror_send_fn *mirror_send;
    mgk_mirror_wait_fn *mirror_wait;
    mgk_mirror_close_fn *mirror_close;
    mgk_allow_tf32_fn *allow_tf32;
    mgk_multiply_fn *multiply;
    mgk_bias_activation_fn *bias_activation;
    mgk_activation_backward_fn *activation_backward;
    mgk_column_sums_fn *column_sums;
    mgk_dropout_add_fn *dropout_add;
    mgk_layer_norm_fn *layer_norm;
    mgk_layer_norm_backward_fn *layer_norm_backward;
    mgk_rms_norm_fn *rms_norm;
    mgk_group_norm_fn *group_norm;
    mgk_soft_cap_fn *soft_cap;
    mgk_gate_fn *gate;
    mgk_rotary_embedding_fn *rotary_embedding;
    mgk_embed_fn *embed;
    mgk_add_rows_fn *add_rows;
    mgk_embed_backward_fn *embed_backward;
    mgk_pool_fn *pool;
    mgk_pool_backward_fn *pool_backward;
    mgk_pack_tokens_fn *pack_tokens, *unpack_tokens;
    mgk_pair_features_fn *pair_features;
    mgk_pair_features_backward_fn *pair_features_backward;
    mgk_cross_entropy_fn *cross_entropy;
    mgk_smooth_targets_fn *smooth_targets;
    mgk_shift_keys_fn *shift_keys;
    mgk_shift_keys_backward_fn *shift_keys_backward;
    mgk_mixture_attention_fn *mixture_attention;
    mgk_mixture_attention_backward_fn *mixture_attention_backward;
    mgk_linear_attention_fn *linear_attention;
    mgk_linear_attention_backward_fn *linear_attention_backward;
    mgk_mixture_matrix_fn *mixture_matrix;
    mgk_mixture_matrix_output_fn *mixture_matrix_output;
    mgk_linear_matrix_fn *linear_matrix;
    mgk_linear_factors_fn *linear_factors;
    mgk_feature_map_fn *feature_map;
    mgk_feature_map_backward_fn *feature_map_backward;
    mgk_delta_attention_fn *delta_attention;
    mgk_delta_attention_backward_fn *delta_attention_backward;
    mgk_delta_matrix_fn *delta_matrix;
    mgk_responsibilities_fn *responsibilities;
    mgk_linear_responsibilities_fn *linear_responsibilities;
    mgk_mean_responsibilities_fn *mean_responsibilities;
    mgk_take_block_fn *take_block;
    mgk_sum_squares_fn *sum_squares;
    mgk_adamw_fn *adamw;
    mgk_record_fn *record;
    mgk_replay_fn *replay;
    mgk_release_recording_fn *release_recording;
    const mgk_spectral_operations *spectral;
    /* Whole arrays of tokens and matrices; NULL if a device lacks it. */
    const mgk_dense_operations *dense;
};

#endif
