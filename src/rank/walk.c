#include <string.h>

#include "rank/rank.h"

bool mgk_rank_walk_next(mgk_rank_walk *walk)
{
    const mgk_selection *selection = &walk->selection;
    size_t heads = selection->heads, layers = selection->layers;
    while (walk->next < selection->samples * layers * heads) {
        size_t entry = walk->next++;
        walk->head = entry % heads;
        walk->layer = entry / heads % layers;
        walk->sample = entry / heads / layers;
        if (mgk_selection_has(selection, walk->sample, walk->layer, walk->head))
            return true;
    }
    return false;
}

void mgk_rank_pack(double *matrix, size_t stride, size_t n)
{
    for (size_t i = 1; i < n && n < stride; i++)
        memmove(matrix + i * n, matrix + i * stride, n * sizeof(*matrix));
}

void mgk_rank_close_input(mgk_rank_input *input)
{
    if (input->close)
        input->close(input->source.state);
    *input = (mgk_rank_input){0};
}
