/* SPDX-License-Identifier: MIT */
/*
 * The registry of attention kinds. A kind is a constant in a file of kernels/attention/ and a row
 * in attention.c. It declares its settings, its parameters, the numbers that it needs of each token
 * besides queries, keys and values, and which keys a query sees. Output, gradients and matrix are
 * its methods: those of a primitive (kernels/attention/primitives.h), or its own, made of several
 * primitives. All are written with a device's operations, so a kind runs on every device that has
 * these operations.
 */
#ifndef MGK_KERNELS_ATTENTION_H
#define MGK_KERNELS_ATTENTION_H

#include "kernels/attention/pattern.h"
#include "kernels/attention/settings.h"
#include "kernels/backend.h"

/* How the M keys of a position are made from its token vector x_j. */
typedef enum mgk_key_design {
    MGK_KEYS_PROJECTED, /* k_jr = W_Kr x_j: M projections (one for kinds with M = 1) */
    MGK_KEYS_SHIFTED    /* k_jr = W_K x_j + b_r: one projection, M learned shifts */
} mgk_key_design;

/* How the components of a mixture are weighed (paper, settings A, B, C). */
typedef enum mgk_prior_mode {
    MGK_PRIOR_LEARNED, /* A: π is a parameter */
    MGK_PRIOR_EM,      /* B, soft-E: π follows the responsibilities, Eqn. 11 */
    MGK_PRIOR_HARD     /* C, hard-E: the nearest component alone, no π */
} mgk_prior_mode;

/* The projections of a layer's attention. */
typedef enum mgk_projection {
    MGK_PROJECTION_QUERY,
    MGK_PROJECTION_KEY, /* of all keys of a position */
    MGK_PROJECTION_VALUE,
    MGK_PROJECTION_OUTPUT,
    MGK_PROJECTIONS
} mgk_projection;

/* The sizes that determine the parameters, the memory and the cost of a layer's attention. */
typedef struct mgk_attention_size {
    int heads, tokens, dim, mixtures; /* H, N, D, M */
    int width;                        /* C, numbers of a token in the model */
    int length;                       /* positions of the model, at least N */
    int layer, layers;                /* this one, from 0, and L */
    bool below;                       /* the layer reads what the one below keeps */
    bool causal;
    bool hard;                              /* mixtures with hard-E */
    int seed;                               /* of random patterns */
    const int32_t *plan;                    /* of kinds that have one, for `pattern` */
    const mgk_attention_settings *settings; /* resolved */
    mgk_score_terms terms;                  /* `bias` not NULL: there is one */
} mgk_attention_size;

/* The initial values of a parameter. */
typedef enum mgk_initial {
    MGK_INITIAL_NORMAL,   /* normal with standard deviation `value` */
    MGK_INITIAL_PAIR,     /* normal, larger in some columns, see parameters.c */
    MGK_INITIAL_CONSTANT, /* `value` */
    /* Rows of random features in groups of D orthogonal ones with the lengths of normal vectors,
     * anew in each head; or independent normal ones. */
    MGK_INITIAL_ORTHOGONAL,
    /* [n, n]: 0 for the diagonal and up to `value` other random numbers of each row, and
     * MGK_NO_EDGE elsewhere. */
    MGK_INITIAL_EDGES
} mgk_initial;

#define MGK_NO_EDGE (-1e9) /* finite, as weights in files are; its exponential is 0 */

enum { MGK_KIND_PARAMETERS = 8, MGK_PARAMETER_AXES = 3 };

/* A parameter that a kind has in each of its layers. */
typedef struct mgk_kind_parameter {
    const char *name; /* "landmark": the tensor "layers.0.attention.landmark" */
    int axes;
    size_t shape[MGK_PARAMETER_AXES];
    mgk_initial initial;
    double value;
    bool drawn; /* random numbers that are not trained, such as those of random features */
} mgk_kind_parameter;

/* Memory of a layer's attention on the device, in reals. */
typedef struct mgk_kind_memory {
    size_t kept;    /* from `prepare` to `backward`, and as long as its matrix is asked for */
    size_t scratch; /* during one call */
} mgk_kind_memory;

typedef struct mgk_attention_kind mgk_attention_kind;

