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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/spectral/factored.h"

typedef enum mgk_precision { MGK_SINGLE, MGK_DOUBLE } mgk_precision;

typedef enum mgk_activation {
    MGK_ACTIVATION_GELU, /* x Φ(x), the exact form */
    MGK_ACTIVATION_RELU,
    MGK_ACTIVATION_GELU_TANH, /* x / (1 + exp(−2 u)), u = √(2/π) (x + 0.044715 x³) */
    MGK_ACTIVATION_SILU,      /* x / (1 + exp(−x)) */
    MGK_ACTIVATION_NONE
} mgk_activation;

typedef struct mgk_operations mgk_operations;
typedef struct mgk_dense_operations mgk_dense_operations; /* kernels/dense.h */

/* An open device: its table, its precision and the backend's own state. */
typedef struct mgk_device {
    const mgk_operations *op;
    mgk_precision precision;
    size_t real_size; /* bytes of one real */
    int threads;      /* CPU threads in use */
    bool accelerator; /* has its own memory and needs large batches to be efficient */
    int batch_tokens; /* tokens that keep the device busy: larger batches only take memory */
    bool tf32;        /* see allow_tf32 */
    bool all_parts;   /* has what only some models need: score terms, and the operations that may be
                         NULL for a device without */
    char name[128];   /* for people: "cpu (x86-64-v4, 2 threads)" */
    void *context;
    void *lent; /* [lent_bytes], of mgk_device_lend */
    size_t lent_bytes;
} mgk_device;

/*
 * Opens "auto", "cpu", "cuda" or "cuda:N". threads: 0 uses all cores. Close with mgk_device_close.
 * STATUS_USAGE: another name; STATUS_DEVICE: no such device, or built without CUDA.
 */
mgk_status mgk_device_open(const char *name, mgk_precision precision, int threads,
                           mgk_device **out);
/* The same of several processes of a machine, numbered by `turn`: "cuda" is another device for
 * each, as far as there are as many. */
mgk_status mgk_device_open_in_turn(const char *name, int turn, mgk_precision precision, int threads,
                                   mgk_device **out);
/* Fails like mgk_device_open, but does not load OpenBLAS. */
mgk_status mgk_device_check(const char *name, int threads);
void mgk_device_close(mgk_device *device); /* NULL is accepted */

/* *out: `bytes` of the device's memory, with anything in them, until the next call: for what is
 * needed again and again, as the system clears fresh memory page by page. The device owns them. */
mgk_status mgk_device_lend(mgk_device *device, size_t bytes, void **out);

/*
 * An array of the device and its copy on the host: results are copied out while the device
 * continues to compute. Where device memory is host memory, both are one array and nothing is
 * copied.
 */
typedef struct mgk_mirror {
    void *array; /* operations write this one */
    void *host;  /* `send` copies to this one */
    size_t bytes;
    void *state; /* of the backend */
} mgk_mirror;

/* Copies `count` reals from the device, in its precision, to out [count] on the host. */
mgk_status mgk_device_download(mgk_device *device, const void *reals, size_t count, double *out);
/* Copies values [count] on the host to `count` reals on the device, in its precision. */
mgk_status mgk_device_upload(mgk_device *device, const double *values, size_t count, void *reals);

/* Copies integers [count] of the device to new memory of the host; release with mgk_free. */
mgk_status mgk_device_indices(mgk_device *device, const int32_t *indices, size_t count,
                              int32_t **out);

/* Starts the copy of a mirror, and waits for it: see mgk_mirror_send_fn below. */
mgk_status mgk_device_send(mgk_device *device, const mgk_mirror *mirror);
mgk_status mgk_device_receive(mgk_device *device, const mgk_mirror *mirror);

/* The address of element `offset` of an array of real. */
static inline void *mgk_at(const mgk_device *device, const void *array, size_t offset)
{
    return (void *)((uintptr_t)array + offset * device->real_size);
}

/*
 * The queries, keys and values of attention. Token t of sample b has its H·D query numbers at
 * query[(b N + t) query_stride + h D + d]; keys add the component:
 * key[(b N + t) key_stride + (r H + h) D + d]. Tokens t >= lengths[b] are padding.
 *
 * Keys may belong to another sequence than queries: then N is key_tokens in the indices of keys and
 * values, and keys t >= key_lengths[b] are padding. Values and outputs may have another width than
 * queries and keys: then D is value_dim in their indices. Both hold for mixtures on devices with
 * `all_parts`. There dim may also be 0: scores have no dot product, and queries and keys are NULL.
 */
