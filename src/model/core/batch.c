/* SPDX-License-Identifier: MIT */
/* Uploads a batch: the only step of a pass that involves the host. */
#include <string.h>

#include "base/memory.h"
#include "model/core/pass_private.h"

/* The first random stream of dropout, distinct from those of initial weights and of data. */
static const uint64_t dropout_streams = (uint64_t)0xD809 << 48;

static mgk_status check_batch(const mgk_pass *pass, const mgk_batch *batch)
{
    const mgk_config *config = &pass->model->config;
    size_t rows = (size_t)batch->sequences * (size_t)batch->tokens;
    if (batch->sequences < 1 || batch->tokens < 1 ||
        (size_t)batch->sequences > pass->capacity_sequences ||
        (size_t)batch->tokens > pass->capacity_tokens || (config->dual && batch->sequences % 2))
        return mgk_fail(STATUS_SHAPE, "a batch of %d sequences of %d tokens does not fit",
                        batch->sequences, batch->tokens);
    const char *expected = config->picture.patch > 0 ? "pictures"
                           : config->sound.bands > 0 ? "sounds"
                                                     : "tokens";
    if ((batch->input == NULL) != mgk_config_reads_tokens(config) ||
        (batch->input && batch->tokens != config->length))
        return mgk_fail(STATUS_SHAPE, "a batch of %s for a model that reads %s",
                        batch->input ? "numbers" : "tokens", expected);
    for (size_t i = 0; i < rows; i++)
        if (batch->ids[i] < -1 || batch->ids[i] >= config->vocabulary)
            return mgk_fail(STATUS_FORMAT, "token id %d: expected -1 (padding) to %d",
                            batch->ids[i], config->vocabulary - 1);
    for (int b = 0; b < batch->sequences; b++)
        if (batch->lengths[b] < 0 || batch->lengths[b] > batch->tokens)
            return mgk_fail(STATUS_SHAPE, "sequence length %d: expected 0 to %d", batch->lengths[b],
                            batch->tokens);
    return STATUS_OK;
}

static mgk_status check_targets(const mgk_pass *pass, const int32_t *targets)
{
    size_t rows = mgk_pass_logit_rows(pass), classes = mgk_pass_classes(pass);
    for (size_t i = 0; i < rows; i++)
        if (targets[i] >= (int32_t)classes)
            return mgk_fail(STATUS_FORMAT, "target %d: expected less than %zu", targets[i],
                            classes);
    return STATUS_OK;
}

/*
 * The ids, and of models with a mask the share of each sequence that it leaves. Tokens of the mask
 * get the id -1, whose embedding is 0.
 */
static mgk_status load_ids(const mgk_pass *pass, const mgk_batch *batch)
{
    mgk_device *device = pass->model->device;
    const size_t rows = mgk_pass_rows(pass), tokens = (size_t)batch->tokens;
    int32_t *ids;
    if (!pass->unmasked)
        return device->op->upload(device, pass->ids, batch->ids, rows * sizeof(*ids));
    TRY(mgk_alloc(rows, sizeof(*ids), &ids));
    memcpy(ids, batch->ids, rows * sizeof(*ids));
    for (size_t b = 0; b < (size_t)batch->sequences; b++) {
        const size_t length = (size_t)batch->lengths[b];
        size_t left = 0;
        for (int32_t *id = ids + b * tokens; id < ids + b * tokens + length; id++) {
            *id = *id == pass->model->config.mask_token ? -1 : *id;
            left += *id >= 0;
        }
        pass->unmasked[b] = left > 0 ? (double)left / (double)length : 1; /* none: all are 0 */
    }
    mgk_status status = device->op->upload(device, pass->ids, ids, rows * sizeof(*ids));
    mgk_free(ids);
    return status;
}

/*
 * Positions that skip padding: position N for padding, the number of other ids before for others,
 * -1 behind the end (RoBERTa).
 */
