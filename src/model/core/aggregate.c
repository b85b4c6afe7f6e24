/* SPDX-License-Identifier: MIT */
/*
 * Heads that are aggregated as capsules. The output o_h [D] of head h votes for each of H capsules
 * through learned maps, and dynamic routing (Sabour et al. 2017, arXiv 1710.09829; see
 * kernels/dense.h) makes the capsules of a token by agreement of its votes:
 *     u_hj = W_hj o_h,   v_1 … v_H = routing of u in MGK_ROUTING_STEPS steps,
 *     attention(x) = W_O [v_1 … v_H] + b.
 * So Gu and Feng (2019, arXiv 1909.00188) aggregate heads, here with as many capsules as heads and
 * of their size; Li et al. (2019, arXiv 1904.03100) route in another form. The maps have no bias: a
 * head that is left out votes 0, as if it were not there.
 *
 * Tokens are routed in blocks, because votes are H times as many numbers as the outputs of heads.
 */
#include "kernels/dense.h"
#include "model/core/pass_private.h"

/* The tokens first … first + count − 1 of a layer. */
typedef struct block {
    mgk_pass *pass;
    int layer;
    size_t first, count;
} block;

static block block_at(mgk_pass *pass, int layer, size_t first)
{
    const size_t left = mgk_pass_stream_rows(pass) - first;
    return (block){pass, layer, first, left < MGK_ROUTED_TOKENS ? left : MGK_ROUTED_TOKENS};
}

static mgk_capsules capsules_of(const block *b)
{
    const mgk_config *config = &b->pass->model->config;
    return (mgk_capsules){.rows = b->count,
                          .inputs = (size_t)config->heads,
                          .outputs = (size_t)config->heads,
                          .dim = (size_t)config->head_dim,
                          .steps = MGK_ROUTING_STEPS};
}

/* The numbers of the block's tokens in an array [T, H, D]. */
static void *tokens_at(const block *b, const void *array)
{
    return mgk_at(b->pass->model->device, array, b->first * b->pass->width);
}

/* The strides of heads: of tokens [·, H, D], of votes [·, H, H D], of maps [H, H D, D]. */
static mgk_head_strides token_strides(const mgk_pass *pass)
{
    const size_t dim = (size_t)pass->model->config.head_dim;
    return (mgk_head_strides){0, dim, pass->width};
}

static mgk_head_strides vote_strides(const mgk_pass *pass)
{
    return (mgk_head_strides){0, pass->width, (size_t)pass->model->config.heads * pass->width};
}

static mgk_head_strides map_strides(const mgk_pass *pass)
{
    const size_t dim = (size_t)pass->model->config.head_dim;
    return (mgk_head_strides){0, pass->width * dim, dim};
}

/* pass->votes [count, H, H, D] of the block; heads that are left out vote 0. */
static mgk_status vote(const block *b)
{
    const mgk_pass *pass = b->pass;
    mgk_device *device = pass->model->device;
    const mgk_head_strides tokens = token_strides(pass), votes = vote_strides(pass),
                           maps = map_strides(pass);
    const void *outputs = tokens_at(b, pass->layers[b->layer].attended);
    const void *weight = mgk_pass_weight(pass, pass->model->parameters.layers[b->layer].votes);
    int first, end = 0;
    if (pass->removed)
        TRY(device->op->zero(device, pass->votes, b->count * votes.row * device->real_size));
    while (mgk_pass_next_kept(pass, b->layer, &first, &end)) {
        const size_t head = (size_t)first;
        const mgk_batched_product product = {.samples = 1,
                                             .heads = (size_t)(end - first),
                                             .m = b->count,
                                             .n = pass->width,
                                             .k = tokens.head,
                                             .transpose_b = true,
                                             .alpha = 1,
                                             .a = tokens,
                                             .b = maps,
                                             .c = votes};
        TRY(device->op->dense->batched_multiply(device, &product,
                                                mgk_at(device, outputs, head * tokens.head),
                                                mgk_at(device, weight, head * maps.head),
                                                mgk_at(device, pass->votes, head * votes.head)));
    }
    return STATUS_OK;
}

mgk_status mgk_pass_aggregate(mgk_pass *pass, int index)
{
    mgk_device *device = pass->model->device;
    for (size_t first = 0; first < mgk_pass_stream_rows(pass); first += MGK_ROUTED_TOKENS) {
        const block b = block_at(pass, index, first);
        const mgk_capsules capsules = capsules_of(&b);
        TRY(vote(&b));
        TRY(device->op->dense->route_capsules(device, &capsules, pass->votes,
                                              tokens_at(&b, pass->layers[index].capsules)));
    }
    return STATUS_OK;
}

/* From pass->dvotes: dW_h += dU_hᵀ O_h, and the tokens of dattended = dU_h W_h. */
static mgk_status vote_backward(const block *b, void *dweight)
{
    const mgk_pass *pass = b->pass;
    mgk_device *device = pass->model->device;
    const size_t heads = (size_t)pass->model->config.heads;
    const mgk_head_strides tokens = token_strides(pass), votes = vote_strides(pass),
                           maps = map_strides(pass);
    const mgk_batched_product of_maps = {.samples = 1,
                                         .heads = heads,
                                         .m = pass->width,
                                         .n = tokens.head,
                                         .k = b->count,
                                         .transpose_a = true,
                                         .alpha = 1,
                                         .beta = 1,
                                         .a = votes,
                                         .b = tokens,
                                         .c = maps};
    const mgk_batched_product of_heads = {.samples = 1,
                                          .heads = heads,
                                          .m = b->count,
                                          .n = tokens.head,
                                          .k = pass->width,
                                          .alpha = 1,
                                          .a = votes,
                                          .b = maps,
                                          .c = tokens};
    TRY(device->op->dense->batched_multiply(
        device, &of_maps, pass->dvotes, tokens_at(b, pass->layers[b->layer].attended), dweight));
    return device->op->dense->batched_multiply(
        device, &of_heads, pass->dvotes,
        mgk_pass_weight(pass, pass->model->parameters.layers[b->layer].votes),
        tokens_at(b, pass->dattended));
}

mgk_status mgk_pass_aggregate_backward(mgk_pass *pass, int index, void *gradient)
{
    mgk_device *device = pass->model->device;
    void *dweight = mgk_at(device, gradient, pass->model->parameters.layers[index].votes);
    for (size_t first = 0; first < mgk_pass_stream_rows(pass); first += MGK_ROUTED_TOKENS) {
        const block b = block_at(pass, index, first);
        const mgk_capsules capsules = capsules_of(&b);
        TRY(vote(&b));
        TRY(device->op->dense->route_capsules_backward(
            device, &capsules, pass->votes, tokens_at(&b, pass->dattended), pass->dvotes));
        TRY(vote_backward(&b, dweight));
    }
    return STATUS_OK;
}
