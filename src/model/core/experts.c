/* SPDX-License-Identifier: MIT */
/*
 * Feed-forward blocks that are mixtures of experts (Shazeer et al. 2017, arXiv 1701.06538; Jiang et
 * al. 2024, arXiv 2401.04088). A router chooses k of E gated blocks for each token x:
 *     l = W_r x,   p = softmax l,   the k experts e with the largest l_e, equal ones by number,
 *     y = Σ_e w_e W_out,e (f(W_gate,e x) ∘ W_in,e x),
 * where w_e is p_e, or p_e divided by the sum of the k. There may be a block beside them that all
 * tokens use, with w = sigmoid(w_s·x), as in Qwen2 (Yang et al. 2024, arXiv 2407.10671).
 *
 * A token costs its k experts alone: those of an expert are gathered, so that it is three products
 * of matrices, and what it makes of them is added to y. Experts follow each other by number, so
 * that sums always have the same order.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/dense.h"
#include "model/core/pass_private.h"

/* The tokens of blocks, on the host. The shared block is number E. */
typedef struct groups {
    size_t *ends;    /* [E + 1]: tokens of block e are those from the end of e − 1 to its own */
    int32_t *tokens; /* [T k], or T more */
    double *weights; /* of the block for the token */
} groups;

/* Two maps [hidden, C], and one back, [C, hidden]. */
typedef struct block {
    mgk_offset gate, in, out;
    size_t hidden;
} block;

/* Fills pass->routing.scores with the probabilities of experts, and `chosen`. */
static mgk_status route(const mgk_pass *pass, int index, const void *input)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_linear_map router = {pass->model->parameters.layers[index].router, MGK_ABSENT};
    const size_t rows = mgk_pass_stream_rows(pass), experts = (size_t)config->experts;
    const mgk_head_maps maps = {.samples = 1, .heads = 1, .rows = rows, .cols = experts};
    TRY(mgk_pass_linear(pass, router, rows, (size_t)config->dim, experts, input,
                        pass->routing.scores));
    /* Before the softmax, which may round different scores to the same number. */
    TRY(device->op->dense->top_rows(device, 1, rows, experts, NULL, (size_t)config->experts_used,
                                    pass->routing.scores, pass->routing.chosen));
    return device->op->dense->softmax_rows(device, &maps, pass->routing.scores);
}

/* Sorts the tokens by expert: counts them, finds where each expert begins, and places them. */
static void sort_tokens(const mgk_config *config, size_t rows, const int32_t *chosen,
                        const double *scores, groups *out)
{
    const size_t experts = (size_t)config->experts, used = (size_t)config->experts_used;
    size_t begin = 0;
    for (size_t i = 0; i < rows * used; i++)
        out->ends[chosen[i]]++;
    for (size_t e = 0; e < experts; e++) {
        const size_t count = out->ends[e];
        out->ends[e] = begin;
        begin += count;
    }
    for (size_t t = 0; t < rows; t++) {
        const int32_t *own = chosen + t * used;
        double sum = 0;
        for (size_t i = 0; i < used; i++)
            sum += scores[t * experts + (size_t)own[i]];
        for (size_t i = 0; i < used; i++) {
            const size_t place = out->ends[own[i]]++;
            out->tokens[place] = (int32_t)t;
            out->weights[place] =
                scores[t * experts + (size_t)own[i]] / (config->experts_normalized ? sum : 1);
        }
    }
}

/* All tokens and their weights for the shared block, behind those of the experts. */
static mgk_status append_shared(const mgk_pass *pass, int index, const void *input, groups *out)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_linear_map router = {pass->model->parameters.layers[index].shared_router, MGK_ABSENT};
    const size_t rows = mgk_pass_stream_rows(pass), first = rows * (size_t)config->experts_used;
    if (config->experts_shared == 0)
        return STATUS_OK;
    /* They pass through the memory of all weights, which are not there yet. */
    TRY(mgk_pass_linear(pass, router, rows, (size_t)config->dim, 1, input, pass->routing.weights));
    TRY(mgk_device_download(device, pass->routing.weights, rows, out->weights + first));
    for (size_t t = 0; t < rows; t++) {
        out->tokens[first + t] = (int32_t)t;
        out->weights[first + t] = 1 / (1 + exp(-out->weights[first + t]));
    }
    out->ends[config->experts] = first + rows;
    return STATUS_OK;
}

