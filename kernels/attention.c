/* SPDX-License-Identifier: MIT */
#include "kernels/attention.h"

#include <string.h>

#include "kernels/attention/kinds.h"

static const mgk_attention_kind *const registry[] = {
    &mgk_attention_softmax, &mgk_attention_mgk, &mgk_attention_smgk,
    &mgk_attention_linear,  &mgk_attention_mlk, &mgk_attention_smlk,
};

const mgk_attention_kind *mgk_attention_row(size_t index)
{
    return index < sizeof(registry) / sizeof(registry[0]) ? registry[index] : NULL;
}

const mgk_attention_kind *mgk_attention_find(const char *name)
{
    const mgk_attention_kind *kind;
    for (size_t i = 0; (kind = mgk_attention_row(i)); i++)
        if (strcmp(kind->name, name) == 0)
            return kind;
    return NULL;
}

bool mgk_attention_runs_on(const mgk_attention_kind *kind, const mgk_device *device)
{
    return kind->on_cuda || device->all_parts;
}

double mgk_attention_pairs(const mgk_attention_size *size)
{
    double tokens = size->tokens, far = tokens - size->terms.window;
    double outside = size->terms.window > 0 && far > 0 ? far * (far + 1) / 2 : 0; /* of one side */
    return size->causal ? tokens * (tokens + 1) / 2 - outside : tokens * tokens - 2 * outside;
}
