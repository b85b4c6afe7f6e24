/* SPDX-License-Identifier: MIT */
#include "analysis/table/diversity_values.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static mgk_status copy_text(mgk_arena *arena, const char *text, const char **out)
{
    return mgk_arena_text(arena, text, strlen(text), out);
}

static mgk_status copy_numbers(mgk_arena *arena, const int32_t *numbers, size_t count,
                               int32_t **out)
{
    TRY(mgk_arena_alloc(arena, count, sizeof(**out), out));
    if (count > 0)
        memcpy(*out, numbers, count * sizeof(**out));
    return STATUS_OK;
}

static mgk_status copy_measure(mgk_arena *arena, const mgk_measure *measure, mgk_measure *out)
{
    *out = (mgk_measure){.level = measure->level, .components = measure->components, .range = ""};
    TRY(copy_text(arena, measure->name, &out->name));
    TRY(copy_text(arena, measure->unit, &out->unit));
    TRY(copy_text(arena, measure->formula, &out->formula));
    return copy_text(arena, measure->source, &out->source);
}

/* Copies the measures of a shape, and lays out their records. */
static mgk_status lay_out(mgk_arena *arena, const mgk_diversity_shape *shape,
                          mgk_record_layout *out)
{
    mgk_measure *measures;
    const mgk_measure **chosen;
    TRY(mgk_arena_alloc(arena, shape->measure_count + 1, sizeof(*measures), &measures));
    TRY(mgk_arena_alloc(arena, shape->measure_count + 1, sizeof(*chosen), &chosen));
    for (size_t m = 0; m < shape->measure_count; m++) {
        TRY(copy_measure(arena, &shape->measures[m], &measures[m]));
        chosen[m] = &measures[m];
        for (size_t before = 0; before < m; before++)
            if (strcmp(measures[before].name, measures[m].name) == 0)
                return mgk_fail(STATUS_FORMAT, "measure \"%s\" is there twice", measures[m].name);
    }
    TRY(mgk_record_layout_make(shape->layer_count, shape->head_count, shape->mixtures, chosen,
                               shape->measure_count, out));
    return shape->across ? mgk_record_layout_add_across(out) : STATUS_OK;
}

/* The number of layer-level measures before measure m. */
static size_t layer_measures(const mgk_record_layout *layout, size_t m)
{
    size_t count = 0;
    for (size_t i = 0; i < m; i++)
        count += layout->measures[i]->level == MGK_MEASURE_LAYER;
    return count;
}

mgk_status mgk_diversity_set_add(mgk_diversity_set *set, const mgk_diversity_shape *shape)
{
    size_t count;
    TRY(mgk_arena_grow(&set->arena, set->count, sizeof(*set->inputs), &set->room, &set->inputs));
    mgk_diversity_values *v = &set->inputs[set->count];
    *v = (mgk_diversity_values){.training_step = -1, .sample_count = shape->sample_count};
    set->count++; /* from here on mgk_diversity_set_free releases its arrays */
    v->model = v->model_sha256 = v->samples_hash = "";
    TRY(copy_text(&set->arena, shape->name, &v->name));
    TRY(copy_numbers(&set->arena, shape->layers, shape->layer_count, &v->layers));
    TRY(copy_numbers(&set->arena, shape->heads, shape->head_count, &v->heads));
    TRY(lay_out(&set->arena, shape, &v->layout));
    TRY(mgk_diversity_means_make(mgk_record_size(&v->layout), &v->means));
    TRY(mgk_multiply(layer_measures(&v->layout, v->layout.chosen) * shape->layer_count,
                     shape->sample_count, &count));
    TRY(mgk_alloc(count, sizeof(double), &v->samples));
    for (size_t i = 0; i < count; i++)
        v->samples[i] = NAN;
    return STATUS_OK;
}

/* Whether two numbers ascend, if both are known. */
static bool ascend(double low, double high)
{
    return isnan(low) || isnan(high) || low <= high;
}

static bool is_probability(double p)
{
    return isnan(p) || (p >= 0 && p <= 1);
}

static mgk_status check_difference(const mgk_layer_difference *row)
{
    const mgk_difference *d = &row->difference;
    if (row->layer < 0)
        return mgk_fail(STATUS_FORMAT, "a difference of no layer");
    if (isinf(d->value) || isinf(d->low) || isinf(d->high) || !ascend(d->low, d->high))
        return mgk_fail(STATUS_FORMAT, "a difference of \"%.60s\" from %g to %g", row->measure,
                        d->low, d->high);
    if (!is_probability(d->p) || !is_probability(d->p_holm) || !ascend(d->p, d->p_holm))
        return mgk_fail(STATUS_FORMAT, "a difference of \"%.60s\" with p = %g, adjusted %g",
                        row->measure, d->p, d->p_holm);
    return STATUS_OK;
}

