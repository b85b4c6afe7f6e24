/* SPDX-License-Identifier: MIT */
/* Shared by the two files of a running model as a source: what it holds, and its sizes. */
#ifndef MGK_RUN_MODEL_SOURCE_PRIVATE_H
#define MGK_RUN_MODEL_SOURCE_PRIVATE_H

#include <pthread.h>

#include "analysis/run/selection.h"
#include "kernels/kept_view.h"
#include "run/model_run.h"
#include "run/source_importance.h"
#include "run/sources.h"

/* The inputs of a layer's matrices. */
typedef struct mgk_kept_layer {
    mgk_kept_view vectors;
    mgk_attention_layer attention;
    void *prepared; /* on the device: the kind's memory; NULL: it has prepared nothing */
    size_t prepared_bytes;
    void *output; /* on the device: [T, C]; NULL: not wanted */
} mgk_kept_layer;

typedef struct mgk_model_source {
    mgk_job job;            /* without a watcher, because only the calling thread may call it */
    const mgk_job *watched; /* with it, where a batch takes long; borrowed */
    mgk_model_run run;
    int32_t *layers; /* [layer_count] */
    int32_t *heads;  /* the analysed heads of each layer, [head_count] */
    size_t layer_count, head_count;
    size_t mixtures;            /* M of the layer with most keys */
    mgk_layer_keys *layer_keys; /* [layer_count] */
    mgk_kept_layer *kept;       /* [layer_count], of the last batch */
    size_t depth;               /* columns of a matrix's factors; 0: whole matrices are computed */
    unsigned kinds;             /* bit set of the wanted vectors */
    double *rows;               /* [N, ·], vectors of one sample, on the host */
    mgk_selection selection;
    int32_t *numbers;     /* as selection.head, the model's numbers of these heads */
    int32_t *heads_there; /* the same on the device */

    size_t capacity;    /* most matrices prepared at a time */
    size_t held;        /* bytes of these matrices, their vectors and importances on the host */
    void *matrices;     /* on the device: [capacity, N, N], or factors [2, capacity, N, depth] */
    double *vectors[3]; /* of mgk_vectors, the wanted ones, on the host: [capacity, M or 1, N, D],
                           those of a group's heads packed from the group's place on */
    size_t group;       /* matrices of a whole group */
    bool outputs;       /* whether outputs of layers are wanted */
    double *output;     /* on the host: [capacity / group, N, C], of each group */
    mgk_source_importance importance;
    int32_t *tokens;      /* [capacity, N], of each group's sample at the group's place */
    void *block;          /* on the device: [N, N], on its way to the host; NULL: not needed */
    pthread_mutex_t lock; /* held during downloads */
} mgk_model_source;

/* N of the keys: columns of a matrix on the device. */
static inline size_t mgk_source_key_tokens(const mgk_model_source *s)
{
    return (size_t)mgk_model_run_keys(&s->run)->tokens;
}

/* Vectors of a head and token. */
static inline size_t mgk_source_mixtures(const mgk_model_source *s, mgk_vectors which)
{
    return which == MGK_KEYS ? s->mixtures : 1;
}

/* Numbers in the vectors of one head. */
static inline size_t mgk_source_head_numbers(const mgk_model_source *s, mgk_vectors which)
{
    return mgk_source_mixtures(s, which) * (size_t)s->run.tokens *
           (size_t)s->run.model->config.head_dim;
}

/* Numbers in the output of a layer on one sample. */
static inline size_t mgk_source_output_numbers(const mgk_model_source *s)
{
    return (size_t)s->run.tokens * (size_t)s->run.model->config.dim;
}

/* The source of a model that is open. */
mgk_source mgk_model_source_of(mgk_model_source *s, bool double_precision);

#endif
