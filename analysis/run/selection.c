#include "analysis/run/selection.h"

#include "base/memory.h"
#include "base/random.h"

/*
 * Selection sampling (Knuth, TAOCP 3.4.2, Algorithm S): index i is taken with
 * probability (still wanted) / (still to come). Uniform over all subsets, and
 * sorted as it comes, without an array of all S * H indices.
 */
static void draw(uint64_t seed, uint64_t layer, size_t total, size_t wanted, size_t *chosen)
{
    size_t taken = 0;
    for (size_t i = 0; taken < wanted; i++)
        if (mgk_random_below(seed, layer, i, total - i) < wanted - taken)
            chosen[taken++] = i;
}

mgk_status mgk_selection_make(uint64_t seed, size_t samples, size_t layers, const int32_t *numbers,
                              size_t heads, size_t per_layer, mgk_selection *out)
{
    size_t total, all;
    *out = (mgk_selection){.samples = samples, .layers = layers, .heads = heads};
    TRY(mgk_multiply(samples, heads, &total));
    size_t wanted = per_layer == 0 || per_layer > total ? total : per_layer;
    TRY(mgk_multiply(layers, wanted, &all));
    TRY(mgk_alloc(all, sizeof(*out->chosen), &out->chosen));
    out->per_layer = wanted;
    for (size_t layer = 0; layer < layers; layer++)
        draw(seed, (uint64_t)numbers[layer], total, wanted, out->chosen + layer * wanted);
    return STATUS_OK;
}

bool mgk_selection_has(const mgk_selection *selection, size_t sample, size_t layer, size_t head)
{
    if (sample >= selection->samples || layer >= selection->layers || head >= selection->heads)
        return false;
    const size_t *chosen = selection->chosen + layer * selection->per_layer;
    size_t index = sample * selection->heads + head;
    size_t low = 0, high = selection->per_layer;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chosen[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < selection->per_layer && chosen[low] == index;
}

void mgk_selection_free(mgk_selection *selection)
{
    mgk_free(selection->chosen);
    *selection = (mgk_selection){0};
}