/* What a layer's attention has besides queries, keys and values. */
typedef struct mgk_attention_layer {
    const mgk_attention_kind *kind;
    mgk_attention_size size;                     /* N: of the view */
    const void *parameters[MGK_KIND_PARAMETERS]; /* on the device, in the kind's order */
    const mgk_pattern *pattern;                  /* of kinds that have one */
    void *kept, *scratch;                        /* see mgk_kind_memory; NULL: 0 reals */
    const void *below; /* `kept` of the layer below, of kinds that read it; NULL: there is none.
                          Where layers share their memory, it is `kept`. */

    double scale;                      /* softmax: of q·k; 0: 1/√D */
    mgk_score_terms terms;             /* softmax; `key_side` has no gradient */
    double variance[MGK_MAX_MIXTURES]; /* σ_r² of Gaussian scores */
    double normalizer_epsilon;
    double fixed_normalizer; /* linear kinds; see mgk_linear. Such layers have gradients and no */
    bool mix_keys;           /* responsibilities, on devices with `all_parts` */
    mgk_prior_mode prior_mode;
    bool prior_of_all;    /* soft-E as in the paper's code: see mgk_config.prior_queries */
    mgk_prior_view prior; /* values NULL: none (M = 1 kinds, hard-E) */
    bool unit_features;   /* linear kinds; see mgk_linear. Such layers have no gradients */
    double dropout;       /* kinds that drop; see mgk_mixture */
    const mgk_draw *draw;
    uint64_t site;
} mgk_attention_layer;

/* Where the gradients of a layer's attention go. */
typedef struct mgk_layer_gradient {
    mgk_attention_gradient view;
    void *parameters[MGK_KIND_PARAMETERS]; /* += ; those that are drawn have none */
    void *below; /* of `below`, with its layout, += ; NULL: there is none */
    void *kept;  /* of this layer's `kept`, from the layer above; NULL: there is none */
} mgk_layer_gradient;

/*
 * What a kind computes. Queries, keys and values are those of the view. Each function may assume
 * that `prepare` was called with the same view and layer.
 */
typedef struct mgk_attention_methods {
    const char *primitives; /* "tile", "features", "factors", "mixing", "assignment": what the kind
                               is made of, for people */
    mgk_kind_memory (*memory)(const mgk_attention_size *, int samples, bool training);
    /* Fills layer->kept with what output and matrix have in common; NULL: nothing. */
    mgk_status (*prepare)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *);
    /* output [B, N, H, D], tokens output_stride apart, 0 for padding. */
    mgk_status (*forward)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                          void *output, size_t output_stride);
    /* Takes the output of `forward`. NULL: no gradients. */
    mgk_status (*backward)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                           const void *output, const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *);
    /* See mixture_matrix in attention_operations.h, of one sample. NULL: no N × N matrix exists. */
    mgk_status (*matrix)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                         mgk_matrix_content, int sample, const int32_t *heads, int count,
                         void *matrix);
    /* The same of several samples, first … first + samples − 1, to out [samples, count, N, keys];
     * NULL: sample by sample. */
    mgk_status (*matrices)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                           mgk_matrix_content, int first, int samples, const int32_t *heads,
                           int count, void *out);
    /*
     * Columns of the factors that `factors` computes; 0 where they would have negative entries.
     * NULL, as `factors`, for kinds whose matrices have no thin factors.
     */
    size_t (*factor_columns)(const mgk_attention_kind *, const mgk_attention_size *);
    /* See linear_factors in attention_operations.h. */
    mgk_status (*factors)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                          int sample, const int32_t *heads, int count, void *left, void *right);
    /*
     * See mixture_matrix_output in attention_operations.h; the device must have it. NULL for kinds whose output
     * costs little without the matrix.
     */
    mgk_status (*matrix_output)(mgk_device *, const mgk_attention_view *,
                                const mgk_attention_layer *, int sample, const int32_t *heads,
                                int count, void *matrix, void *output, size_t output_stride);
    /* Soft-E: adds responsibilities (attention_operations.h) to sums [2, prior.count], on the device; NULL for
     * kinds without priors. */
    mgk_status (*add_responsibilities)(mgk_device *, const mgk_attention_view *,
                                       const mgk_attention_layer *, double *sums);
} mgk_attention_methods;