typedef struct mgk_attention_view {
    int samples, heads, tokens, dim, mixtures; /* B, H, N, D, M */
    int key_tokens;                            /* of keys and values; 0: N */
    int value_dim;                             /* of values and outputs; 0: D */
    bool causal;                               /* query i sees keys j <= i */
    const int32_t *lengths;                    /* [B] */
    const int32_t *key_lengths;                /* [B]; NULL: lengths */
    /* [B, N], not 0: no query sees the key; NULL: all are seen. Kinds with `masks` alone, on the
     * CPU, without gradients. */
    const int32_t *masked;
    const void *query, *key, *value;
    size_t query_stride, key_stride, value_stride;
    const void *extra; /* further numbers of each token: E at extra[(b N + t) extra_stride] */
    size_t extra_stride, extra_width; /* E; 0: none */
} mgk_attention_view;

/* Keys per sample, with padding. */
static inline int mgk_view_keys(const mgk_attention_view *view)
{
    return view->key_tokens > 0 ? view->key_tokens : view->tokens;
}

/* Valid keys of each sample, [B]. */
static inline const int32_t *mgk_view_key_lengths(const mgk_attention_view *view)
{
    return view->key_lengths ? view->key_lengths : view->lengths;
}

/* A sample's keys that no query sees; NULL: none. */
static inline const int32_t *mgk_view_masked(const mgk_attention_view *view, size_t sample)
{
    return view->masked ? view->masked + sample * (size_t)mgk_view_keys(view) : NULL;
}

/* Numbers of a head's value and output. */
static inline int mgk_view_value_dim(const mgk_attention_view *view)
{
    return view->value_dim > 0 ? view->value_dim : view->dim;
}

/* The view of samples first … first + samples − 1 alone. */
static inline mgk_attention_view
mgk_view_samples(const mgk_device *device, const mgk_attention_view *view, int first, int samples)
{
    const size_t before = (size_t)first * (size_t)view->tokens;
    const size_t keys_before = (size_t)first * (size_t)mgk_view_keys(view);
    mgk_attention_view out = *view;
    out.samples = samples;
    out.lengths = view->lengths + first;
    out.key_lengths = view->key_lengths ? view->key_lengths + first : NULL;
    out.masked = view->masked ? view->masked + keys_before : NULL;
    out.query = mgk_at(device, view->query, before * view->query_stride);
    out.key = mgk_at(device, view->key, keys_before * view->key_stride);
    out.value = mgk_at(device, view->value, keys_before * view->value_stride);
    out.extra = mgk_at(device, view->extra, before * view->extra_stride);
    return out;
}

/* Gradients of the view's arrays, with the same layout and strides. Overwritten. */
typedef struct mgk_attention_gradient {
    void *query, *key, *value, *extra;
    void *prior;      /* laid out like the prior, += ; NULL: no prior */
    void *bias;       /* of the scores, laid out like mgk_score_terms.bias, += ; NULL: not wanted */
    void *full;       /* laid out like mgk_score_terms.full, += ; NULL: not wanted */
    void *query_side; /* laid out like mgk_score_terms.query_side, += ; NULL: not wanted */
    void *gate; /* laid out like the gate of mgk_linear or the rate of mgk_delta; NULL: neither */
} mgk_attention_gradient;

enum { MGK_MAX_MIXTURES = 16 }; /* largest M, keys per head */

/* Prior π of component r for key j of head h: prior[h head_stride + r component_stride + j
 * key_stride]. */
typedef struct mgk_prior_view {
    const void *values; /* NULL: π = 1 */
    size_t head_stride, component_stride, key_stride;
    size_t count; /* number of elements */
} mgk_prior_view;

enum { MGK_PATTERN_TILE = 16 };

/*
 * Which keys each query sees, in tiles of 16 queries by 16 keys: tile t of block b (queries 16 b to
 * 16 b + 15) has keys 16 columns[t] to 16 columns[t] + 15, and query 16 b + i sees its key c if bit
 * c of masks[16 t + i] is set. The block's tiles are those from starts[b] to starts[b + 1] − 1, in
 * ascending order of columns. A tile that is not listed costs no work and no memory. Queries that
 * see no key have zeros in the matrix and in the output, and no gradient.
 *
 * All are plain arrays of the device that hold no addresses; a kind whose pattern follows from
 * content fills them itself. A causal mask, a window and lengths hold besides. Bits for keys that
 * do not exist are ignored.
 */
