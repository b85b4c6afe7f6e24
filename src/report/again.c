/* SPDX-License-Identifier: MIT */
#include "report/again.h"

#include <math.h>
#include <string.h>

#include "report/models.h"
#include "report/text.h"

/* Entries are separated by a comma, "" before the first. */
typedef struct writer {
    FILE *page;
    const char *comma;
} writer;

/* Whether two numbers are equal but for the rounding of other devices and formats. */
static bool agree(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

static bool same_mean(const mgk_diversity_values *a, size_t i, const mgk_diversity_values *b,
                      size_t k)
{
    return agree(mgk_diversity_mean(&a->means, i), mgk_diversity_mean(&b->means, k));
}

static void write_entry(writer *w, const char *kind, const char *name, size_t shown, size_t other,
                        bool same)
{
    fprintf(w->page, "%s[\"%s\",", w->comma, kind);
    mgk_report_string(w->page, name);
    fprintf(w->page, ",%zu,%zu,%s]", shown, other, same ? "false" : "true");
    w->comma = ",";
}

/* ---- measures -------------------------------------------------------------------------------- */

/* Whether measure `of_a` of an input has the values of measure `of_b` of another one, for the same
 * layers and heads. */
static bool same_values(const mgk_diversity_values *a, size_t of_a, const mgk_diversity_values *b,
                        size_t of_b)
{
    const mgk_measure *measure = a->layout.measures[of_a];
    const size_t size = mgk_measure_size(measure, a->layout.heads, a->layout.mixtures);
    if (mgk_measure_size(b->layout.measures[of_b], b->layout.heads, b->layout.mixtures) != size)
        return false;
    for (size_t layer = 0; layer < a->layout.layers; layer++)
        for (size_t i = 0; i < size; i++)
            if (mgk_report_tells(measure, a->layout.heads, i) &&
                !same_mean(a, mgk_diversity_place(a, of_a, layer) + i, b,
                           mgk_diversity_place(b, of_b, layer) + i))
                return false;
    return true;
}

/* The same across layers, of pairs with the head of the lower layer first. */
static bool same_across(const mgk_diversity_values *a, size_t of_a, const mgk_diversity_values *b,
                        size_t of_b)
{
    const size_t heads = a->layout.heads, all = a->layout.layers * heads,
                 first_a = mgk_record_across(&a->layout, of_a),
                 first_b = mgk_record_across(&b->layout, of_b);
    for (size_t h = 0; h < all; h++)
        for (size_t g = (h / heads + 1) * heads; g < all; g++)
            if (!same_mean(a, first_a + h * all + g, b, first_b + h * all + g))
                return false;
    return true;
}

/* Finds the first of the sources that has a measure, as mgk_diversity_find_source does. */
typedef size_t find_first(const mgk_diversity_source *sources, size_t count, const char *name,
                          size_t *m);
typedef bool compare_values(const mgk_diversity_values *a, size_t of_a,
                            const mgk_diversity_values *b, size_t of_b);

/* Writes the measures of source i that one before it has. */
static void write_measures(writer *w, const char *kind, const mgk_report_model *model, size_t i,
                           find_first *find, compare_values *same)
{
    const mgk_diversity_values *v = mgk_diversity_of(model->sources[i]);
    for (size_t m = 0; m < v->layout.chosen; m++) {
        const char *name = v->layout.measures[m]->name;
        size_t before, own;
        const size_t shown = find(model->sources, i, name, &before);
        if (shown < i && find(&model->sources[i], 1, name, &own) == 0)
            write_entry(w, kind, name, shown, i,
                        same(mgk_diversity_of(model->sources[shown]), before, v, own));
    }
}

/* ---- curves ---------------------------------------------------------------------------------- */

static bool same_curve(const mgk_curve_point *a, size_t a_count, const mgk_curve_point *b,
                       size_t b_count)
{
    for (size_t i = 0; i < a_count && i < b_count; i++)
        if (a[i].left != b[i].left || !agree(a[i].point.value, b[i].point.value))
            return false;
    return a_count == b_count;
}

/* Writes the curve of source i if one before it has it. */
static void write_curve(writer *w, const mgk_report_model *model, size_t i, const char *name)
{
    size_t own_count, count;
    const mgk_curve_point *own = mgk_diversity_find_curve(model->sources[i], name, &own_count);
    for (size_t before = 0; before < i; before++) {
        const mgk_curve_point *points =
            mgk_diversity_find_curve(model->sources[before], name, &count);
        if (count == 0)
            continue;
        write_entry(w, "curve", name, before, i, same_curve(points, count, own, own_count));
        return;
    }
}

static void write_curves(writer *w, const mgk_report_model *model, size_t i)
{
    const mgk_diversity_set *set = model->sources[i].set;
    for (size_t p = 0; p < set->point_count; p++) {
        const mgk_curve_point *point = &set->points[p];
        size_t count;
        if (mgk_diversity_find_curve(model->sources[i], point->measure, &count) == point)
            write_curve(w, model, i, point->measure);
    }
}

void mgk_report_again(FILE *page, const mgk_report_model *model)
{
    writer w = {page, ""};
    fputc('[', page);
    for (size_t i = 1; i < model->count; i++) {
        write_measures(&w, "measure", model, i, mgk_diversity_find_source, same_values);
        write_measures(&w, "across", model, i, mgk_diversity_find_across, same_across);
        write_curves(&w, model, i);
    }
    fputc(']', page);
}