static mgk_status load_places(mgk_pass *pass, const mgk_batch *batch)
{
    const mgk_config *config = &pass->model->config;
    mgk_device *device = pass->model->device;
    const size_t rows = mgk_pass_rows(pass);
    int32_t *places, counted = 0;
    pass->padded = false;
    if (!pass->places)
        return STATUS_OK;
    TRY(mgk_alloc(rows, sizeof(*places), &places));
    for (size_t i = 0; i < rows; i++) {
        const bool padding = batch->ids[i] == config->padding;
        counted = i % (size_t)batch->tokens ? counted : 0;
        places[i] = padding ? config->length : batch->ids[i] < 0 ? -1 : counted++;
        pass->padded |= padding || (pass->unmasked && batch->ids[i] == config->mask_token);
    }
    mgk_status status = STATUS_OK;
    if (pass->padded && !device->op->add_rows)
        status = mgk_fail(STATUS_UNSUPPORTED,
                          "padding or a mask inside of a sequence: only the CPU places such tokens "
                          "and those after them");
    else if (pass->padded)
        status = device->op->upload(device, pass->places, places, rows * sizeof(*places));
    mgk_free(places);
    return status;
}

/* Whether every layer leaves out keys that are masked. */
static bool all_mask(const mgk_model *model)
{
    bool all = model->device->op->add_rows != NULL; /* the CPU alone has it */
    for (int l = 0; l < model->config.layers; l++)
        all &= mgk_model_kind(model, l)->masks;
    return all;
}

/* Tokens with the id of padding that no query sees. */
static mgk_status load_masked(mgk_pass *pass, const mgk_batch *batch)
{
    mgk_device *device = pass->model->device;
    const size_t rows = mgk_pass_rows(pass);
    int32_t *masked;
    pass->has_masked = false;
    if (!pass->masked)
        return STATUS_OK;
    TRY(mgk_alloc(rows, sizeof(*masked), &masked));
    for (size_t i = 0; i < rows; i++) {
        masked[i] = batch->ids[i] == pass->model->config.padding;
        pass->has_masked |= masked[i];
    }
    mgk_status status = STATUS_OK;
    if (pass->has_masked && (pass->training || !all_mask(pass->model)))
        status = mgk_fail(STATUS_UNSUPPORTED,
                          "the id of padding, %d, inside of a sequence: only softmax, linear "
                          "attention and their mixtures leave it out, on the CPU, not in training",
                          pass->model->config.padding);
    else if (pass->has_masked)
        status = device->op->upload(device, pass->masked, masked, rows * sizeof(*masked));
    mgk_free(masked);
    return status;
}

/* The patterns of layers for N tokens; the pass keeps those of the last N. */
static mgk_status build_patterns(mgk_pass *pass)
{
    const mgk_model *model = pass->model;
    const int layers = model->config.layers;
    if (pass->pattern_tokens == pass->tokens)
        return STATUS_OK;
    pass->pattern_tokens = 0;
    mgk_pass_release_patterns(pass);
    for (int l = 0; l < layers; l++) {
        const mgk_attention_kind *kind = mgk_model_kind(model, l);
        const mgk_attention_size size = mgk_attention_size_of(&model->config, l, pass->tokens);
        if (!kind->pattern)
            continue;
        if (!pass->patterns)
            TRY(mgk_alloc((size_t)layers, sizeof(*pass->patterns), &pass->patterns));
        TRY(mgk_attention_pattern(kind, &size, &pass->patterns[l]));
    }
    pass->pattern_tokens = pass->tokens;
    return STATUS_OK;
}

void mgk_pass_release_patterns(mgk_pass *pass)
{
    for (int l = 0; pass->patterns && l < pass->model->config.layers; l++)
        mgk_pattern_release(&pass->patterns[l]);
}