typedef struct mgk_pattern {
    const int32_t *starts;  /* of each variant [⌈N / 16⌉ + 1], numbers of tiles in `columns` */
    const int32_t *columns; /* [tiles] */
    const uint16_t *masks;  /* [tiles, 16] */
    const void *logits;     /* reals [tiles, 16, 16] that are added to the logits; NULL: none */
    /* From the starts of a sample or head to those of the next, in numbers; 0: one for all. */
    size_t sample_stride, head_stride;
} mgk_pattern;

/*
 * What is done to the score x_ij = scale q_i·k_j before normalisation:
 *     l_ij = cap tanh(x_ij / cap) + bias_h,j−i + full_bhij + …,   −∞ where |i − j| >= window.
 * All 0: l_ij = x_ij. Devices without `all_parts` ignore the terms. Gradients are defined with all
 * terms but key_side.
 */
typedef struct mgk_score_terms {
    int window; /* of query i, |i − j| < window; 0: all keys */
    double cap; /* > 0; 0: none */
    /* [H, 2 T − 1], reals of the device: bias[h (2 T − 1) + j − i + T − 1]; NULL: none. At least as
     * many tokens T as the view has queries and keys. */
    const void *bias;
    size_t bias_tokens; /* T */
    bool bias_by_key;   /* bias[h (2 T − 1) + j + T − 1], whatever i is */
    /* Reals full[b full_sample_stride + h full_head_stride + i full_row_stride + j]; a sample or
     * head stride of 0: one matrix for all; a row stride of 0: the view's keys with padding. NULL:
     * none. */
    const void *full;
    size_t full_sample_stride, full_head_stride, full_row_stride;
    /*
     * Distances that meet content: l_ij += query_side[i, h, p] + key_side[j, h, p], reals of the
     * device [B, N, H, P], with p = places[j − i + T − 1], [2 T − 1]; NULL: none. key_side may be
     * NULL alone. Of pairs with one of the first place_globals tokens, and one other, p is P − 1.
     */
    const void *query_side, *key_side;
    const int32_t *places;
    size_t sides, place_tokens; /* P, T */
    size_t place_globals;       /* 0: there are no such pairs */
} mgk_score_terms;

/*
 * Seed and stream of an operation's random numbers (base/random.h), and how many rows and samples
 * have the numbers before: those of a batch's share are the same as in the whole batch. In device
 * memory.
 */
typedef struct mgk_draw {
    uint64_t seed, stream, rows, samples;
} mgk_draw;

/*
 * Attention by a softmax over M N biased keys (design: "MGK is softmax in
 * disguise"). The logit of query i for component r of key j is
 *     l_ijr = scale_r q_i·k_jr                                       (dot product)
 *     l_ijr = log π_jr − scale_r ‖q_i − k_jr‖² / 2, scale_r = 1/σ_r²  (Gaussian)
 * and the matrix is A_ij = s_ij / (Σ_j s_ij + normalizer_epsilon) with
 * s_ij = Σ_r exp l_ijr, or max_r exp l_ijr when `hard`. Computed in log space. Unnormalized rows
 * are A_ij = s_ij as it is. Devices without `all_parts` ignore `unnormalized` and the pattern.
 */
typedef struct mgk_mixture {
    double scale[MGK_MAX_MIXTURES];
    bool gaussian;
    bool hard;
    double normalizer_epsilon;
    mgk_prior_view prior;  /* clamped to [0, 1] when used */
    mgk_score_terms terms; /* the cap is for dot products */
    bool unnormalized;
    const mgk_pattern *pattern; /* NULL: all keys */
    /* Of responsibilities: > 0: γ_ijr = s_ijr / (Σ_r s_ijr + this), and the last γ_ij is what the
     * others leave of 1. Devices without `all_parts` ignore it. */
    double share_epsilon;
    /* Outputs and their gradients: entries A_ij become 0 with this probability, and the others
     * A_ij / (1 − dropout), by random words of (seed, stream + site) of *draw, in device memory.
     * Devices without `all_parts` ignore it. */
    double dropout;
    const mgk_draw *draw;
    uint64_t site;
} mgk_mixture;

