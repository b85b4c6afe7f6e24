/* What matrices from stores and models have in common. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "plot.h"

static bool contains(const int *wanted, size_t count, int32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (wanted[i] == number)
            return true;
    return false;
}

static mgk_status check_wanted(const char *path, const char *what, int wanted, const int32_t *index,
                               size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (index[i] == wanted)
            return STATUS_OK;
    return mgk_fail(STATUS_SHAPE, "%s: no %s %d (counted from 0)", path, what, wanted);
}

mgk_status mgk_plot_choose(const char *path, const char *what, const int *wanted,
                           size_t wanted_count, const int32_t *index, size_t count,
                           int32_t **positions, int32_t **numbers, size_t *out_count)
{
    *out_count = 0;
    for (size_t i = 0; wanted && i < wanted_count; i++)
        TRY(check_wanted(path, what, wanted[i], index, count));
    TRY(mgk_alloc(count, sizeof(**positions), positions));
    TRY(mgk_alloc(count, sizeof(**numbers), numbers));
    for (size_t i = 0; i < count; i++)
        if (!wanted || contains(wanted, wanted_count, index[i])) {
            (*positions)[*out_count] = (int32_t)i;
            (*numbers)[(*out_count)++] = index[i];
        }
    return STATUS_OK;
}

/* Adds the hash of a model's file to those that the picture names. */
static void add_hash(mgk_plot *plot, const char *sha256)
{
    size_t used = strlen(plot->hashes);
    if (sha256[0] == '\0')
        return;
    if (used == 0)
        plot->texts[plot->picture.text_count++] = (mgk_text_pair){"Model SHA-256", plot->hashes};
    snprintf(plot->hashes + used, sizeof(plot->hashes) - used, "%s%s", used ? ", " : "", sha256);
}

void mgk_plot_groups(mgk_plot *plot, const mgk_plot_matrices *matrices, size_t count,
                     mgk_panels *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = matrices[i].panels;
        out[i].title = mgk_plot_name(plot->options, i, matrices[i].title);
        add_hash(plot, matrices[i].sha256);
    }
}

void mgk_plot_matrices_free(mgk_plot_matrices *matrices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mgk_free(matrices[i].values);
        mgk_free(matrices[i].layers);
        mgk_free(matrices[i].heads);
    }
}