/* Tokens that an encoder pools: the valid ones, or the first of them. */
static mgk_status load_pooled(mgk_pass *pass, const mgk_batch *batch)
{
    mgk_device *device = pass->model->device;
    const size_t count = (size_t)batch->sequences;
    int32_t *first;
    if (!pass->pooled_tokens)
        return STATUS_OK;
    if (pass->model->config.pooling != MGK_POOLING_FIRST)
        return device->op->upload(device, pass->pooled_tokens, batch->lengths,
                                  count * sizeof(*first));
    TRY(mgk_alloc(count, sizeof(*first), &first));
    for (size_t b = 0; b < count; b++)
        first[b] = batch->lengths[b] > 0;
    mgk_status status =
        device->op->upload(device, pass->pooled_tokens, first, count * sizeof(*first));
    mgk_free(first);
    return status;
}

/* The random words of a share are those that it has in the whole batch, of which all tokens, or the
 * valid ones, are rows. */
static mgk_draw draw_of(const mgk_pass *pass, int tokens, const mgk_batch_place *place,
                        uint64_t seed, uint64_t stream)
{
    const size_t before = (size_t)place->before;
    const size_t rows = mgk_pass_can_pack(pass) ? place->valid_before : before * (size_t)tokens;
    return (mgk_draw){.seed = seed,
                      .stream = dropout_streams + stream * mgk_pass_sites(&pass->model->config),
                      .rows = rows,
                      .samples = before};
}

mgk_status mgk_pass_load(mgk_pass *pass, const mgk_batch *batch, const int32_t *targets,
                         uint64_t seed, uint64_t stream)
{
    const mgk_batch_place whole = {.whole = batch->sequences};
    return mgk_pass_load_share(pass, batch, &whole, targets, seed, stream);
}

mgk_status mgk_pass_load_share(mgk_pass *pass, const mgk_batch *batch, const mgk_batch_place *place,
                               const int32_t *targets, uint64_t seed, uint64_t stream)
{
    mgk_device *device = pass->model->device;
    const mgk_draw draw = draw_of(pass, batch->tokens, place, seed, stream);
    TRY(check_batch(pass, batch));
    pass->cross.hidden = NULL;
    pass->sequences = batch->sequences;
    pass->whole = place->whole;
    pass->tokens = batch->tokens;
    pass->packed = false;
    pass->valid = 0;
    for (int b = 0; b < batch->sequences; b++)
        pass->valid += (size_t)batch->lengths[b];
    TRY(build_patterns(pass));
    TRY(load_ids(pass, batch));
    TRY(load_places(pass, batch));
    TRY(load_masked(pass, batch));
    TRY(device->op->upload(device, pass->lengths, batch->lengths,
                           (size_t)batch->sequences * sizeof(int32_t)));
    TRY(load_pooled(pass, batch));
    TRY(device->op->upload(device, pass->draw, &draw, sizeof(draw)));
    if (batch->input)
        TRY(mgk_model_put(pass->model,
                          (size_t)pass->sequences * mgk_pass_input_size(&pass->model->config),
                          batch->input, pass->input));
    for (int b = 0; pass->far && b < batch->sequences; b++)
        pass->far[b] = batch->lengths[b] > pass->model->config.rotary_original;
    if (!targets)
        return STATUS_OK;
    TRY(check_targets(pass, targets));
    return device->op->upload(device, pass->targets, targets,
                              mgk_pass_logit_rows(pass) * sizeof(*targets));
}

mgk_status mgk_pass_set_memory(mgk_pass *pass, int tokens, const int32_t *lengths,
                               const void *hidden)
{
    mgk_device *device = pass->model->device;
    if (pass->model->config.memory == 0)
        return mgk_fail(STATUS_USAGE, "a memory for a model without an encoder");
    if (tokens < 1 || (size_t)tokens > pass->capacity_memory)
        return mgk_fail(STATUS_SHAPE, "a memory of %d tokens does not fit", tokens);
    for (int b = 0; b < pass->sequences; b++)
        if (lengths[b] < 0 || lengths[b] > tokens)
            return mgk_fail(STATUS_SHAPE, "sequence length %d: expected 0 to %d", lengths[b],
                            tokens);
    pass->cross.tokens = tokens;
    pass->cross.hidden = hidden;
    return device->op->upload(device, pass->cross.lengths, lengths,
                              (size_t)pass->sequences * sizeof(*lengths));
}
