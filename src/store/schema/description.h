/* SPDX-License-Identifier: MIT */
/* The description of an attention store: sizes, objects and origin. Plain data, the same for writer
 * and reader. */
#ifndef MGK_STORE_DESCRIPTION_H
#define MGK_STORE_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/token_text.h"
#include "store/foreign/axes.h"

/* Element types. Memory holds F32 or F64; files hold any of them. */
typedef enum mgk_store_real { STORE_F16, STORE_F32, STORE_F64 } mgk_store_real;

/* The objects of a store. The first five belong to each sample (axes sample, layer, head, ...), the
 * next to the model (axes layer, head, ...), and the last to a model that runs as another kind
 * (axes sample, layer, head). The comments give the shape after the head axis. */
typedef enum mgk_store_object {
    STORE_ATTENTION,           /* [N, K], K = N unless the store is `cross` */
    STORE_SCORES,              /* [N, K] */
    STORE_QUERIES,             /* [N, D] */
    STORE_KEYS,                /* [M, K, D] */
    STORE_VALUES,              /* [K, D] */
    STORE_KEY_WEIGHTS,         /* [M, C, D]; k = x W + b */
    STORE_KEY_BIAS,            /* [M, D] */
    STORE_PRIORS,              /* [M], or [M, N] where priors_per_key */
    STORE_VARIANCES,           /* [M] */
    STORE_APPROXIMATION_ERROR, /* [] of the matrix, see run/approximation.h */
    STORE_OUTPUT_ERROR,        /* [] of what the head gives */
    STORE_OBJECTS              /* number of objects */
} mgk_store_object;

/* An object as a member of a bit set. */
#define MGK_STORE_BIT(object) (1u << (object))

typedef struct mgk_store_description {
    int32_t samples, layers, heads; /* S, L, H: stored numbers */
    int32_t tokens;                 /* N: padded length, of the queries */
    int32_t key_tokens;             /* K: that of the keys of a `cross` store; 0: N */
    int32_t mixtures;               /* M: keys per head and position */
    int32_t head_dim, model_dim;    /* D, C; 0: no object has this axis */
    const int32_t *sample_index;    /* [S], numbers of the samples in the input */
    const int32_t *layer_index;     /* [L], numbers of the layers in the model */
    const int32_t *head_index;      /* [H], numbers of the heads in the model */
    mgk_store_real storage;         /* element type of the objects of each sample */
    unsigned objects;               /* bit set of MGK_STORE_BIT */
    mgk_token_text token_text; /* Writer: stored with the tokens if `of` is set. Reader: `of` is not
                                  set; `subword` is NULL if the file has no text */
    mgk_token_text key_token_text; /* Writer: the same of the keys of a `cross` store */
    bool priors_per_key;           /* priors depend on the key position */
    /* Queries and keys are of different sequences, whose lengths and tokens are stored each: of a
     * store its `part` is "cross"; of an array of other software its matrices are not square. */
    bool cross;
    bool causal;              /* keys after the query have no weight */
    bool row_normalized;      /* rows of attention sum to 1 */
    mgk_leading_axes leading; /* of a foreign array; none: a store, or a single matrix */
    int64_t training_step;    /* of the model, see mgk_model; -1: not known */
    const char *software;     /* name and version */
    const char *model;        /* last component of the model's path */
    const char *model_sha256; /* of the model's file */
    const char *attention;    /* kind: "softmax", "mgk", ... */
    const char *part;    /* "encoder", "decoder" or "cross" of an encoder-decoder model; "" (writer:
                            or NULL): another model, or not known */
    const char *config;  /* the model's configuration, JSON */
    const char *command; /* command line that wrote the store */
    const char *created; /* UTC, ISO 8601; set by the writer */
    const char *precision; /* "single" or "double" */
    const char *device;    /* where the forward pass ran */
} mgk_store_description;

/* K: the padded length of the keys. */
static inline int32_t mgk_store_keys(const mgk_store_description *description)
{
    return description->key_tokens > 0 ? description->key_tokens : description->tokens;
}

#endif
