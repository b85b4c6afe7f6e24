/* SPDX-License-Identifier: MIT */
/*
 * The attention of a decoder's layer to a memory, the final hidden states m of an encoder, between
 * the layer's own attention and its feed-forward (Vaswani et al. 2017):
 *   pre-norm    x + attention(LN(x), m)
 *   post-norm   LN(x + attention(x, m))
 * Queries are maps of x, keys and values maps of m. No query is kept from a key but by padding.
 */
#include "model/core/pass_private.h"

/* Queries [T, H·D] from `input` [T, C], and keys and values [B M, 2 H·D]. */
static mgk_status project(const mgk_pass *pass, const mgk_layer_offsets *weights, const void *input)
{
    const mgk_config *config = &pass->model->config;
    const mgk_cross *cross = &pass->cross;
    TRY(mgk_pass_linear(pass, weights->cross_query, mgk_pass_rows(pass), (size_t)config->dim,
                        pass->width, input, cross->query));
    return mgk_pass_linear(pass, weights->cross_key,
                           (size_t)pass->sequences * (size_t)cross->tokens, (size_t)config->memory,
                           2 * pass->width, cross->hidden, cross->keys);
}

static mgk_observed observed(const mgk_pass *pass, int index)
{
    const mgk_config *config = &pass->model->config;
    const mgk_cross *cross = &pass->cross;
    mgk_observed out = {
        .config = config,
        .layer = index,
        .view = {.samples = pass->sequences,
                 .heads = config->heads,
                 .tokens = pass->tokens,
                 .key_tokens = cross->tokens,
                 .dim = config->head_dim,
                 .mixtures = 1,
                 .lengths = pass->lengths,
                 .key_lengths = cross->lengths,
                 .query = cross->query,
                 .key = cross->keys,
                 .value = mgk_at(pass->model->device, cross->keys, pass->width),
                 .query_stride = pass->width,
                 .key_stride = 2 * pass->width,
                 .value_stride = 2 * pass->width},
        .attention = mgk_model_attention(pass->model, index, pass->tokens),
    };
    out.attention.kept = pass->layers[index].kept;
    out.attention.terms = (mgk_score_terms){0}; /* a window is of the layer's own keys */
    return out;
}

mgk_status mgk_pass_cross(mgk_pass *pass, int index, bool ends, const mgk_observer *observer,
                          const void *x, const void **out)
{
    const mgk_config *config = &pass->model->config;
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    const mgk_cross *cross = &pass->cross;
    const bool pre = config->pre_norm;
    mgk_observed layer = observed(pass, index);
    if (pre)
        TRY(mgk_pass_norm(pass, weights->cross_norm, x, cross->normed, pass->mean,
                          pass->deviation));
    TRY(project(pass, weights, pre ? cross->normed : x));
    TRY(mgk_pass_attend(pass, &layer, ends, observer));
    *out = pre ? cross->sum : cross->normed;
    if (ends)
        return STATUS_OK;
    TRY(mgk_pass_linear(pass, weights->cross_output, mgk_pass_rows(pass), pass->width,
                        (size_t)config->dim, pass->layers[index].attended, pass->branch));
    /* Such models are not trained: there is no dropout, whatever its site. */
    TRY(mgk_pass_dropout_add(pass, 0, pass->branch, x, cross->sum));
    return pre ? STATUS_OK
               : mgk_pass_norm(pass, weights->cross_norm, cross->sum, cross->normed, pass->mean,
                               pass->deviation);
}
