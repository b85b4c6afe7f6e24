/* SPDX-License-Identifier: MIT */
/* A model: its configuration, and its weights on a device. */
#ifndef MGK_MODEL_MODEL_H
#define MGK_MODEL_MODEL_H

#include "kernels/attention.h"
#include "model/core/config.h"
#include "model/core/parameters.h"

typedef struct mgk_model {
    mgk_config config;
    mgk_parameters parameters;
    mgk_device *device; /* borrowed; NULL: no weights */
    void *weights;      /* [parameters.total], on the device */
    int64_t step;       /* of training, after which the weights were taken; -1: not known */
    const mgk_attention_kind *own_kind; /* of its layers, before mgk_model_run_as; NULL: as they are
                                         */
    bool encodes;                       /* it is the encoder of an encoder-decoder model */
    char *folder;                       /* the folder of its files; NULL: created, not loaded */
    char *tokenizer;                    /* the text of the tokenizer that it carries; NULL: none */
    char *remark; /* one line about unused tensors and assumptions while loading; NULL: none */
    bool news; /* the remark tells more than that an encoder's pooler is not used, as most have one
                */
} mgk_model;

/*
 * Creates a model of a resolved configuration, with initial weights drawn from `seed`: step 0. The
 * caller keeps the device, which must outlive the model. Release with mgk_model_free.
 */
mgk_status mgk_model_create(const mgk_config *config, uint64_t seed, mgk_device *device,
                            mgk_model **out);

/* The same with weights of 0 of no known step, for a caller that will fill them; device NULL:
 * without weights. */
mgk_status mgk_model_create_empty(const mgk_config *config, mgk_device *device, mgk_model **out);

void mgk_model_free(mgk_model *model); /* NULL is accepted */

/*
 * Copies numbers from the host, float64 [count], to an array on the model's device. STATUS_NUMERIC:
 * a number does not fit its precision.
 */
mgk_status mgk_model_put(const mgk_model *model, size_t count, const double *host, void *array);

/*
 * Copies between host numbers, float64 [parameters.total], and an array with the model's layout on
 * its device. STATUS_NUMERIC: a number does not fit the device's precision.
 */
mgk_status mgk_model_upload(const mgk_model *model, const double *host, void *array);
mgk_status mgk_model_download(const mgk_model *model, const void *array, double *host);

/*
 * Copies a part of the model's weights to the host: numbers offset … offset + count − 1 to out
 * [count].
 */
mgk_status mgk_model_read(const mgk_model *model, mgk_offset offset, size_t count, double *out);

/*
 * The parameters of a layer's attention to `tokens` tokens, without queries, keys and values;
 * pointers lead into the weights. Memory and a bias by distance belong to a pass, whose observers
 * see them.
 */
mgk_attention_layer mgk_model_attention(const mgk_model *model, int layer, int tokens);

/* The first row of component r of a head in a layer's key projection [M G D or G D, C]. */
size_t mgk_key_row(const mgk_model *model, int layer, int head, int r);

/* The most numbers in a row that contains the queries, keys and values of a token of a layer. */
size_t mgk_model_row_width(const mgk_model *model);

/* Whether a layer has shifted keys. */
bool mgk_model_shifts_keys(const mgk_model *model);

/* Key projections of a head in a layer: M of the layer, or 1 if keys are shifted. */
int mgk_model_key_weights(const mgk_model *model, int layer);

/* The kind of a layer's attention. */
const mgk_attention_kind *mgk_model_kind(const mgk_model *model, int layer);

/* Whether a layer's attention needs what that of the layer below computed. */
bool mgk_model_reads_below(const mgk_model *model);

/*
 * Draws the numbers anew that the model has and does not train, such as random features, on its
 * device: draw `draw` of the seed, see mgk_parameters_draw. STATUS_MEMORY, or the device fails.
 */
mgk_status mgk_model_redraw(const mgk_model *model, uint64_t seed, uint64_t draw);

/*
 * From now on the layers of a model of softmax have another kind of attention, or `kinds` as in
 * `attention` of a configuration, with these settings. The weights stay; random features are drawn
 * from `seed` as mgk_model_create does, and random patterns from `pattern_seed`. Layers read the
 * output of the new attention. Fails without a change. STATUS_USAGE: the model has another kind, or
 * the new one has trained parameters, no causal form for a causal model, no scale, cap, window or
 * bias of scores for a model that has them, or such settings; STATUS_UNSUPPORTED: it has no matrix.
 */
mgk_status mgk_model_run_as(mgk_model *model, const char *kinds,
                            const mgk_attention_settings *settings, int pattern_seed,
                            uint64_t seed);

/*
 * Reads W [C, D] of a layer, head and component r, with k = x W + b, to out. Shifted designs have
 * one projection for all components.
 */
mgk_status mgk_key_weight(const mgk_model *model, int layer, int head, int r, double *out);

/*
 * Reads the vectors, of C numbers, that a projection of these heads [count] of a layer reads or
 * writes: the rows of W_Q, of W_K or of W_V, out [count, D, C], of W_K of M projected keys
 * [count, M D, C]; or the columns of W_O, out [count, D, C]. Heads that share keys and values have
 * the same ones.
 */
mgk_status mgk_model_projections(const mgk_model *model, mgk_projection which, int layer,
                                 const int32_t *heads, size_t count, double *out);

#endif
