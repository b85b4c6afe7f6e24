/* SPDX-License-Identifier: MIT */
/* Differences between inputs: means of layers, over samples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/file.h"
#include "base/memory.h"
#include "diversity/diversity.h"
#include "run/job.h"

/* ---- means of layers ------------------------------------------------------------------------- */

/* The mean of a measure over the heads, or the pairs h < g, of a layer; NaN if a head or a pair has
 * no value: means over other heads would differ for that alone. */
static double average(const mgk_measure *measure, size_t heads, const double *values)
{
    double sum = 0;
    if (measure->level == MGK_MEASURE_LAYER)
        return values[0];
    if (measure->level == MGK_MEASURE_PAIR)
        return mgk_mean_of_pairs(heads, values);
    for (size_t h = 0; h < heads; h++)
        sum += values[h];
    return sum / (double)heads;
}

void mgk_diversity_keep_sample(mgk_diversity_part *part, size_t sample, double *record)
{
    const mgk_record_layout *layout = &part->layout;
    const double *facts = mgk_record_facts(layout, record, 0, 0);
    part->identities[2 * sample] = facts[MGK_FACT_ROWS];
    part->identities[2 * sample + 1] = facts[MGK_FACT_TOKENS];
    double *means = part->layer_means + sample * layout->layers * layout->chosen;
    for (size_t l = 0; l < layout->layers; l++)
        for (size_t m = 0; m < layout->chosen; m++)
            means[l * layout->chosen + m] = average(layout->measures[m], layout->heads,
                                                    mgk_record_values(layout, record, l, m));
}

/* ---- common columns -------------------------------------------------------------------------- */

/* A layer and a measure of both parts. */
typedef struct common {
    size_t in_a, in_b; /* positions in their layer means */
    bool of_weights;   /* see mgk_measure_is_of_weights */
} common;

static int32_t layer_number(const mgk_diversity_part *part, size_t layer)
{
    const int32_t *layers = part->input->source.layers;
    return layers ? layers[layer] : (int32_t)layer;
}

size_t mgk_diversity_layers_alone(const mgk_diversity_part *part, const mgk_diversity_part *other)
{
    size_t alone = 0;
    for (size_t l = 0; l < part->layout.layers; l++) {
        bool found = false;
        for (size_t k = 0; k < other->layout.layers && !found; k++)
            found = layer_number(other, k) == layer_number(part, l);
        alone += !found;
    }
    return alone;
}

/* Sets *out to the position of a measure and a layer of `a` in `b`; false: b does not have them. */
static bool find_in(const mgk_diversity_part *a, size_t layer, size_t m,
                    const mgk_diversity_part *b, size_t *out)
{
    for (size_t l = 0; l < b->layout.layers; l++)
        for (size_t other = 0; other < b->layout.chosen; other++)
            if (layer_number(b, l) == layer_number(a, layer) &&
                b->layout.measures[other] == a->layout.measures[m]) {
                *out = l * b->layout.chosen + other;
                return true;
            }
    return false;
}

mgk_status mgk_diversity_check_comparable(const mgk_diversity_part *a, const mgk_diversity_part *b)
{
    size_t place;
    for (size_t m = 0; m < a->layout.chosen; m++)
        for (size_t l = 0; l < a->layout.layers && !a->layout.measures[m]->components; l++)
            if (find_in(a, l, m, b, &place))
                return STATUS_OK;
    return mgk_fail(STATUS_SHAPE, "%s and %s have no layer and measure in common", a->name,
                    b->name);
}

/* Lists the common columns; a measure's layers are adjacent. Measures of components are left out:
 * which component is the first is chance. */
static void list_common(const mgk_diversity_part *a, const mgk_diversity_part *b,
                        mgk_diversity_comparison *out, common *list)
{
    for (size_t m = 0; m < a->layout.chosen; m++)
        for (size_t l = 0; l < a->layout.layers && !a->layout.measures[m]->components; l++) {
            common *next = &list[out->columns];
            if (!find_in(a, l, m, b, &next->in_b))
                continue;
            next->in_a = l * a->layout.chosen + m;
            next->of_weights = mgk_measure_is_of_weights(a->layout.measures[m]);
            out->measures[out->columns] = a->layout.measures[m]->name;
            out->layers[out->columns++] = layer_number(a, l);
        }
}