/* The feature maps φ of linear attention; mgk_features has their numbers. x' = input_scale x. */
typedef enum mgk_feature_kind {
    MGK_FEATURES_ELU, /* elu(x) + 1, R = D */
    /* exp(w_r·x' − ‖x'‖²/2) / √R (Choromanski et al. 2021, FAVOR+); plus epsilon exp(m) / √R, m the
       largest w_r·x' of the query, or of all valid keys of the head, later ones too */
    MGK_FEATURES_POSITIVE,
    /* exp(± w_r·x' − ‖x'‖²/2) / √R, both signs of each w_r, + first; R = 2 omega_rows */
    MGK_FEATURES_HYPERBOLIC,
    /* exp(‖x'‖²/2) [sin w_r·x', cos w_r·x'] / √omega_rows, R = 2 omega_rows. Signed */
    MGK_FEATURES_TRIGONOMETRIC,
    /* [sin w_r·u, cos w_r·u] / √omega_rows, u = x' / (‖x'‖ + epsilon) and 0 for x = 0,
       R = 2 omega_rows (Peng et al. 2021, RFA). Signed */
    MGK_FEATURES_SPHERE,
    /* f(w_r·x') + epsilon (Choromanski et al. 2021, generalised attention), R = omega_rows; without
       omega f(x') + epsilon, R = D. Signed where f may be negative */
    MGK_FEATURES_KERNEL,
    /* relu(x) [cos θ_t, sin θ_t] at position t = 0, 1, …, θ_t = π t / (2 horizon), R = 2 D (Qin et
       al. 2022, cosFormer) */
    MGK_FEATURES_COSINE,
    /* y ∘ roll(y, r) for r = 1 … rolls, where y = [relu(x), relu(−x)] and roll(y, r)_e is
       y_(e − r mod 2 D); R = 2 D rolls (Schlag et al. 2021) */
    MGK_FEATURES_DPFP
} mgk_feature_kind;

/* f of MGK_FEATURES_KERNEL. */
typedef enum mgk_feature_function {
    MGK_FEATURE_RELU,
    MGK_FEATURE_SIGMOID,
    MGK_FEATURE_EXP,
    MGK_FEATURE_ABS,
    MGK_FEATURE_GELU, /* the exact form; signed, as all that follow */
    MGK_FEATURE_COS,
    MGK_FEATURE_TANH,
    MGK_FEATURE_IDENTITY
} mgk_feature_function;

/* A feature map. All 0: elu + 1. The model does not train omega. */
typedef struct mgk_features {
    mgk_feature_kind map;
    mgk_feature_function function;
    /* Row r of head h, w_r [D], is at omega[h omega_head_stride + r omega_stride], reals of the
       device; omega_head_stride 0: one for all heads.
       NULL with omega_rows 0: there is none. */
    const void *omega;
    size_t omega_rows, omega_stride, omega_head_stride;
    double input_scale; /* 0: D^(−1/4) for maps with an exponential of ‖x'‖², otherwise 1 */
    double epsilon;     /* >= 0, of SPHERE, KERNEL and POSITIVE; of that one without gradients */
    double horizon;     /* of COSINE, > 0 */
    int rolls;          /* of DPFP, > 0 */
    bool unit_sum;      /* DPFP: the features of a token are divided by their sum, if it is not 0 */
} mgk_features;

/* The number R of features of vectors of dimension D. */
static inline size_t mgk_feature_count(const mgk_features *features, size_t dim)
{
    switch (features->map) {
    case MGK_FEATURES_POSITIVE:
        return features->omega_rows;
    case MGK_FEATURES_HYPERBOLIC:
    case MGK_FEATURES_TRIGONOMETRIC:
    case MGK_FEATURES_SPHERE:
        return 2 * features->omega_rows;
    case MGK_FEATURES_KERNEL:
        return features->omega_rows > 0 ? features->omega_rows : dim;
    case MGK_FEATURES_COSINE:
        return 2 * dim;
    case MGK_FEATURES_DPFP:
        return 2 * dim * (size_t)features->rolls;
    case MGK_FEATURES_ELU:
        break;
    }
    return dim;
}

/* Whether features may be negative. */
static inline bool mgk_features_signed(const mgk_features *features)
{
    return features->map == MGK_FEATURES_TRIGONOMETRIC || features->map == MGK_FEATURES_SPHERE ||
           (features->map == MGK_FEATURES_KERNEL && features->function >= MGK_FEATURE_GELU);
}

