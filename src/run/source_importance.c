/* SPDX-License-Identifier: MIT */
#include "run/source_importance.h"

#include "base/memory.h"

unsigned mgk_source_importance_choose(const mgk_source_options *options, const mgk_model_run *run)
{
    const unsigned wanted = options->importances & mgk_head_importance_kinds(run);
    if (run->cross)
        return 0;
    return wanted | (options->best_importance ? MGK_IMPORTANCE_BIT(mgk_ablation_best(run)) : 0);
}

int mgk_source_importance_batch(const mgk_model_run *run, unsigned wanted, size_t layer_count,
                                size_t memory)
{
    const size_t usual = (size_t)run->device->batch_tokens, tokens = (size_t)run->tokens;
    if (wanted == 0 || memory == 0)
        return 0;
    const size_t sequences = memory / mgk_head_importance_bytes(run, wanted, layer_count, true);
    if (sequences > usual / tokens)
        return 0;
    return sequences > 0 ? (int)(sequences * tokens) : 1;
}

static mgk_status open(mgk_model_run *run, const int32_t *layers, size_t layer_count,
                       size_t head_count, size_t most, mgk_source_importance *m)
{
    for (int which = 0; which < MGK_IMPORTANCES; which++)
        if (m->wanted & MGK_IMPORTANCE_BIT(which))
            TRY(mgk_alloc(most, sizeof(double), &m->values[which]));
    return mgk_head_importance_open(run, m->wanted, layers, layer_count, m->numbers, head_count,
                                    &m->heads);
}

mgk_status mgk_source_importance_open(mgk_model_run *run, unsigned wanted, const int32_t *layers,
                                      size_t layer_count, const int32_t *heads, size_t head_count,
                                      size_t most, mgk_source_importance *out)
{
    const size_t before = mgk_allocated();
    *out = (mgk_source_importance){.wanted = wanted, .numbers = heads};
    if (wanted == 0)
        return STATUS_OK;
    mgk_status status = open(run, layers, layer_count, head_count, most, out);
    out->held = mgk_allocated() - before;
    if (status != STATUS_OK)
        mgk_source_importance_close(out);
    return status;
}

void mgk_source_importance_close(mgk_source_importance *importance)
{
    mgk_head_importance_close(importance->heads);
    for (int which = 0; which < MGK_IMPORTANCES; which++)
        mgk_free(importance->values[which]);
    *importance = (mgk_source_importance){.wanted = 0};
}

void mgk_source_importance_keep(const mgk_source_importance *importance, const mgk_group *group,
                                size_t sample)
{
    for (int which = 0; which < MGK_IMPORTANCES; which++) {
        if (!importance->values[which])
            continue;
        const double *of_heads = mgk_head_importance_values(
            importance->heads, (mgk_importance)which, sample, group->layer);
        for (size_t i = 0; i < group->count; i++)
            importance->values[which][group->place + i] =
                of_heads[importance->numbers[group->heads[i]]];
    }
}

void mgk_source_importance_give(const mgk_source_importance *importance, const mgk_group *group,
                                mgk_importance which, double *values)
{
    for (size_t i = 0; i < group->count; i++)
        values[group->heads[i]] = importance->values[which][group->place + i];
}