/* Allocates and fills the groups of routed tokens, and uploads tokens and weights. */
static mgk_status group(const mgk_pass *pass, int index, const void *input, groups *out)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const size_t rows = mgk_pass_stream_rows(pass), experts = (size_t)config->experts;
    const size_t chosen = rows * (size_t)config->experts_used;
    const size_t count = chosen + (config->experts_shared > 0 ? rows : 0);
    mgk_status status;
    int32_t *numbers = NULL;
    double *scores = NULL;
    CHECK(mgk_alloc(experts + 1, sizeof(*out->ends), &out->ends));
    CHECK(mgk_alloc(count, sizeof(*out->tokens), &out->tokens));
    CHECK(mgk_alloc(count, sizeof(*out->weights), &out->weights));
    CHECK(mgk_alloc(rows * experts, sizeof(*scores), &scores));
    CHECK(mgk_device_indices(device, pass->routing.chosen, chosen, &numbers));
    CHECK(mgk_device_download(device, pass->routing.scores, rows * experts, scores));
    sort_tokens(config, rows, numbers, scores, out);
    CHECK(append_shared(pass, index, input, out));
    CHECK(
        device->op->upload(device, pass->routing.order, out->tokens, count * sizeof(*out->tokens)));
    CHECK(mgk_device_upload(device, out->weights, count, pass->routing.weights));
out:
    mgk_free(scores);
    mgk_free(numbers);
    return status;
}

/* The block of expert e; e = E: the shared one. */
static block block_of(const mgk_pass *pass, int index, size_t e)
{
    const mgk_config *config = &pass->model->config;
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    const size_t experts = (size_t)config->experts, hidden = (size_t)config->hidden;
    const size_t size = hidden * (size_t)config->dim;
    if (e == experts)
        return (block){weights->shared_gate, weights->shared_in, weights->shared_out,
                       (size_t)config->experts_shared};
    return (block){weights->in.weight + e * size, weights->in.weight + (experts + e) * size,
                   weights->out.weight + e * size, hidden};
}

/* y [rows, C] = the block of x [rows, C]; y may be x. */
static mgk_status run_block(const mgk_pass *pass, int index, const block *b, size_t rows,
                            const void *x, void *y)
{
    mgk_device *device = pass->model->device;
    const mgk_layer_activations *layer = &pass->layers[index];
    const size_t dim = (size_t)pass->model->config.dim, hidden = b->hidden;
    const mgk_offset maps[] = {b->gate, b->in};
    for (size_t i = 0; i < 2; i++)
        TRY(device->op->multiply(device, false, true, rows, hidden, dim, 1, x, dim,
                                 mgk_pass_weight(pass, maps[i]), dim, 0,
                                 mgk_at(device, layer->hidden, i * hidden), 2 * hidden));
    TRY(device->op->gate(device, pass->model->config.activation, rows, hidden, layer->hidden,
                         layer->activated));
    return device->op->multiply(device, false, true, rows, dim, hidden, 1, layer->activated, hidden,
                                mgk_pass_weight(pass, b->out), hidden, 0, y, dim);
}

/* Adds the part of expert e to pass->branch: `count` tokens from place `begin` on are its own. */
static mgk_status add_expert(const mgk_pass *pass, int index, size_t e, size_t begin, size_t count,
                             const void *input)
{
    mgk_device *device = pass->model->device;
    const mgk_routing *routing = &pass->routing;
    const block own = block_of(pass, index, e);
    const size_t dim = (size_t)pass->model->config.dim;
    const mgk_head_tokens all = {
        .samples = 1, .tokens = mgk_pass_stream_rows(pass), .heads = 1, .dim = dim, .stride = dim};
    const int32_t *tokens = routing->order + begin;
    TRY(device->op->dense->gather_tokens(device, &all, count, tokens, input, routing->gathered,
                                         dim));
    TRY(run_block(pass, index, &own, count, routing->gathered, routing->gathered));
    return device->op->dense->add_weighed_rows(device, count, dim, tokens,
                                               mgk_at(device, routing->weights, begin),
                                               routing->gathered, pass->branch);
}

mgk_status mgk_pass_mix_experts(mgk_pass *pass, int index, const void *input)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const size_t blocks = (size_t)config->experts + (config->experts_shared > 0 ? 1 : 0);
    const size_t numbers = mgk_pass_stream_rows(pass) * (size_t)config->dim;
    mgk_status status;
    groups own = {0};
    CHECK(route(pass, index, input));
    CHECK(group(pass, index, input, &own));
    CHECK(device->op->zero(device, pass->branch, numbers * device->real_size));
    for (size_t e = 0, begin = 0; e < blocks; begin = own.ends[e++])
        if (own.ends[e] > begin)
            CHECK(add_expert(pass, index, e, begin, own.ends[e] - begin, input));
out:
    mgk_free(own.weights);
    mgk_free(own.tokens);
    mgk_free(own.ends);
    return status;
}