/* Whether vectors may have no feature at all, not by rounding: rows without scores are then 0. */
static inline bool mgk_features_sparse(const mgk_features *features)
{
    return features->map == MGK_FEATURES_COSINE || features->map == MGK_FEATURES_DPFP;
}

/*
 * Linear attention: A_ij = s_ij / (Σ_j s_ij + normalizer_epsilon), s_ij = φ(q_i)·f_j,
 * f_j = Σ_r π_jr φ(k_jr). With φ = elu + 1: paper, Eqn. 14. Models of the paper's code differ:
 * they divide rows by a constant and mix keys before φ, see the two fields. Responsibilities of
 * mixtures always use the equation above and ignore these fields, and so do gradients on devices
 * without `all_parts`.
 *
 * Several keys per head (M > 1, prior, mix_keys) and responsibilities are for elu + 1 alone.
 * Devices without `all_parts` ignore `features`, `least_sum`, `feature_sum_epsilon` and `gate`.
 *
 * Rows whose scores vanish: with features that are not negative they are uniform over the keys they
 * see, or 0 if the features are sparse or there is a normalizer_epsilon; they pass no gradient to
 * scores. Of exponential features a causal row also vanishes if all keys it sees are below the
 * range of the precision (e^−87 in float32) next to a later key of the same block of 32 tokens.
 * Signed features may give negative and large entries: their rows are divided by their sum,
 * whatever its sign, and are 0 only where the sum itself is below the least normal number.
 */
typedef struct mgk_linear {
    double normalizer_epsilon;
    double fixed_normalizer; /* > 0: A_ij = s_ij / fixed_normalizer; 0: as above */
    bool mix_keys;           /* f_j = φ(Σ_r π_jr k_jr) */
    bool unit_features; /* elu + 1: each φ is divided by the sum of its elements (Schlag et al.
                           2021); not with mix_keys. The CPU alone, without gradients */
    mgk_prior_view prior;
    mgk_features features;
    double least_sum; /* > 0: smaller sums, negative ones too, are replaced by it; 0: no */
    /* POSITIVE with epsilon: added to Σ_j f_j of each feature, which is divided by exp(m), before
     * the product with φ(q_i) normalises a row. Has no gradients. */
    double feature_sum_epsilon;
    /*
     * Causal attention only: decays g in (0, 1) per token and head, gate[(b N + t) gate_stride +
     * h], reals of the device: s_ij = (1 − g_j) (Π_{j < l <= i} g_l) φ(q_i)·f_j. This is the state
     * S_t = g_t S_{t−1} + (1 − g_t) f_t v_tᵀ (Peng et al. 2021). NULL: none. Where g has rounded to
     * 0 or 1 the part of its gradient that a sigmoid before it would multiply by 0 is 0.
     */
    const void *gate;
    size_t gate_stride;
} mgk_linear;

/*
 * The delta rule (Schlag et al. 2021; Yang et al. 2024), always causal. Queries and keys have R
 * numbers per head, values D:
 *     S_t = S_{t−1} + β_t k_t (v_t − S_{t−1}ᵀ k_t)ᵀ,   o_t = scale S_tᵀ q_t, and
 *     A = scale tril(Q Kᵀ) (I + tril(diag(β) K Kᵀ, −1))⁻¹ diag(β),
 * which is signed and not normalised. Of the view, `causal` is ignored, `mixtures` is 1, and head h
 * of a query or key begins at h R.
 */
typedef struct mgk_delta {
    double scale;
    size_t features;  /* R; 0: D */
    const void *rate; /* β: rate[(b N + t) rate_stride + h], reals of the device */
    size_t rate_stride;
} mgk_delta;

/* The content of an explicit matrix. */
typedef enum mgk_matrix_content {
    MGK_MATRIX_ATTENTION, /* rows normalised as above */
    MGK_MATRIX_SCORES     /* s_ij, before normalisation */
} mgk_matrix_content;

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

/* Statistics of the entries a_ij of a matrix. */
typedef struct mgk_entries {
    double norm;          /* √Σ a_ij²; NaN where a device does not trust the squares */
    double row_sum_error; /* max_i |Σ_j a_ij − 1| of rows that are not all zeros; not finite if a
                             sum is not */
    double column_sum_max; /* max_j Σ_i a_ij */
    uint64_t bits;         /* bits that are set in any entry */
    size_t zero_rows;      /* rows that are all zeros */
} mgk_entries;

