/* SPDX-License-Identifier: MIT */
/* Soft-E priors: of each layer that has them, sums [2, P] of responsibilities and of queries. */
#include "model/core/pass_private.h"

/* P of a layer; 0: it has no soft-E priors. */
static size_t count_priors(const mgk_model *model, int index)
{
    const mgk_parameters *parameters = &model->parameters;
    const mgk_offset prior = parameters->layers[index].prior;
    if (model->config.prior != MGK_PRIOR_EM || prior == MGK_ABSENT)
        return 0;
    size_t i = 0;
    while (parameters->list[i].offset != prior)
        i++;
    return parameters->list[i].count;
}

/* Numbers of the sums of the layers before `end`. */
static size_t count_numbers(const mgk_model *model, int end)
{
    size_t numbers = 0;
    for (int l = 0; l < end; l++)
        numbers += 2 * count_priors(model, l);
    return numbers;
}

size_t mgk_pass_prior_numbers(const mgk_pass *pass)
{
    return count_numbers(pass->model, pass->model->config.layers);
}

static double *sums_of(const mgk_pass *pass, int index)
{
    return pass->prior_sums + count_numbers(pass->model, index);
}

double *mgk_pass_prior_sums(const mgk_pass *pass, size_t *count)
{
    *count = pass->prior_sums ? mgk_pass_prior_numbers(pass) : 0;
    return pass->prior_sums;
}

mgk_status mgk_pass_add_responsibilities(const mgk_pass *pass, int index)
{
    const mgk_attention_view view = mgk_pass_view(pass, index);
    const mgk_attention_layer layer = mgk_pass_attention(pass, index);
    if (pass->frozen || count_priors(pass->model, index) == 0)
        return STATUS_OK;
    return layer.kind->methods->add_responsibilities(pass->model->device, &view, &layer,
                                                     sums_of(pass, index));
}

mgk_status mgk_pass_update_priors(const mgk_pass *pass)
{
    const mgk_model *model = pass->model;
    mgk_device *device = model->device;
    if (!pass->prior_sums)
        return STATUS_OK;
    for (int l = 0; l < model->config.layers; l++)
        if (count_priors(model, l) > 0)
            TRY(device->op->mean_responsibilities(
                device, count_priors(model, l), sums_of(pass, l),
                mgk_pass_weight(pass, model->parameters.layers[l].prior)));
    return device->op->zero(device, pass->prior_sums,
                            mgk_pass_prior_numbers(pass) * sizeof(*pass->prior_sums));
}
