/* What matrices from stores and models have in common. */
#include "base/memory.h"
#include "face.h"
#include "plot.h"

mgk_status mgk_plot_choose(const char *path, const char *what, const int *wanted,
                           size_t wanted_count, const int32_t *index, size_t count,
                           int32_t **positions, int32_t **numbers, size_t *out_count)
{
    *out_count = 0;
    for (size_t i = 0; wanted && i < wanted_count; i++)
        if (!mgk_face_contains(index, count, wanted[i]))
            return mgk_fail(STATUS_SHAPE, "%s: no %s %d (counted from 0)", path, what, wanted[i]);
    TRY(mgk_alloc(count, sizeof(**positions), positions));
    TRY(mgk_alloc(count, sizeof(**numbers), numbers));
    for (size_t i = 0; i < count; i++)
        if (!wanted || mgk_face_contains(wanted, wanted_count, index[i])) {
            (*positions)[*out_count] = (int32_t)i;
            (*numbers)[(*out_count)++] = index[i];
        }
    return STATUS_OK;
}

void mgk_plot_groups(mgk_plot *plot, const mgk_plot_matrices *matrices, size_t count,
                     mgk_panels *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = matrices[i].panels;
        out[i].title = mgk_plot_name(plot->options, i, matrices[i].title);
        mgk_plot_add_hash(plot, matrices[i].sha256);
    }
}

void mgk_plot_matrices_free(mgk_plot_matrices *matrices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mgk_free(matrices[i].values);
        mgk_free(matrices[i].layers);
        mgk_free(matrices[i].heads);
        mgk_free(matrices[i].texts);
        mgk_free(matrices[i].labels);
    }
}