enum { MGK_SOLVER_CONSTANT = 16 };  /* see singular_values */
enum { MGK_BISECTION_ORDER = 512 }; /* the largest order of bisected_values */
enum { MGK_BAND_WIDTH = 32 };       /* superdiagonals that reduce_to_bands leaves */

/*
 * Number of reals in the band of a matrix of order n, with rows padded to a multiple of the width:
 * entry (r, c), r <= c <= r + width, is at [r (width + 1) + c - r].
 */
static inline size_t mgk_band_entries(size_t n)
{
    return (n + MGK_BAND_WIDTH - 1) / MGK_BAND_WIDTH * MGK_BAND_WIDTH * (MGK_BAND_WIDTH + 1);
}

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

/* keys [rows, M, width] = base [rows, width] + shift [M, width]: "smgk", k_jr = W_K x_j + b_r. */
typedef mgk_status mgk_shift_keys_fn(mgk_device *, size_t rows, size_t mixtures, size_t width,
                                     const void *base, size_t base_stride, const void *shift,
                                     void *keys);
/* dbase = Σ_r dkeys_r, dshift += Σ_rows dkeys. */
typedef mgk_status mgk_shift_keys_backward_fn(mgk_device *, size_t rows, size_t mixtures,
                                              size_t width, const void *dkeys, void *dbase,
                                              size_t base_stride, void *dshift);

/*
 * Attention. output [B, N, H, D], tokens output_stride apart, 0 for padding. statistic [B, H, N]
 * receives one number per row for the backward operation, which takes both. Neither direction
 * stores an N x N matrix.
 */
typedef mgk_status mgk_mixture_attention_fn(mgk_device *, const mgk_attention_view *,
                                            const mgk_mixture *, void *output, size_t output_stride,
                                            void *statistic);
typedef mgk_status mgk_mixture_attention_backward_fn(mgk_device *, const mgk_attention_view *,
                                                     const mgk_mixture *, const void *output,
                                                     const void *statistic, const void *doutput,
                                                     size_t output_stride,
                                                     const mgk_attention_gradient *);
typedef mgk_status mgk_linear_attention_fn(mgk_device *, const mgk_attention_view *,
                                           const mgk_linear *, void *output, size_t output_stride);
typedef mgk_status mgk_linear_attention_backward_fn(mgk_device *, const mgk_attention_view *,
                                                    const mgk_linear *, const void *output,
                                                    const void *doutput, size_t output_stride,
                                                    const mgk_attention_gradient *);
/*
 * The explicit matrices of `count` heads of samples first … first + samples − 1: matrix [samples,
 * count, N, keys], zero in rows and columns of padding; mixtures only have other keys than N, see
 * mgk_attention_view.
 */
typedef mgk_status mgk_mixture_matrix_fn(mgk_device *, const mgk_attention_view *,
                                         const mgk_mixture *, mgk_matrix_content, int first,
                                         int samples, const int32_t *heads, int count,
                                         void *matrix);
/*
 * Attention matrices of one sample, and the output of the same heads, [N, H, D] as in
 * mixture_attention; both use the same logits. NULL if the device does not gain by it.
 */
typedef mgk_status mgk_mixture_matrix_output_fn(mgk_device *, const mgk_attention_view *,
                                                const mgk_mixture *, int sample,
                                                const int32_t *heads, int count, void *matrix,
                                                void *output, size_t output_stride);
typedef mgk_status mgk_linear_matrix_fn(mgk_device *, const mgk_attention_view *,
                                        const mgk_linear *, mgk_matrix_content, int first,
                                        int samples, const int32_t *heads, int count, void *matrix);
/*
 * Thin factors A = L Rᵀ, of rank at most R + 1 for R features, of the attention matrices of `count`
 * heads of one sample, without a causal mask: left and right [count, N, R + 1], not negative unless
 * the features are signed, zero beyond the valid tokens. Row i of L is φ(q_i) divided by the row's
 * sum, row j of R is f_j. The last column of L is 0 and of R 1, except in uniform rows: there L has
 * 1 / valid tokens in the last column.
 */
typedef mgk_status mgk_linear_factors_fn(mgk_device *, const mgk_attention_view *,
                                         const mgk_linear *, int sample, const int32_t *heads,
                                         int count, void *left, void *right);
