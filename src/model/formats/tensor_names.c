/* SPDX-License-Identifier: MIT */
#include "model/formats/tensor_names.h"

#include <stdio.h>
#include <string.h>

static const mgk_tensor_row *find_row(const mgk_tensor_row *rows, const char *name)
{
    for (; rows && rows->ours; rows++)
        if (strcmp(rows->ours, name) == 0)
            return rows;
    return NULL;
}

const mgk_tensor_row *mgk_tensor_row_of(const mgk_tensor_names *names, const char *parameter)
{
    int layer;
    const char *name = mgk_layer_of_name(parameter, &layer);
    return find_row(layer < 0 ? names->rows : names->layer_rows, name);
}

/* "x.LayerNorm.weight" was formerly "x.LayerNorm.gamma". */
static void use_old_name(const mgk_checkpoint *checkpoint, char name[MGK_TENSOR_NAME])
{
    static const char *const words[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                           {"LayerNorm.bias", "LayerNorm.beta"}};
    if (mgk_tensors_find(checkpoint->tensors, name))
        return;
    for (size_t i = 0; i < 2; i++) {
        char *at = strstr(name, words[i][0]);
        if (!at)
            continue;
        char old[MGK_TENSOR_NAME];
        snprintf(old, sizeof(old), "%.*s%s", (int)(at - name), name, words[i][1]);
        if (mgk_tensors_find(checkpoint->tensors, old))
            memcpy(name, old, sizeof(old));
    }
}

mgk_status mgk_recipe_by_names(const mgk_checkpoint *checkpoint, const mgk_tensor_names *names,
                               const mgk_parameter *parameter, mgk_recipe *out)
{
    char prefix[MGK_TENSOR_NAME] = "";
    int layer;
    mgk_layer_of_name(parameter->name, &layer);
    const mgk_tensor_row *row = mgk_tensor_row_of(names, parameter->name);
    if (!row)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: this kind of model has no \"%s\"",
                        checkpoint->path, parameter->name);
    mgk_checkpoint_prefix(checkpoint, names->anchor, prefix);
    if (layer < 0)
        snprintf(out->name, sizeof(out->name), "%.100s%.100s", prefix, row->theirs);
    else
        snprintf(out->name, sizeof(out->name), "%.100s%.40s%d.%.60s", prefix, names->layer, layer,
                 row->theirs);
    use_old_name(checkpoint, out->name);
    out->transposed = row->transposed;
    if (row->parts > 0) {
        out->rows = row->parts * parameter->shape[0];
        out->first = row->part * parameter->shape[0];
    }
    return STATUS_OK;
}
