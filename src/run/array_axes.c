/* SPDX-License-Identifier: MIT */
#include "run/array_axes.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

void mgk_array_axes(const mgk_store_description *d, int axes[MGK_LEADING_AXES])
{
    const int sizes[] = {[MGK_LEADING_SAMPLE] = d->samples,
                         [MGK_LEADING_LAYER] = d->layers,
                         [MGK_LEADING_HEAD] = d->heads};
    for (int i = 0; i < MGK_LEADING_AXES; i++)
        axes[i] = mgk_axes_have(&d->leading, i) ? sizes[i] : 0;
}

/* Writes "12 x 8" and returns the number of axes. */
static int write_shape(const int axes[MGK_LEADING_AXES], char *text, size_t size)
{
    int count = 0;
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < MGK_LEADING_AXES; i++)
        if (axes[i] > 0)
            used += (size_t)snprintf(text + used, size - used, "%s%d", count++ > 0 ? " x " : "",
                                     axes[i]);
    return count;
}

void mgk_array_axes_explain(const char *name, const int axes[MGK_LEADING_AXES], const char *dataset,
                            char *note, size_t size)
{
    static const char *const others[] = {"", "head", "layer,head", "layer,sample,head"};
    const int samples = axes[MGK_LEADING_SAMPLE];
    const int layers = axes[MGK_LEADING_LAYER] > 0 ? axes[MGK_LEADING_LAYER] : 1;
    const int heads = axes[MGK_LEADING_HEAD] > 0 ? axes[MGK_LEADING_HEAD] : 1;
    const bool layer_each = dataset && strchr(dataset, '*');
    char shape[64], of_layers[32] = "";
    const int count = write_shape(axes, shape, sizeof(shape));
    if (!layer_each)
        snprintf(of_layers, sizeof(of_layers), " of %d %s", layers,
                 MGK_NOUN(layers, "layer", "layers"));
    *note = '\0';
    if (count > 0)
        snprintf(note, size,
                 "%s: %s matrices%s: read as %d %s%s of %d %s; "
                 "name other axes by `axes`, such as %s",
                 name, shape, layer_each ? " in each array" : "", samples,
                 MGK_NOUN(samples, "sample", "samples"), of_layers, heads,
                 MGK_NOUN(heads, "head", "heads"), layer_each ? "head,sample" : others[count]);
}