/* ---- samples of both ------------------------------------------------------------------------- */

/* Positions of samples in two parts. */
typedef struct sample_lists {
    size_t *a, *b; /* [a_count], [b_count] */
    size_t a_count, b_count;
} sample_lists;

static int32_t sample_number(const mgk_diversity_part *part, size_t sample)
{
    const int32_t *samples = part->input->source.samples;
    return samples ? samples[sample] : (int32_t)sample;
}

/* Whether two samples are the same one: of the same number and length, and with the same tokens, if
 * these are known. */
static bool is_same(const mgk_diversity_part *a, size_t s, const mgk_diversity_part *b, size_t t)
{
    const double *x = a->identities + 2 * s, *y = b->identities + 2 * t;
    const bool known = !isnan(x[1]) && !isnan(y[1]);
    return sample_number(a, s) == sample_number(b, t) && x[0] == y[0] && !(known && x[1] != y[1]);
}

/* Lists the samples of both; if these are fewer than half of the samples of the smaller part, or
 * one of several, all samples of each: a few that coincide must not stand for all. */
static bool list_pairs(const mgk_diversity_part *a, const mgk_diversity_part *b, sample_lists *out)
{
    for (size_t s = 0; s < a->input->sample_count; s++) {
        size_t t = 0;
        if (s < b->input->sample_count && is_same(a, s, b, s))
            t = s; /* as almost always */
        while (t < b->input->sample_count && !is_same(a, s, b, t))
            t++;
        if (t == b->input->sample_count)
            continue;
        out->a[out->a_count++] = s;
        out->b[out->b_count++] = t;
    }
    const size_t fewer = a->input->sample_count < b->input->sample_count ? a->input->sample_count
                                                                         : b->input->sample_count;
    const bool are_single = a->input->sample_count == 1 && b->input->sample_count == 1;
    if (2 * out->a_count >= fewer && (out->a_count > 1 || are_single))
        return true;
    out->a_count = a->input->sample_count;
    out->b_count = b->input->sample_count;
    for (size_t s = 0; s < out->a_count; s++)
        out->a[s] = s;
    for (size_t s = 0; s < out->b_count; s++)
        out->b[s] = s;
    return false;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Columns that are compared at a time, which bounds the memory. */
enum { COLUMNS_TOGETHER = 64 };

/* Some columns of some samples of a part, into values [samples, columns]. */
static void gather(const mgk_diversity_part *part, const size_t *samples, size_t sample_count,
                   const common *list, size_t columns, bool is_a, double *values)
{
    const size_t size = part->layout.layers * part->layout.chosen;
    for (size_t s = 0; s < sample_count; s++)
        for (size_t c = 0; c < columns; c++)
            values[s * columns + c] =
                part->layer_means[samples[s] * size + (is_a ? list[c].in_a : list[c].in_b)];
}

/* Weights are no sample of anything: their differences have neither interval nor p. */
static void drop_intervals(const common *list, size_t columns, mgk_difference *differences)
{
    for (size_t c = 0; c < columns; c++)
        if (list[c].of_weights)
            differences[c].low = differences[c].high = differences[c].p = NAN;
}

static mgk_status compare_columns(const mgk_diversity_part *a, const mgk_diversity_part *b,
                                  const sample_lists *samples, const common *list,
                                  const mgk_job *job, int threads, mgk_diversity_comparison *out)
{
    mgk_status status;
    double *of_a = NULL, *of_b = NULL;
    CHECK(mgk_alloc(samples->a_count, COLUMNS_TOGETHER * sizeof(double), &of_a));
    CHECK(mgk_alloc(samples->b_count, COLUMNS_TOGETHER * sizeof(double), &of_b));
    for (size_t first = 0; first < out->columns; first += COLUMNS_TOGETHER) {
        const size_t left = out->columns - first;
        const size_t count = left < COLUMNS_TOGETHER ? left : COLUMNS_TOGETHER;
        const mgk_sample_values tables[] = {{.count = samples->a_count, .values = of_a},
                                            {.count = samples->b_count, .values = of_b}};
        if (mgk_job_stopped(job))
            CHECK(mgk_fail(STATUS_INTERRUPTED, "interrupted while %s was compared", out->name));
        gather(a, samples->a, samples->a_count, list + first, count, true, of_a);
        gather(b, samples->b, samples->b_count, list + first, count, false, of_b);
        CHECK(mgk_bootstrap(&tables[0], &tables[1], count, out->paired, job->seed, threads,
                            out->differences + first));
        drop_intervals(list + first, count, out->differences + first);
    }
    CHECK(mgk_adjust_by_holm(out->columns, out->differences));
out:
    mgk_free(of_a);
    mgk_free(of_b);
    return status;
}

static mgk_status compare_samples(const mgk_diversity_part *a, const mgk_diversity_part *b,
                                  const common *list, const mgk_job *job, int threads,
                                  mgk_diversity_comparison *out)
{
    mgk_status status;
    sample_lists samples = {.a = NULL};
    CHECK(mgk_alloc(a->input->sample_count + 1, sizeof(*samples.a), &samples.a));
    CHECK(mgk_alloc(a->input->sample_count + b->input->sample_count + 1, sizeof(*samples.b),
                    &samples.b));
    out->paired = list_pairs(a, b, &samples);
    out->a_samples = samples.a_count;
    out->b_samples = samples.b_count;
    CHECK(compare_columns(a, b, &samples, list, job, threads, out));
out:
    mgk_free(samples.a);
    mgk_free(samples.b);
    return status;
}

/* "B-A", of the files' names, or of the paths if some files have the same name. */
static mgk_status name_comparison(const mgk_diversity_part *parts, size_t count, size_t b,
                                  char **out)
{
    bool paths = false;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            paths |= strcmp(mgk_file_name(parts[i].name), mgk_file_name(parts[j].name)) == 0;
    const char *first = paths ? parts[0].name : mgk_file_name(parts[0].name);
    const char *second = paths ? parts[b].name : mgk_file_name(parts[b].name);
    const size_t room = strlen(first) + strlen(second) + 2;
    TRY(mgk_alloc(room, 1, out));
    snprintf(*out, room, "%s-%s", second, first);
    return STATUS_OK;
}

mgk_status mgk_diversity_compare(const mgk_diversity_part *parts, size_t count, size_t which,
                                 const mgk_job *job, int threads, mgk_diversity_comparison *out)
{
    const mgk_diversity_part *a = &parts[0], *b = &parts[which];
    const size_t most = a->layout.layers * a->layout.chosen;
    mgk_status status;
    common *list = NULL;
    *out = (mgk_diversity_comparison){.columns = 0};
    CHECK(name_comparison(parts, count, which, &out->name));
    CHECK(mgk_alloc(most + 1, sizeof(*list), &list));
    CHECK(mgk_alloc(most + 1, sizeof(*out->measures), &out->measures));
    CHECK(mgk_alloc(most + 1, sizeof(*out->layers), &out->layers));
    CHECK(mgk_alloc(most + 1, sizeof(*out->differences), &out->differences));
    list_common(a, b, out, list);
    CHECK(compare_samples(a, b, list, job, threads, out));
out:
    mgk_free(list);
    if (status != STATUS_OK)
        mgk_diversity_comparison_free(out);
    return status;
}

void mgk_diversity_comparison_free(mgk_diversity_comparison *comparison)
{
    mgk_free(comparison->name);
    mgk_free(comparison->measures);
    mgk_free(comparison->layers);
    mgk_free(comparison->differences);
    *comparison = (mgk_diversity_comparison){.columns = 0};
}
