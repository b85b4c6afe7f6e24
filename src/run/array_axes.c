/* SPDX-License-Identifier: MIT */
#include "run/array_axes.h"

#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/number.h"
#include "run/job.h"

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
    *text = '\0';
    for (int i = 0; i < MGK_LEADING_AXES; i++)
        if (axes[i] > 0)
            mgk_append(text, size, "%s%d", count++ > 0 ? " x " : "", axes[i]);
    return count;
}

/* What else an array with so many axes in front of its matrices may be, and the names of its axes
 * as they were read. */
static const struct {
    const char *what, *axes, *as_read;
} others[] = {
    {"", "", ""},
    {"these are the heads of one text", "head", "sample"},
    {"these are the attentions of one text, stacked", "layer,head", "sample,head"},
    {"this is torch.stack(outputs.attentions)", "layer,sample,head", "sample,layer,head"}};

/* With one array for each layer: as outputs.attentions of several texts, and of one. */
static void explain_each(const char *name, const int axes[MGK_LEADING_AXES], const char *shape,
                         int count, char *note, size_t size)
{
    snprintf(
        note, size,
        count == 1
            ? "%s: %s matrices in each array: read as %d %s of %d %s, which is a guess: if "
              "these are heads, say `axes` head; if the guess is right, `axes` sample"
            : "%s: %s matrices in each array: read as %d %s of %d %s, which is a guess: if heads "
              "come first, say `axes` head,sample; if the guess is right, `axes` sample,head",
        name, shape, axes[MGK_LEADING_SAMPLE],
        MGK_NOUN(axes[MGK_LEADING_SAMPLE], "sample", "samples"),
        axes[MGK_LEADING_HEAD] > 0 ? axes[MGK_LEADING_HEAD] : 1,
        MGK_NOUN(axes[MGK_LEADING_HEAD] > 0 ? axes[MGK_LEADING_HEAD] : 1, "head", "heads"));
}

void mgk_array_axes_explain(const char *name, const int axes[MGK_LEADING_AXES], const char *dataset,
                            char *note, size_t size)
{
    const int samples = axes[MGK_LEADING_SAMPLE];
    const int layers = axes[MGK_LEADING_LAYER] > 0 ? axes[MGK_LEADING_LAYER] : 1;
    const int heads = axes[MGK_LEADING_HEAD] > 0 ? axes[MGK_LEADING_HEAD] : 1;
    char shape[64];
    const int count = write_shape(axes, shape, sizeof(shape));
    *note = '\0';
    if (count > 0 && dataset && strchr(dataset, '*'))
        explain_each(name, axes, shape, count, note, size);
    else if (samples > 1 || layers > 1 || heads > 1)
        snprintf(note, size,
                 "%s: %s matrices: read as %d %s of %d %s of %d %s, which is a guess: if %s, say "
                 "`axes` %s; if the guess is right, `axes` %s",
                 name, shape, samples, MGK_NOUN(samples, "sample", "samples"), layers,
                 MGK_NOUN(layers, "layer", "layers"), heads, MGK_NOUN(heads, "head", "heads"),
                 others[count].what, others[count].axes, others[count].as_read);
}

void mgk_array_axes_tell(const mgk_job *job, const char *name,
                         const mgk_store_description *description, const char *dataset)
{
    int axes[MGK_LEADING_AXES];
    char note[512];
    mgk_array_axes(description, axes);
    mgk_array_axes_explain(name, axes, dataset, note, sizeof(note));
    if (*note)
        mgk_job_report(job, &(mgk_report){.note = note, .milestone = true, .warning = true});
}