/*
 * φ of every token and head, as it is, without shifts: queries and keys for the delta rule. Head h
 * of token t of sample b is at x[(b N + t) x_stride + h D] and y[(b N + t) y_stride + h R]; t is
 * the position. The backward operation takes x and dy, dx is laid out like x and overwritten. NULL
 * for a device without all_parts.
 */
typedef mgk_status mgk_feature_map_fn(mgk_device *, const mgk_features *, size_t samples,
                                      size_t tokens, size_t heads, size_t dim, const void *x,
                                      size_t x_stride, void *y, size_t y_stride);
typedef mgk_status mgk_feature_map_backward_fn(mgk_device *, const mgk_features *, size_t samples,
                                               size_t tokens, size_t heads, size_t dim,
                                               const void *x, size_t x_stride, const void *dy,
                                               size_t y_stride, void *dx);
/*
 * The delta rule: output and matrix are laid out as for linear attention, gradient->gate is that of
 * β. Both directions take O(N) memory and do not use the output. NULL for a device without
 * all_parts.
 */
typedef mgk_status mgk_delta_attention_fn(mgk_device *, const mgk_attention_view *,
                                          const mgk_delta *, void *output, size_t output_stride);
typedef mgk_status mgk_delta_attention_backward_fn(mgk_device *, const mgk_attention_view *,
                                                   const mgk_delta *, const void *doutput,
                                                   size_t output_stride,
                                                   const mgk_attention_gradient *);
typedef mgk_status mgk_delta_matrix_fn(mgk_device *, const mgk_attention_view *, const mgk_delta *,
                                       int sample, const int32_t *heads, int count, void *matrix);
/*
 * Soft-E priors (paper, Eqn. 11): sums [2, P] += Σ of γ_ijr = s_ijr / Σ_r s_ijr over the queries i
 * that see key j, over the batch, and over the dimensions that the prior does not have; and the
 * number of these queries. P = mixture->prior.count, laid out alike.
 */
typedef mgk_status mgk_responsibilities_fn(mgk_device *, const mgk_attention_view *,
                                           const mgk_mixture *, double *sums);
/* The same for linear mixtures, s_ijr = π_jr φ(q_i)·φ(k_jr). */
typedef mgk_status mgk_linear_responsibilities_fn(mgk_device *, const mgk_attention_view *,
                                                  const mgk_linear *, double *sums);
/* prior [count] = the mean of such sums [2, count]; a key that no query has seen keeps its prior.
 */
typedef mgk_status mgk_mean_responsibilities_fn(mgk_device *, size_t count, const double *sums,
                                                void *prior);

/* block [n, n] = the first n rows and columns of matrix [stride, stride], in float64. */
typedef mgk_status mgk_take_block_fn(mgk_device *, size_t n, size_t stride, const void *matrix,
                                     double *block);
/*
 * out [count], on the host: statistics of the entries of each matrix, laid out as for
 * singular_values. NULL where device memory is host memory: the host computes them.
 */
typedef mgk_status mgk_measure_entries_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, const double *matrices,
                                          mgk_entries *out);
/*
 * Singular values of square matrices, in float64 in every precision of the device. `matrices` is an
 * array of the device; orders and sigma are on the host. Matrix i, [orders[i], orders[i]] with
 * orders[i] <= n, is packed at matrices + i n² and overwritten; its values are written to sigma
 * [count, n], descending, followed by zeros. Each is within (2 n + MGK_SOLVER_CONSTANT) 2^-53 σ_1
 * of the exact value. If the values of a matrix overflow or do not converge, or an entry is not
 * finite, some of its values are not finite; the other matrices are unaffected. Also fails if n
 * exceeds the limit of the device's solver.
 */
typedef mgk_status mgk_singular_values_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, double *matrices, double *sigma);
/*
 * The same, with the project's own kernels, which keep a matrix in the shared memory of a few
 * multiprocessors. NULL if a device has none. STATUS_UNSUPPORTED: an order is above
 * bisection_order.
 */
typedef mgk_status mgk_bisected_values_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, double *matrices, double *sigma);
/*
 * The largest order of bisected_values on this device, at most MGK_BISECTION_ORDER: a matrix must
 * fit the shared memory of the blocks that the device runs together.
 */
