/* SPDX-License-Identifier: MIT */
#include "analysis/run/selection.h"

#include "base/memory.h"
#include "base/random.h"

/* The random stream of samples; the stream of heads is the number of their layer. */
static const uint64_t samples_stream = UINT64_MAX;

/*
 * Selection sampling (Knuth, TAOCP 3.4.2, Algorithm S): index i is chosen with probability
 * (still needed) / (still to come). Uniform over all subsets, in ascending order.
 */
static void draw(uint64_t seed, uint64_t stream, size_t total, size_t wanted, size_t *chosen)
{
    size_t taken = 0;
    for (size_t i = 0; taken < wanted; i++)
        if (mgk_random_below(seed, stream, i, total - i) < wanted - taken)
            chosen[taken++] = i;
}

/*
 * The matrices of a layer: all heads of each sample [count], but of the sample at `fewer` only the
 * `rest` heads in heads [H].
 */
static void choose_layer(const mgk_selection *s, const size_t *samples, size_t count, size_t fewer,
                         const size_t *heads, size_t rest, size_t *chosen)
{
    size_t put = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t h = 0; h < (i == fewer ? rest : s->heads); h++)
            chosen[put++] = samples[i] * s->heads + (i == fewer ? heads[h] : h);
}

static mgk_status choose(uint64_t seed, const int32_t *numbers, mgk_selection *s)
{
    mgk_status status;
    const size_t count = s->per_layer / s->heads + (s->per_layer % s->heads > 0);
    const size_t rest = s->per_layer - (count - 1) * s->heads;
    size_t *samples = NULL, *heads = NULL;
    CHECK(mgk_alloc(count, sizeof(*samples), &samples));
    CHECK(mgk_alloc(s->heads, sizeof(*heads), &heads));
    draw(seed, samples_stream, s->samples, count, samples);
    const size_t fewer = mgk_random_below(seed, samples_stream, s->samples, count);
    for (size_t layer = 0; layer < s->layers; layer++) {
        draw(seed, (uint64_t)numbers[layer], s->heads, rest, heads);
        choose_layer(s, samples, count, fewer, heads, rest, s->chosen + layer * s->per_layer);
    }
out:
    mgk_free(samples);
    mgk_free(heads);
    return status;
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
    TRY(mgk_alloc(all, sizeof(*out->head), &out->head));
    TRY(mgk_alloc(layers, sizeof(*out->passed), &out->passed));
    out->per_layer = wanted;
    if (wanted > 0)
        TRY(choose(seed, numbers, out));
    for (size_t i = 0; i < all; i++)
        out->head[i] = (int32_t)(out->chosen[i] % heads);
    return STATUS_OK;
}

bool mgk_selection_next(mgk_selection *s, size_t most, mgk_group *group)
{
    for (; s->sample < s->samples; s->sample++, s->layer = 0)
        for (; s->layer < s->layers; s->layer++) {
            size_t first = s->passed[s->layer], end = first, row = s->layer * s->per_layer;
            while (end < s->per_layer && end - first < most &&
                   s->chosen[row + end] / s->heads == s->sample)
                end++;
            if (end == first)
                continue;
            group->sample = s->sample;
            group->layer = s->layer;
            group->heads = s->head + row + first;
            group->count = end - first;
            s->passed[s->layer] = end;
            return true;
        }
    return false;
}

void mgk_selection_free(mgk_selection *selection)
{
    mgk_free(selection->chosen);
    mgk_free(selection->head);
    mgk_free(selection->passed);
    *selection = (mgk_selection){0};
}