mgk_status mgk_diversity_set_add_difference(mgk_diversity_set *set,
                                            const mgk_layer_difference *difference)
{
    TRY(check_difference(difference));
    TRY(mgk_arena_grow(&set->arena, set->difference_count, sizeof(*set->differences),
                       &set->difference_room, &set->differences));
    mgk_layer_difference *d = &set->differences[set->difference_count];
    *d = *difference;
    TRY(copy_text(&set->arena, difference->name, &d->name));
    TRY(copy_text(&set->arena, difference->measure, &d->measure));
    set->difference_count++;
    return STATUS_OK;
}

mgk_status mgk_diversity_set_add_point(mgk_diversity_set *set, const mgk_curve_point *point)
{
    if (point->left < 0)
        return mgk_fail(STATUS_FORMAT, "a point of \"%.60s\" without a number of heads",
                        point->measure);
    const mgk_curve_point *last = set->point_count > 0 ? &set->points[set->point_count - 1] : NULL;
    if (last && strcmp(last->name, point->name) == 0 &&
        strcmp(last->measure, point->measure) == 0 && point->left != last->left - 1)
        return mgk_fail(STATUS_FORMAT, "a curve \"%.60s\" with %ld heads left after %ld",
                        point->measure, (long)point->left, (long)last->left);
    if (isinf(point->point.value) || isinf(point->point.sd) || point->point.sd < 0)
        return mgk_fail(STATUS_FORMAT, "a point of \"%.60s\" is %g, with standard deviation %g",
                        point->measure, point->point.value, point->point.sd);
    TRY(mgk_arena_grow(&set->arena, set->point_count, sizeof(*set->points), &set->point_room,
                       &set->points));
    mgk_curve_point *p = &set->points[set->point_count];
    *p = *point;
    TRY(copy_text(&set->arena, point->name, &p->name));
    TRY(copy_text(&set->arena, point->measure, &p->measure));
    set->point_count++;
    return STATUS_OK;
}

void mgk_diversity_set_free(mgk_diversity_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        mgk_record_layout_free(&set->inputs[i].layout);
        mgk_diversity_means_free(&set->inputs[i].means);
        mgk_free(set->inputs[i].samples);
    }
    mgk_free(set->settings);
    mgk_arena_free(&set->arena);
    *set = (mgk_diversity_set){0};
}

mgk_status mgk_diversity_set_table(const mgk_diversity_set *set, mgk_table *out)
{
    mgk_status status;
    size_t rows = set->difference_count + set->point_count, r = 0;
    for (size_t i = 0; i < set->count; i++)
        rows += mgk_diversity_row_count(&set->inputs[i].layout);
    TRY(mgk_table_make(set->difference_count > 0 ? &mgk_comparison_schema : &mgk_diversity_schema,
                       rows, out));
    for (size_t i = 0; i < set->count; i++) {
        const mgk_diversity_values *v = &set->inputs[i];
        const mgk_diversity_input input = {
            .name = v->name, .layout = &v->layout, .layers = v->layers, .heads = v->heads};
        CHECK(mgk_diversity_put_means(out, &r, &input, &v->means));
    }
    for (size_t i = 0; i < set->difference_count; i++) {
        const mgk_layer_difference *d = &set->differences[i];
        CHECK(mgk_diversity_put_difference(out, &r, d->name, d->measure, d->layer, &d->difference,
                                           d->paired));
    }
    for (size_t i = 0; i < set->point_count; i++) {
        const mgk_curve_point *p = &set->points[i];
        CHECK(
            mgk_diversity_put_point(out, &r, p->name, p->measure, p->left, p->samples, &p->point));
    }
    if (set->settings)
        CHECK(mgk_copy_string(set->settings, &out->settings));
    return STATUS_OK;
out:
    mgk_table_free(out);
    return status;
}

size_t mgk_diversity_find(const mgk_diversity_values *values, const char *name)
{
    size_t m = 0;
    while (m < values->layout.chosen && strcmp(values->layout.measures[m]->name, name) != 0)
        m++;
    return m;
}

size_t mgk_diversity_place(const mgk_diversity_values *values, size_t m, size_t layer)
{
    return layer * values->layout.layer_size + values->layout.offsets[m];
}

double *mgk_diversity_samples(const mgk_diversity_values *values, size_t m, size_t layer)
{
    if (values->sample_count == 0 || values->layout.measures[m]->level != MGK_MEASURE_LAYER)
        return NULL;
    const size_t before = layer_measures(&values->layout, m) * values->layout.layers;
    return values->samples + (before + layer) * values->sample_count;
}
