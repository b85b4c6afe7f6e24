/* SPDX-License-Identifier: MIT */
/* Logits and the loss of a forward pass. */
#include "model/core/pass_private.h"

/* ---- logits ---------------------------------------------------------------------------------- */

static mgk_status word_logits(mgk_pass *pass, const void *hidden, size_t first, size_t count)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_linear_map head = pass->model->parameters.head;
    const size_t full = (size_t)mgk_config_hidden_width(config), words = mgk_pass_classes(pass);
    const bool outer = config->embedding_outer;
    const size_t dim = outer ? (size_t)config->embedding : full;
    const void *state = mgk_at(device, hidden, first * full);
    if (outer)
        TRY(mgk_pass_linear(pass, pass->model->parameters.back, count, full, dim, state,
                            pass->narrow));
    TRY(device->op->multiply(device, false, true, count, words, dim, config->logit_scale,
                             outer ? pass->narrow : state, dim, mgk_pass_weight(pass, head.weight),
                             dim, 0, pass->logits, words));
    if (head.bias != MGK_ABSENT)
        TRY(device->op->bias_activation(device, MGK_ACTIVATION_NONE, count, words,
                                        mgk_pass_weight(pass, head.bias), pass->logits, NULL));
    return config->logit_cap > 0
               ? device->op->soft_cap(device, count * words, config->logit_cap, pass->logits)
               : STATUS_OK;
}

static mgk_status classifier_logits(mgk_pass *pass, const void *hidden)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_parameters *parameters = &pass->model->parameters;
    size_t rows = mgk_pass_logit_rows(pass), dim = (size_t)config->dim;
    size_t inner = (size_t)config->classifier;
    const size_t divisor = mgk_pass_pooled_divisor(pass);
    const void *features = pass->pooled;
    TRY(device->op->pool(device, (size_t)pass->sequences, (size_t)pass->tokens, dim,
                         pass->pooled_tokens, divisor, hidden, pass->pooled));
    if (config->dual) {
        TRY(device->op->pair_features(device, rows, dim, pass->pooled, pass->features));
        features = pass->features;
    }
    mgk_linear_map map = {parameters->classifier.weight, MGK_ABSENT};
    TRY(mgk_pass_linear(pass, map, rows, config->dual ? 4 * dim : dim, inner, features,
                        pass->classified));
    TRY(device->op->bias_activation(device, MGK_ACTIVATION_RELU, rows, inner,
                                    mgk_pass_weight(pass, parameters->classifier.bias),
                                    pass->classified, pass->rectified));
    return mgk_pass_linear(pass, parameters->head, rows, inner, mgk_pass_classes(pass),
                           pass->rectified, pass->logits);
}

bool mgk_model_has_logits(const mgk_model *model)
{
    return model->config.family == MGK_FAMILY_LM ? model->config.cutoff_count == 0
                                                 : model->config.classes > 0;
}

mgk_logits mgk_pass_logits(const mgk_pass *pass)
{
    const size_t rows = mgk_pass_logit_rows(pass);
    const bool lm = pass->model->config.family == MGK_FAMILY_LM;
    return (mgk_logits){.rows = rows,
                        .classes = mgk_pass_classes(pass),
                        .most = lm && pass->logit_capacity < rows ? pass->logit_capacity : rows,
                        .room = pass->logit_capacity,
                        .values = pass->logits};
}

mgk_status mgk_pass_compute_logits(mgk_pass *pass, const void *hidden, size_t first, size_t count)
{
    return pass->model->config.family == MGK_FAMILY_LM ? word_logits(pass, hidden, first, count)
                                                       : classifier_logits(pass, hidden);
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* Adds the loss of rows whose logits are computed; row `first` has the first of them. */
static mgk_status entropy(mgk_pass *pass, size_t first, size_t count, double scale, mgk_loss *loss)
{
    mgk_device *device = pass->model->device;
    const size_t classes = mgk_pass_classes(pass);
    TRY(device->op->cross_entropy(device, count, classes, pass->logits, pass->targets + first,
                                  scale, pass->training ? pass->logits : NULL, loss));
    if (!pass->training || pass->smoothing == 0)
        return STATUS_OK;
    return device->op->smooth_targets(device, count, classes, pass->targets + first,
                                      scale * pass->smoothing, pass->logits);
}

mgk_status mgk_pass_smooth(mgk_pass *pass, double smoothing)
{
    const mgk_device *device = pass->model->device;
    if (smoothing != 0 && !device->op->smooth_targets)
        return mgk_fail(STATUS_UNSUPPORTED, "%s does not smooth targets; the CPU does",
                        device->name);
    if (smoothing != 0 && mgk_pass_has_clusters(pass))
        return mgk_fail(STATUS_UNSUPPORTED, "the targets of an adaptive softmax are not smoothed");
    pass->smoothing = smoothing;
    return STATUS_OK;
}

/* Adds the loss of each `each` rows of the batch to losses; the logits of rows first …
 * first + count − 1 are computed. */
static mgk_status entropies(mgk_pass *pass, size_t first, size_t count, size_t each,
                            mgk_loss *losses)
{
    mgk_device *device = pass->model->device;
    const size_t classes = mgk_pass_classes(pass);
    for (size_t row = first, next; row < first + count; row = next) {
        next = row - row % each + each;
        next = next < first + count ? next : first + count;
        TRY(device->op->cross_entropy(device, next - row, classes,
                                      mgk_at(device, pass->logits, (row - first) * classes),
                                      pass->targets + row, 1, NULL, losses + row / each));
    }
    return STATUS_OK;
}

/* Computes as many logits of a language model as fit the memory, of rows first …
 * first + *count − 1. */
static mgk_status next_logits(mgk_pass *pass, size_t first, size_t *count)
{
    const size_t left = mgk_pass_rows(pass) - first;
    *count = left < pass->logit_capacity ? left : pass->logit_capacity;
    return word_logits(pass, pass->output, first, *count);
}

mgk_status mgk_pass_loss(mgk_pass *pass, double scale, mgk_loss *loss)
{
    pass->loss_scale = scale;
    if (pass->model->config.family != MGK_FAMILY_LM) {
        TRY(classifier_logits(pass, pass->output));
        return entropy(pass, 0, mgk_pass_logit_rows(pass), scale, loss);
    }
    if (mgk_pass_has_clusters(pass))
        return mgk_pass_clustered_loss(pass, 0, mgk_pass_rows(pass), loss);
    for (size_t first = 0, count; first < mgk_pass_rows(pass); first += count) {
        TRY(next_logits(pass, first, &count));
        TRY(entropy(pass, first, count, scale, loss));
    }
    return STATUS_OK;
}

mgk_status mgk_pass_sample_losses(mgk_pass *pass, mgk_loss *losses)
{
    const size_t tokens = (size_t)pass->tokens, sequences = (size_t)pass->sequences;
    if (pass->model->config.family != MGK_FAMILY_LM) {
        TRY(classifier_logits(pass, pass->output));
        return entropies(pass, 0, mgk_pass_logit_rows(pass), 1, losses);
    }
    if (mgk_pass_has_clusters(pass)) {
        for (size_t i = 0; i < sequences; i++)
            TRY(mgk_pass_clustered_loss(pass, i * tokens, (i + 1) * tokens, losses + i));
        return STATUS_OK;
    }
    for (size_t first = 0, count; first < mgk_pass_rows(pass); first += count) {
        TRY(next_logits(pass, first, &count));
        TRY(entropies(pass, first, count, tokens, losses));
    }
    return STATUS_OK;
}