typedef mgk_status mgk_bisection_order_fn(mgk_device *, size_t *order);
/*
 * The first of two steps to singular values of larger matrices, laid out as for singular_values:
 * writes upper triangular bands with the same singular values to bands [count, mgk_band_entries(n)]
 * on the device; entries beyond a matrix's order are 0. The error of a band moves singular values
 * by at most (n + MGK_SOLVER_CONSTANT) 2^-53 σ_1. A matrix with an entry that is not finite gives a
 * band that is not finite; the other matrices are unaffected. Asynchronous; the host does the
 * second step (kernels/spectral/spectrum.h). A device has both this and bisected_values, or
 * neither.
 */
typedef mgk_status mgk_reduce_to_bands_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, const double *matrices,
                                          double *bands);
/*
 * proven [count]: 1 if all singular values of matrix i are certainly above levels[i] >= 0, rounding
 * errors included; 0 if this is unknown, as for values close to the level and entries that are not
 * finite. The matrices are laid out as for singular_values and are not changed. NULL if the device
 * does not gain by it.
 */
typedef mgk_status mgk_prove_full_rank_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, const double *matrices,
                                          const double *levels, int *proven);

/*
 * The steps of counting singular values other than matrix products, for one matrix at a time, in
 * float64 in every precision of the device (analysis/counting/gram.h). Matrices and vectors are
 * arrays of the device; other results are on the host. A device has all of them, or NULL if it does
 * not gain by them.
 *
 * *bound: at least ‖|A|ᵀ|A|‖₂ of a [n, n], rows `stride` apart; not finite if an entry is not.
 */
typedef mgk_status mgk_bound_square_fn(mgk_device *, size_t n, size_t stride, const double *a,
                                       double *bound);
/*
 * Factors K = product - x I - scale b bᵀ = L D Lᵀ (lower triangles) into `work` [n, n], without
 * pivoting; b [n], or NULL for 0. Entries of `work` above the diagonal are undefined afterwards.
 * *positive: the number of pivots above 0, which is the number of positive eigenvalues of K + E.
 * Every entry of the computed K has an error of a few roundings of its three terms. E is the error
 * of the factors, ‖E‖₂ <= γ *growth, γ = (n + 2) 2^-53 / (1 - (n + 2) 2^-53), and *growth is at
 * least ‖|L||D||Lᵀ|‖₂ (Higham, Accuracy and Stability, §11.1). *growth is not finite if a pivot but
 * the last is 0.
 */
typedef mgk_status mgk_shifted_inertia_fn(mgk_device *, size_t n, const double *product,
                                          const double *b, double x, double scale, double *work,
                                          size_t *positive, double *growth);
/*
 * Replaces each row f of rows [count, n] by K⁻¹ f, computed with the factors in `work`. The caller
 * measures the error.
 */
typedef mgk_status mgk_solve_factored_fn(mgk_device *, size_t n, const double *work, size_t count,
                                         double *rows);
/*
 * Replaces each row w of rows [count, n], of norms up to 1, by E w, or by C w, computed in twice
 * the precision from the arrays of *r: errors as mgk_residual_apply and mgk_residual_multiply
 * (kernels/spectral/residual.h).
 */
typedef mgk_status mgk_residual_images_fn(mgk_device *, const mgk_residual *r, size_t count,
                                          double *rows);
typedef mgk_status mgk_exact_images_fn(mgk_device *, const mgk_residual *r, size_t count,
                                       double *rows);
/* *hash depends on all bits of a [rows, columns] and on their places; rows are `stride` apart. */
typedef mgk_status mgk_hash_entries_fn(mgk_device *, size_t rows, size_t columns, size_t stride,
                                       const double *a, uint64_t *hash);

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
    mgk_measure_entries_fn *measure_entries;
    mgk_singular_values_fn *singular_values;
    mgk_bisected_values_fn *bisected_values;
    mgk_bisection_order_fn *bisection_order;
    mgk_reduce_to_bands_fn *reduce_to_bands;
    mgk_prove_full_rank_fn *prove_full_rank;
    mgk_bound_square_fn *bound_square;
    mgk_shifted_inertia_fn *shifted_inertia;
    mgk_solve_factored_fn *solve_factored;
    mgk_residual_images_fn *residual_images;
    mgk_exact_images_fn *exact_images;
    mgk_hash_entries_fn *hash_entries;
    mgk_sum_squares_fn *sum_squares;
    mgk_adamw_fn *adamw;
    mgk_record_fn *record;
    mgk_replay_fn *replay;
    mgk_release_recording_fn *release_recording;
    /* Whole arrays of tokens and matrices, a table of its own; NULL if a device lacks it. */
    const mgk_dense_operations *dense;
};

#endif
