/* The description of an attention store: sizes, objects and their origin. Plain data, the same for
 * the writer and the reader. */
#ifndef MGK_STORE_DESCRIPTION_H
#define MGK_STORE_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/token_text.h"

/* Element types. Memory holds F32 or F64; files hold any of them. */
typedef enum mgk_store_real { STORE_F16, STORE_F32, STORE_F64 } mgk_store_real;

/*
 * The objects that a store may hold. The first five belong to each sample (axes
 * sample, layer, head, ...), the others to the model (axes layer, head, ...).
 * The shape after the head axis is given here.
 */
typedef enum mgk_store_object {
    STORE_ATTENTION,   /* [N, N] */
    STORE_SCORES,      /* [N, N] */
    STORE_QUERIES,     /* [N, D] */
    STORE_KEYS,        /* [M, N, D] */
    STORE_VALUES,      /* [N, D] */
    STORE_KEY_WEIGHTS, /* [M, C, D]; k = x W + b */
    STORE_KEY_BIAS,    /* [M, D] */
    STORE_PRIORS,      /* [M], or [M, N] where priors_per_key */
    STORE_VARIANCES,   /* [M] */
    STORE_OBJECTS      /* how many there are */
} mgk_store_object;

/* An object as a member of a bit set. */
#define MGK_STORE_BIT(object) (1u << (object))

typedef struct mgk_store_description {
    int32_t samples, layers, heads; /* S, L, H: how many are stored */
    int32_t tokens;                 /* N: padded length */
    int32_t mixtures;               /* M: keys per head and position */
    int32_t head_dim, model_dim;    /* D, C; 0 where no object has such an axis */
    const int32_t *sample_index;    /* [S]: which samples, */
    const int32_t *layer_index;     /* [L]: layers */
    const int32_t *head_index;      /* [H]: and heads of the model they are */
    mgk_store_real storage;         /* element type of the objects of each sample */
    unsigned objects;               /* which objects are stored: bit set */
    mgk_token_text token_text;      /* stored beside the tokens where it has `of`. Of a store that
                                       was read: no `of`, and `subword` is NULL without text */
    bool priors_per_key;            /* priors depend on the key position */
    bool causal;                    /* keys after the query have no weight */
    bool row_normalized;            /* rows of attention sum to 1 */
    int leading_axes;               /* of an array of others, in front of its matrices: of sample;
                                       sample and head; sample, layer and head. 0 of a store */
    const char *software;           /* name and version */
    const char *model;              /* last component of the model's path */
    const char *model_sha256;       /* of the model's file */
    const char *attention;          /* kind: "softmax", "mgk", ... */
    const char *config;             /* the model's configuration, JSON */
    const char *command;            /* command line that wrote the store */
    const char *created;            /* UTC, ISO 8601; filled in by the writer itself */
    const char *precision;          /* "single" or "double" */
    const char *device;             /* where the forward pass ran */
} mgk_store_description;

#endif
