/* SPDX-License-Identifier: MIT */
/* Makes one input of several that are of the same model and samples. */
#include <string.h>

#include "analysis/table/diversity_values.h"
#include "base/memory.h"

size_t mgk_diversity_find_source(const mgk_diversity_source *sources, size_t count,
                                 const char *name, size_t *m)
{
    for (size_t i = 0; i < count; i++) {
        const mgk_diversity_values *v = mgk_diversity_of(sources[i]);
        *m = mgk_diversity_find(v, name);
        if (*m < v->layout.chosen)
            return i;
    }
    return count;
}

size_t mgk_diversity_find_across(const mgk_diversity_source *sources, size_t count,
                                 const char *name, size_t *m)
{
    for (size_t i = 0; i < count; i++) {
        const mgk_record_layout *layout = &mgk_diversity_of(sources[i])->layout;
        *m = mgk_diversity_find(mgk_diversity_of(sources[i]), name);
        if (layout->across && *m < layout->chosen &&
            layout->measures[*m]->level == MGK_MEASURE_PAIR)
            return i;
    }
    return count;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void copy_means(const mgk_diversity_means *from, size_t first, mgk_diversity_means *to,
                       size_t place, size_t size)
{
    memcpy(to->mean + place, from->mean + first, size * sizeof(*to->mean));
    memcpy(to->squares + place, from->squares + first, size * sizeof(*to->squares));
    memcpy(to->samples + place, from->samples + first, size * sizeof(*to->samples));
}

/* Copies measure `from` of a source to measure m. Heads of measures with components may have fewer
 * of them there. */
static void copy_measure(const mgk_diversity_values *source, size_t from, mgk_diversity_values *v,
                         size_t m)
{
    const mgk_measure *measure = v->layout.measures[m];
    const size_t blocks = measure->components ? v->layout.heads : 1,
                 size = mgk_measure_size(source->layout.measures[from], v->layout.heads,
                                         source->layout.mixtures) /
                        blocks,
                 pitch = mgk_measure_size(measure, v->layout.heads, v->layout.mixtures) / blocks;
    for (size_t layer = 0; layer < v->layout.layers; layer++) {
        const double *samples = mgk_diversity_samples(source, from, layer);
        double *copy = mgk_diversity_samples(v, m, layer);
        for (size_t b = 0; b < blocks; b++)
            copy_means(&source->means, mgk_diversity_place(source, from, layer) + b * size,
                       &v->means, mgk_diversity_place(v, m, layer) + b * pitch, size);
        if (copy)
            memcpy(copy, samples, v->sample_count * sizeof(*copy));
    }
}

/* Copies the pairs of heads of different layers, of the first source that has them. */
static void copy_across(const mgk_diversity_source *sources, size_t count, mgk_diversity_values *v,
                        size_t m)
{
    const size_t heads = v->layout.layers * v->layout.heads;
    size_t from = 0;
    const size_t i = mgk_diversity_find_across(sources, count, v->layout.measures[m]->name, &from);
    if (i == count)
        return;
    const mgk_diversity_values *source = mgk_diversity_of(sources[i]);
    copy_means(&source->means, mgk_record_across(&source->layout, from), &v->means,
               mgk_record_across(&v->layout, m), heads * heads);
}

static void copy_values(const mgk_diversity_source *sources, size_t count, mgk_diversity_values *v)
{
    for (size_t m = 0; m < v->layout.chosen; m++) {
        size_t from = 0;
        const size_t i =
            mgk_diversity_find_source(sources, count, v->layout.measures[m]->name, &from);
        copy_measure(mgk_diversity_of(sources[i]), from, v, m);
        if (v->layout.across && v->layout.measures[m]->level == MGK_MEASURE_PAIR)
            copy_across(sources, count, v, m);
    }
}

/* ---- curves ---------------------------------------------------------------------------------- */

static bool is_of(const mgk_curve_point *point, const char *name, const char *measure)
{
    return strcmp(point->name, name) == 0 && strcmp(point->measure, measure) == 0;
}

const mgk_curve_point *mgk_diversity_find_curve(mgk_diversity_source source, const char *measure,
                                                size_t *count)
{
    const mgk_diversity_set *set = source.set;
    const char *name = mgk_diversity_of(source)->name;
    size_t first = 0;
    while (first < set->point_count && !is_of(&set->points[first], name, measure))
        first++;
    *count = 0;
    while (first + *count < set->point_count && is_of(&set->points[first + *count], name, measure))
        ++*count;
    return *count > 0 ? &set->points[first] : NULL;
}

/* Adds the curves of a source that no source before it has. */
static mgk_status add_curves(mgk_diversity_set *set, const char *name,
                             const mgk_diversity_source *sources, size_t which)
{
    const mgk_diversity_source *source = &sources[which];
    for (size_t i = 0; i < source->set->point_count; i++) {
        mgk_curve_point point = source->set->points[i];
        bool known = strcmp(point.name, mgk_diversity_of(*source)->name) != 0;
        for (size_t before = 0, count; before < which && !known; before++)
            known = mgk_diversity_find_curve(sources[before], point.measure, &count) != NULL;
        point.name = name;
        if (!known)
            TRY(mgk_diversity_set_add_point(set, &point));
    }
    return STATUS_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The shape of the input; measures [all measures of all sources]. */
static mgk_diversity_shape shape_of(const mgk_diversity_source *sources, size_t count,
                                    mgk_measure *measures)
{
    const mgk_diversity_values *first = mgk_diversity_of(sources[0]);
    mgk_diversity_shape shape = {.name = first->name,
                                 .measures = measures,
                                 .layers = first->layers,
                                 .layer_count = first->layout.layers,
                                 .sample_count = first->sample_count};
    for (size_t i = 0; i < count; i++) {
        const mgk_diversity_values *v = mgk_diversity_of(sources[i]);
        size_t place;
        for (size_t m = 0; m < v->layout.chosen; m++)
            if (mgk_diversity_find_source(sources, count, v->layout.measures[m]->name, &place) == i)
                measures[shape.measure_count++] = *v->layout.measures[m];
        if (v->layout.heads > 0) {
            shape.heads = v->heads;
            shape.head_count = v->layout.heads;
        }
        if (v->layout.mixtures > shape.mixtures)
            shape.mixtures = v->layout.mixtures;
        shape.across = shape.across || v->layout.across;
        /* One of them may hold means alone. */
        if (v->sample_count != shape.sample_count)
            shape.sample_count = 0;
    }
    return shape;
}

static mgk_status add_input(mgk_diversity_set *set, const mgk_diversity_source *sources,
                            size_t count)
{
    size_t all = 0;
    mgk_measure *measures;
    for (size_t i = 0; i < count; i++)
        all += mgk_diversity_of(sources[i])->layout.chosen;
    TRY(mgk_alloc(all, sizeof(*measures), &measures));
    const mgk_diversity_shape shape = shape_of(sources, count, measures);
    mgk_status status = mgk_diversity_set_add(set, &shape);
    mgk_free(measures);
    return status;
}

static mgk_status copy_text(mgk_diversity_set *set, const char *text, const char **out)
{
    return mgk_arena_text(&set->arena, text, strlen(text), out);
}

mgk_status mgk_diversity_set_merge(mgk_diversity_set *set, const mgk_diversity_source *sources,
                                   size_t count)
{
    const mgk_diversity_values *first = mgk_diversity_of(sources[0]);
    TRY(add_input(set, sources, count));
    mgk_diversity_values *v = &set->inputs[set->count - 1];
    v->training_step = first->training_step;
    TRY(copy_text(set, first->model, &v->model));
    TRY(copy_text(set, first->model_sha256, &v->model_sha256));
    TRY(copy_text(set, first->samples_hash, &v->samples_hash));
    if (sources[0].set->settings)
        TRY(mgk_copy_string(sources[0].set->settings, &set->settings));
    copy_values(sources, count, v);
    for (size_t i = 0; i < count; i++)
        TRY(add_curves(set, v->name, sources, i));
    return STATUS_OK;
}
