/* SPDX-License-Identifier: MIT */
#include "analysis/run/record.h"

#include "base/memory.h"

size_t mgk_measure_size(const mgk_measure *measure, size_t heads, size_t mixtures)
{
    return measure->level == MGK_MEASURE_HEAD   ? heads * (measure->components ? mixtures : 1)
           : measure->level == MGK_MEASURE_PAIR ? heads * heads
                                                : 1;
}

static bool has(const mgk_record_layout *layout, const mgk_measure *measure)
{
    for (size_t m = 0; m < layout->measure_count; m++)
        if (layout->measures[m] == measure)
            return true;
    return false;
}

/* Lists the chosen measures, and those that they are made of. */
static mgk_status list_measures(const mgk_measure *const *chosen, size_t count,
                                mgk_record_layout *out)
{
    TRY(mgk_alloc(2 * count + 1, sizeof(*out->measures), &out->measures));
    for (size_t m = 0; m < count; m++)
        out->measures[out->measure_count++] = chosen[m];
    out->chosen = count;
    for (size_t m = 0; m < count; m++)
        if (chosen[m]->of && !has(out, chosen[m]->of))
            out->measures[out->measure_count++] = chosen[m]->of;
    return STATUS_OK;
}

static mgk_status place_measures(mgk_record_layout *out)
{
    size_t pairs, most, all;
    const size_t widest = out->heads > out->mixtures ? out->heads : out->mixtures;
    TRY(mgk_multiply(out->heads, widest, &pairs));
    TRY(mgk_multiply(pairs, out->measure_count + MGK_FACTS, &most));
    TRY(mgk_multiply(most, out->layers, &all));
    TRY(mgk_alloc(out->measure_count + 1, sizeof(*out->offsets), &out->offsets));
    for (size_t m = 0; m < out->measure_count; m++) {
        out->offsets[m] = out->facts;
        out->facts += mgk_measure_size(out->measures[m], out->heads, out->mixtures);
    }
    out->layer_size = out->facts + out->heads * MGK_FACTS;
    return STATUS_OK;
}

mgk_status mgk_record_layout_make(size_t layers, size_t heads, size_t mixtures,
                                  const mgk_measure *const *chosen, size_t count,
                                  mgk_record_layout *out)
{
    mgk_status status;
    *out = (mgk_record_layout){.layers = layers, .heads = heads, .mixtures = mixtures};
    CHECK(list_measures(chosen, count, out));
    CHECK(place_measures(out));
    return STATUS_OK;
out:
    mgk_record_layout_free(out);
    return status;
}

/* The chosen pair measures among the first `count` measures. */
static size_t count_pairs(const mgk_record_layout *layout, size_t count)
{
    size_t pairs = 0;
    for (size_t m = 0; m < count && m < layout->chosen; m++)
        pairs += layout->measures[m]->level == MGK_MEASURE_PAIR;
    return pairs;
}

mgk_status mgk_record_layout_add_across(mgk_record_layout *layout)
{
    size_t heads, pairs, size, all;
    TRY(mgk_multiply(layout->layers, layout->heads, &heads));
    TRY(mgk_multiply(heads, heads, &pairs));
    TRY(mgk_multiply(pairs, count_pairs(layout, layout->chosen), &size));
    TRY(mgk_multiply(size + layout->layers * layout->layer_size, sizeof(double), &all));
    layout->across = true;
    layout->across_size = size;
    return STATUS_OK;
}

void mgk_record_layout_free(mgk_record_layout *layout)
{
    mgk_free(layout->measures);
    mgk_free(layout->offsets);
    *layout = (mgk_record_layout){0};
}

size_t mgk_record_size(const mgk_record_layout *layout)
{
    return layout->layers * layout->layer_size + layout->across_size;
}

double *mgk_record_values(const mgk_record_layout *layout, double *record, size_t layer, size_t m)
{
    return record + layer * layout->layer_size + layout->offsets[m];
}

size_t mgk_record_across(const mgk_record_layout *layout, size_t m)
{
    const size_t heads = layout->layers * layout->heads;
    return layout->layers * layout->layer_size + count_pairs(layout, m) * heads * heads;
}

double *mgk_record_facts(const mgk_record_layout *layout, double *record, size_t layer, size_t head)
{
    return record + layer * layout->layer_size + layout->facts + head * MGK_FACTS;
}