struct mgk_attention_kind {
    const char *name;                /* "mgk" */
    const char *score;               /* a_ij before normalisation, for people */
    const char *rank_bound;          /* the largest rank of a matrix, for people: "N", "features" */
    const char *no_matrix;           /* why there is none of N × N; NULL: there is one */
    mgk_attention_settings defaults; /* not 0: the kind has the setting */
    mgk_key_design keys;
    bool mixture;        /* M may exceed 1; there are priors */
    bool gaussian;       /* there are variances, and hard-E is possible */
    bool terms;          /* scores may have a scale and mgk_score_terms */
    bool not_causal;     /* there is no causal form */
    bool causal_only;    /* there is no other form */
    bool unnormalized;   /* rows do not sum to 1 */
    bool plain_sums;     /* nothing adds normalizer_epsilon to the sum of a row */
    bool may_be_blank;   /* a query may see no key at all; its row is 0 */
    bool signed_entries; /* entries may be negative */
    bool own_values;     /* some rows weigh other values than those of the view */
    bool reads_below;    /* `below` of mgk_attention_layer */
    bool masks;          /* leaves out the keys that the view masks, on the CPU */
    bool positional;     /* tiles without a dot product: queries and keys have no gradients */
    bool on_cuda;        /* the CUDA backend has its operations */
    /* Later tokens have a say in which earlier keys a query of causal attention sees. */
    bool choice_looks_ahead;
    const mgk_attention_methods *methods;

    /* What the methods of a primitive ask the kind for: the scores of tiles, the feature maps. If
     * a tile has terms.full, that is the kind's first parameter. */
    mgk_mixture (*tile)(const mgk_attention_view *, const mgk_attention_layer *);
    mgk_linear (*features)(const mgk_attention_view *, const mgk_attention_layer *);
    /* Tiles: the view with other queries, keys or values, which `prepare` put into `kept`. NULL: it
     * is used as it is. */
    mgk_attention_view (*replaced)(const mgk_device *, const mgk_attention_view *,
                                   const mgk_attention_layer *);
    /*
     * mgk_distance_methods: what a head adds to the logits of pairs with j − i = distance. `own`
     * are the head's numbers in the kind's parameters, all [H]; sets the derivative by each.
     */
    double (*distance)(const mgk_attention_size *, int head, int distance, const double *own,
                       double *slopes);

    /* Keys that a query sees, but for a causal mask and padding; NULL: all. */
    void (*pattern)(const mgk_attention_size *, int head, int query, mgk_pattern_row *);
    bool pattern_of_head; /* heads have different ones */
    /* The keys of the pattern where `replaced` has other ones than tokens; a rule for these leaves
     * out what a causal mask hides. NULL: N. */
    int (*pattern_keys)(const mgk_attention_size *);
    /* What the pattern of a layer reads besides, the same for all queries: so many numbers, perhaps
     * none, and their values; NULL: nothing. STATUS_MEMORY. */
    size_t (*plan_count)(const mgk_attention_size *);
    mgk_status (*plan)(const mgk_attention_size *, int32_t *out);

    /* Writes the kind's parameters and returns their number; NULL: it has none. */
    int (*parameters)(const mgk_attention_size *, mgk_kind_parameter out[MGK_KIND_PARAMETERS]);
    /* So many further numbers of each token, maps of x as queries are; NULL: none. */
    int (*extra)(const mgk_attention_size *);
    /* STATUS_USAGE: the kind cannot have these sizes and settings; NULL: it has any. */
    mgk_status (*check)(const mgk_attention_size *);
    /*
     * Floating-point operations of one sample's forward pass from queries, keys and values to the
     * output, all heads; a multiply-add counts as two, an exponential as one.
     */
    double (*flops)(const mgk_attention_kind *, const mgk_attention_size *);
};

/* The kind with this name, or NULL. */
const mgk_attention_kind *mgk_attention_find(const char *name);

/* STATUS_UNSUPPORTED: no N × N matrix of the kind exists, for the reason that its row gives. */
mgk_status mgk_attention_check_matrix(const mgk_attention_kind *kind);

/* Whether the device has the operations of a kind. */
bool mgk_attention_runs_on(const mgk_attention_kind *kind, const mgk_device *device);

/* Whether outputs and gradients of a kind heed the layer's dropout. */
bool mgk_attention_drops(const mgk_attention_kind *kind);

/* Row number `index` of the registry, NULL past its end. */
const mgk_attention_kind *mgk_attention_row(size_t index);

mgk_pattern_shape mgk_attention_pattern_shape(const mgk_attention_kind *kind,
                                              const mgk_attention_size *size);

/*
 * The pattern of a kind that has one, for a layer of `size` whose view has size->tokens tokens.
 * Release with mgk_pattern_release. Fails as mgk_pattern_build does.
 */
mgk_status mgk_attention_pattern(const mgk_attention_kind *kind, const mgk_attention_size *size,
                                 mgk_pattern *out);

/* Pairs (i, j) where query i sees key j: N², or N (N + 1) / 2 when causal, less those outside a
 * window. */
double mgk_attention_pairs(const mgk_attention_size *size);

#endif
