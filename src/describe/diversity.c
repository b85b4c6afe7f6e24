/* SPDX-License-Identifier: MIT */
/* Describes measures of diversity: inputs, measures, and the range of each over heads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "describe/describe.h"
#include "run/diversity_file.h"

static mgk_status add_real(cJSON *object, const char *name, double value)
{
    return mgk_describe_add(object, name,
                            isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

/* "head, nats: mean_i -sum_j a_ij ln a_ij (Clark 2019)". */
static mgk_status describe_measure(const mgk_measure *measure, cJSON *object)
{
    char text[400];
    snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s", mgk_measure_level_names[measure->level],
             *measure->unit ? ", " : "", measure->unit, *measure->formula ? ": " : "",
             measure->formula, *measure->source ? " (" : "", measure->source,
             *measure->source ? ")" : "");
    return mgk_describe_add(object, "about", cJSON_CreateString(text));
}

/* The range of some means over samples. */
typedef struct range {
    double lowest, highest, sum, count;
} range;

static const range no_range = {.lowest = INFINITY, .highest = -INFINITY};

static void take(double mean, range *out)
{
    if (isnan(mean))
        return;
    out->lowest = fmin(out->lowest, mean);
    out->highest = fmax(out->highest, mean);
    out->sum += mean;
    out->count++;
}

/* Adds lowest, mean and highest. */
static mgk_status add_range(const range *r, cJSON *object)
{
    TRY(add_real(object, "lowest", r->lowest));
    TRY(add_real(object, "mean", r->sum / r->count));
    return add_real(object, "highest", r->highest);
}

static mgk_status add_layers(const mgk_diversity_values *v, size_t m, cJSON *object)
{
    const size_t size =
        mgk_measure_size(v->layout.measures[m], v->layout.heads, v->layout.mixtures);
    range r = no_range;
    for (size_t layer = 0; layer < v->layout.layers; layer++)
        for (size_t i = 0; i < size; i++) {
            const bool self = v->layout.measures[m]->level == MGK_MEASURE_PAIR &&
                              i / v->layout.heads == i % v->layout.heads;
            if (!self)
                take(mgk_diversity_mean(&v->means, mgk_diversity_place(v, m, layer) + i), &r);
        }
    return add_range(&r, object);
}

/* Adds the range of a measure over the pairs of heads of different layers. */
static mgk_status add_across(const mgk_diversity_values *v, size_t m, cJSON *object)
{
    const size_t heads = v->layout.heads, all = v->layout.layers * heads;
    range r = no_range;
    for (size_t i = 0; i < all * all; i++)
        if (i / all / heads != i % all / heads)
            take(mgk_diversity_mean(&v->means, mgk_record_across(&v->layout, m) + i), &r);
    cJSON *across = cJSON_CreateObject();
    TRY(mgk_describe_add(object, "across layers", across));
    return add_range(&r, across);
}

static mgk_status add_input(const mgk_diversity_values *v, cJSON *tree)
{
    TRY(mgk_describe_add(tree, "name", cJSON_CreateString(v->name)));
    TRY(add_real(tree, "layers", (double)v->layout.layers));
    TRY(add_real(tree, "heads", (double)v->layout.heads));
    return v->sample_count > 0 ? add_real(tree, "samples", (double)v->sample_count) : STATUS_OK;
}

static mgk_status add_measures(const mgk_diversity_values *v, size_t input, cJSON *tree)
{
    char name[120];
    for (size_t m = 0; m < v->layout.chosen; m++) {
        cJSON *measure = cJSON_CreateObject();
        snprintf(name, sizeof(name), "input %zu, %.80s", input, v->layout.measures[m]->name);
        TRY(mgk_describe_add(tree, name, measure));
        TRY(add_layers(v, m, measure));
        if (v->layout.across && v->layout.measures[m]->level == MGK_MEASURE_PAIR)
            TRY(add_across(v, m, measure));
        TRY(describe_measure(v->layout.measures[m], measure));
    }
    return STATUS_OK;
}

/* The number of points of the curve that begins at a point. */
static size_t curve_length(const mgk_diversity_set *set, size_t first)
{
    size_t count = 1;
    while (first + count < set->point_count &&
           strcmp(set->points[first + count].name, set->points[first].name) == 0 &&
           strcmp(set->points[first + count].measure, set->points[first].measure) == 0)
        count++;
    return count;
}

/* Adds the ends of the curves of pruning. */
static mgk_status add_curves(const mgk_diversity_set *set, cJSON *tree)
{
    cJSON *curves = cJSON_CreateObject();
    TRY(mgk_describe_add(tree, "pruning", curves));
    for (size_t i = 0, count; i < set->point_count; i += count) {
        const mgk_curve_point *whole = &set->points[i];
        char name[160];
        cJSON *curve = cJSON_CreateObject();
        count = curve_length(set, i);
        snprintf(name, sizeof(name), "%.80s, %.60s", mgk_file_name(whole->name), whole->measure);
        TRY(mgk_describe_add(curves, name, curve));
        TRY(add_real(curve, "heads", whole->left));
        TRY(add_real(curve, "with all", whole->point.value));
        TRY(add_real(curve, "with none", set->points[i + count - 1].point.value));
    }
    return STATUS_OK;
}

static mgk_status add_set(const mgk_diversity_set *set, cJSON *tree)
{
    char name[32];
    TRY(mgk_describe_add(tree, "kind", cJSON_CreateString("diversity file")));
    if (set->settings)
        TRY(mgk_describe_add(tree, "settings", cJSON_Parse(set->settings)));
    cJSON *inputs = cJSON_CreateObject();
    TRY(mgk_describe_add(tree, "inputs", inputs));
    for (size_t i = 0; i < set->count; i++) {
        cJSON *input = cJSON_CreateObject();
        snprintf(name, sizeof(name), "input %zu", i);
        TRY(mgk_describe_add(inputs, name, input));
        TRY(add_input(&set->inputs[i], input));
    }
    cJSON *measures = cJSON_CreateObject();
    TRY(mgk_describe_add(tree, "measures", measures));
    for (size_t i = 0; i < set->count; i++)
        TRY(add_measures(&set->inputs[i], i, measures));
    return set->point_count > 0 ? add_curves(set, tree) : STATUS_OK;
}

mgk_status mgk_describe_diversity(const char *path, cJSON *tree)
{
    mgk_diversity_set set;
    TRY(mgk_diversity_file_read(path, &set));
    mgk_status status = add_set(&set, tree);
    mgk_diversity_set_free(&set);
    return status;
}
