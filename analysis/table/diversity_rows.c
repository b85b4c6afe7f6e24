/* SPDX-License-Identifier: MIT */
/* Collects the rows of a diversity table into the arrays of its inputs. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "analysis/table/diversity_values.h"
#include "base/memory.h"
#include "base/number.h"

enum { INPUTS_MOST = 4096 };

/* Numbers that occur in rows. */
typedef struct number_list {
    int32_t *numbers; /* [count] */
    size_t count, room;
} number_list;

/* The rows of one input, and what occurs in them. */
typedef struct row_group {
    const mgk_table *table;
    const size_t *rows; /* [count] */
    size_t count;
    number_list samples, layers, heads;
    mgk_measure measures[MGK_MEASURES_MOST];
    int32_t names[MGK_MEASURES_MOST]; /* of the measures, in the table */
    size_t measure_count;
    size_t mixtures; /* one more than the largest component */
    bool means;      /* the rows have no sample */
    bool across;     /* pairs of heads of different layers are among them */
} row_group;

static mgk_diversity_row row_at(const mgk_table *table, size_t r)
{
    mgk_diversity_row row = {.sample = -1,
                             .component = -1,
                             .samples = -1,
                             .sd = NAN,
                             .low = NAN,
                             .high = NAN,
                             .p = NAN,
                             .p_holm = NAN};
    mgk_table_get(table, r, &row);
    return row;
}

/* Names the row of a failure. */
static mgk_status fail_row(mgk_status status, size_t r, const char *what)
{
    return mgk_fail(status, "row %zu: %s", r + 1, what);
}

/* Whether a row is of a pair of heads of different layers. */
static bool is_across(const mgk_diversity_row *row)
{
    return row->level == MGK_MEASURE_PAIR && row->other_layer >= 0 &&
           row->other_layer != row->layer;
}

static mgk_status check_row(const mgk_diversity_row *row, size_t r)
{
    const bool head = row->level != MGK_MEASURE_LAYER, pair = row->level == MGK_MEASURE_PAIR;
    if (row->component >= 0 && row->level != MGK_MEASURE_HEAD)
        return fail_row(STATUS_FORMAT, r, "a component of something else than a head");
    if (row->layer < 0)
        return fail_row(STATUS_FORMAT, r, "no layer");
    if (head != (row->head >= 0) || pair != (row->other_head >= 0))
        return fail_row(STATUS_FORMAT, r, "heads that do not suit its level");
    if (pair && row->head == row->other_head && !is_across(row))
        return fail_row(STATUS_FORMAT, r, "a pair of a head with itself");
    if (row->sd < 0)
        return fail_row(STATUS_FORMAT, r, "a negative standard deviation");
    return STATUS_OK;
}

/* ---- what occurs ----------------------------------------------------------------------------- */

static mgk_status add_number(number_list *list, int32_t number)
{
    if (number < 0 || (list->count > 0 && list->numbers[list->count - 1] == number))
        return STATUS_OK;
    TRY(mgk_grow(list->count, sizeof(*list->numbers), &list->room, &list->numbers));
    list->numbers[list->count++] = number;
    return STATUS_OK;
}

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort_numbers(number_list *list)
{
    size_t kept = 0;
    if (list->count == 0)
        return;
    qsort(list->numbers, list->count, sizeof(*list->numbers), ascending);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || list->numbers[i] != list->numbers[i - 1])
            list->numbers[kept++] = list->numbers[i];
    list->count = kept;
}

/* The position of a number that occurs. */
static size_t position_of(const number_list *list, int32_t number)
{
    const int32_t *found = bsearch(&number, list->numbers, list->count, sizeof(number), ascending);
    return (size_t)(found - list->numbers);
}

static size_t measure_of(const row_group *group, int32_t name)
{
    size_t m = 0;
    while (m < group->measure_count && group->names[m] != name)
        m++;
    return m;
}

/* Adds the measure of a row; unit and formula are those of this version. */
static mgk_status add_measure(row_group *group, const mgk_diversity_row *row, size_t r)
{
    const size_t m = measure_of(group, row->measure);
    const bool components = row->component >= 0;
    if (m < group->measure_count)
        return (int)group->measures[m].level == row->level &&
                       group->measures[m].components == components
                   ? STATUS_OK
                   : fail_row(STATUS_FORMAT, r, "another level than earlier rows of the measure");
    if (m == MGK_MEASURES_MOST)
        return mgk_fail(STATUS_UNSUPPORTED, "row %zu: more than %d measures", r + 1,
                        MGK_MEASURES_MOST);
    const char *name = group->table->names.texts[row->measure];
    const mgk_measure *known = mgk_measure_find(name);
    const bool same = known && (int)known->level == row->level;
    group->measures[m] = (mgk_measure){.name = name,
                                       .level = (mgk_measure_level)row->level,
                                       .components = components,
                                       .unit = same ? known->unit : "",
                                       .formula = same ? known->formula : "",
                                       .source = same ? known->source : ""};
    group->names[group->measure_count++] = row->measure;
    return STATUS_OK;
}

static mgk_status survey(row_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const size_t r = group->rows[i];
        const mgk_diversity_row row = row_at(group->table, r);
        TRY(check_row(&row, r));
        if (i == 0)
            group->means = row.sample < 0;
        if (group->means != (row.sample < 0))
            return fail_row(STATUS_FORMAT, r, "means and samples of one input");
        TRY(add_measure(group, &row, r));
        if (row.component >= 0 && (size_t)row.component >= group->mixtures)
            group->mixtures = (size_t)row.component + 1;
        TRY(add_number(&group->samples, row.sample));
        group->across = group->across || is_across(&row);
        TRY(add_number(&group->layers, row.layer));
        TRY(add_number(&group->layers, row.other_layer));
        TRY(add_number(&group->heads, row.head));
        TRY(add_number(&group->heads, row.other_head));
    }
    sort_numbers(&group->samples);
    sort_numbers(&group->layers);
    sort_numbers(&group->heads);
    return STATUS_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Sets squares whose deviation is `sd` to the last digit: its square may be rounded away from it.
 */
static void put_sd(mgk_diversity_means *means, size_t i, double sd)
{
    const double square = sd * sd * (double)(means->samples[i] - 1);
    const double close[] = {nextafter(square, 0), nextafter(square, DBL_MAX), square};
    for (size_t c = 0; c < sizeof(close) / sizeof(*close); c++) {
        means->squares[i] = close[c];
        if (mgk_diversity_sd(means, i) == sd)
            return;
    }
}

/* Puts the mean of a row at value i of the record. */
static void put_mean(mgk_diversity_means *means, size_t i, const mgk_diversity_row *row)
{
    if (isnan(row->value))
        return;
    means->mean[i] = row->value;
    means->samples[i] = row->samples > 1 ? row->samples : 1;
    if (!isnan(row->sd) && means->samples[i] > 1)
        put_sd(means, i, row->sd);
}

static void put_value(const row_group *group, mgk_diversity_values *v, const mgk_diversity_row *row,
                      size_t i)
{
    if (group->means)
        put_mean(&v->means, i, row);
    else
        mgk_diversity_means_add_value(&v->means, i, row->value);
}

/* The places of a value in a record; of a pair both halves, of a layer and across layers. */
enum { PLACES = 4 };

/* Adds the places of a pair in the array [heads, heads] that begins at `first`. */
static size_t add_places(size_t first, size_t heads, size_t h, size_t g, size_t *places)
{
    places[0] = first + h * heads + g;
    places[1] = first + g * heads + h;
    return 2;
}

/* Lists the places of a pair; returns their number. */
static size_t find_pair(const row_group *group, const mgk_diversity_values *v,
                        const mgk_diversity_row *row, size_t m, size_t places[PLACES])
{
    const size_t heads = v->layout.heads, layer = position_of(&group->layers, row->layer),
                 h = position_of(&group->heads, row->head),
                 g = position_of(&group->heads, row->other_head);
    const size_t other = is_across(row) ? position_of(&group->layers, row->other_layer) : layer;
    size_t count = 0;
    if (other == layer)
        count += add_places(mgk_diversity_place(v, m, layer), heads, h, g, places);
    if (v->layout.across)
        count += add_places(mgk_record_across(&v->layout, m), v->layout.layers * heads,
                            layer * heads + h, other * heads + g, places + count);
    return count;
}

/* Lists the places of the value of a row in a record; returns their number. */
static size_t find_places(const row_group *group, const mgk_diversity_values *v,
                          const mgk_diversity_row *row, size_t m, size_t places[PLACES])
{
    if (row->level == MGK_MEASURE_PAIR)
        return find_pair(group, v, row, m, places);
    places[0] = mgk_diversity_place(v, m, position_of(&group->layers, row->layer));
    if (row->level == MGK_MEASURE_HEAD) {
        const size_t h = position_of(&group->heads, row->head);
        places[0] += row->component < 0 ? h : h * group->mixtures + (size_t)row->component;
    }
    return 1;
}

/* Puts a row where it belongs; seen [samples, record] tells which values are there. */
static mgk_status put_row(const row_group *group, mgk_diversity_values *v, size_t r, bool *seen)
{
    const mgk_diversity_row row = row_at(group->table, r);
    const size_t m = measure_of(group, row.measure),
                 sample = group->means ? 0 : position_of(&group->samples, row.sample);
    bool *there = seen + sample * v->means.size;
    size_t places[PLACES];
    const size_t count = find_places(group, v, &row, m, places);
    for (size_t i = 0; i < count; i++) {
        if (there[places[i]])
            return fail_row(STATUS_FORMAT, r, "the value is there twice");
        there[places[i]] = true;
        put_value(group, v, &row, places[i]);
    }
    if (row.level == MGK_MEASURE_LAYER && !group->means)
        mgk_diversity_samples(v, m, position_of(&group->layers, row.layer))[sample] = row.value;
    return STATUS_OK;
}

/* Every layer, head and sample has all measures; this also keeps a few rows with large numbers from
 * demanding a large array. */
static mgk_status check_complete(const row_group *group, const mgk_diversity_shape *shape)
{
    const size_t h = shape->head_count, samples = group->means ? 1 : shape->sample_count;
    const double across =
        shape->across ? ((double)shape->layer_count - 1) / 2 * (double)(h * h) : 0;
    double expected = 0;
    for (size_t m = 0; m < shape->measure_count; m++)
        expected += shape->measures[m].level == MGK_MEASURE_PAIR
                        ? (double)h * ((double)h - 1) / 2 + across
                    : shape->measures[m].level == MGK_MEASURE_LAYER ? 1
                    : shape->measures[m].components ? (double)h * (double)shape->mixtures
                                                    : (double)h;
    expected *= (double)shape->layer_count * (double)samples;
    if ((double)group->count == expected)
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT,
                    "%zu %s of input \"%s\", expected %.0f for %zu %s, %zu %s, %zu %s and %zu %s",
                    group->count, MGK_NOUN(group->count, "row", "rows"), shape->name, expected,
                    shape->measure_count, MGK_NOUN(shape->measure_count, "measure", "measures"),
                    shape->layer_count, MGK_NOUN(shape->layer_count, "layer", "layers"), h,
                    MGK_NOUN(h, "head", "heads"), samples, MGK_NOUN(samples, "sample", "samples"));
}

static mgk_status fill(const row_group *group, mgk_diversity_set *set)
{
    mgk_status status = STATUS_OK;
    bool *seen = NULL;
    const mgk_diversity_row first = row_at(group->table, group->rows[0]);
    const mgk_diversity_shape shape = {.name = group->table->names.texts[first.input],
                                       .measures = group->measures,
                                       .measure_count = group->measure_count,
                                       .layers = group->layers.numbers,
                                       .layer_count = group->layers.count,
                                       .heads = group->heads.numbers,
                                       .head_count = group->heads.count,
                                       .mixtures = group->mixtures,
                                       .across = group->across,
                                       .sample_count = group->samples.count};
    size_t size;
    CHECK(check_complete(group, &shape));
    CHECK(mgk_diversity_set_add(set, &shape));
    mgk_diversity_values *v = &set->inputs[set->count - 1];
    CHECK(mgk_multiply(v->means.size, group->means ? 1 : group->samples.count, &size));
    CHECK(mgk_alloc(size, sizeof(*seen), &seen));
    for (size_t i = 0; i < group->count; i++)
        CHECK(put_row(group, v, group->rows[i], seen));
out:
    mgk_free(seen);
    return status;
}

static mgk_status take_group(const mgk_table *table, const size_t *rows, size_t count,
                             mgk_diversity_set *set)
{
    row_group *group;
    TRY(mgk_alloc(1, sizeof(*group), &group));
    group->table = table;
    group->rows = rows;
    group->count = count;
    mgk_status status = survey(group);
    if (status == STATUS_OK)
        status = fill(group, set);
    mgk_free(group->samples.numbers);
    mgk_free(group->layers.numbers);
    mgk_free(group->heads.numbers);
    mgk_free(group);
    return status;
}

/* Puts the row in front of the message of a failure. */
static mgk_status name_row(mgk_status status, size_t r)
{
    char where[32];
    snprintf(where, sizeof(where), "row %zu", r + 1);
    return mgk_fail_prefix(status, where);
}

/* ---- differences ----------------------------------------------------------------------------- */

static mgk_status take_differences(const mgk_table *table, mgk_diversity_set *set)
{
    for (size_t r = 0; r < table->row_count; r++) {
        const mgk_diversity_row row = row_at(table, r);
        if (row.level != MGK_LEVEL_DIFFERENCE)
            continue;
        const mgk_layer_difference difference = {
            .name = table->names.texts[row.input],
            .measure = table->names.texts[row.measure],
            .layer = row.layer,
            .difference = {.value = row.value,
                           .low = row.low,
                           .high = row.high,
                           .p = row.p,
                           .p_holm = row.p_holm,
                           .samples = row.samples > 0 ? (size_t)row.samples : 0},
            .paired = row.paired == 1};
        mgk_status status = mgk_diversity_set_add_difference(set, &difference);
        if (status != STATUS_OK)
            return name_row(status, r);
    }
    return STATUS_OK;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static mgk_status take_points(const mgk_table *table, mgk_diversity_set *set)
{
    for (size_t r = 0; r < table->row_count; r++) {
        const mgk_diversity_row row = row_at(table, r);
        if (row.level != MGK_LEVEL_PRUNED)
            continue;
        const mgk_curve_point point = {
            .name = table->names.texts[row.input],
            .measure = table->names.texts[row.measure],
            .left = row.component,
            .point = {.value = row.value, .sd = row.sd, .layer = row.layer, .head = row.head},
            .samples = row.samples};
        mgk_status status = mgk_diversity_set_add_point(set, &point);
        if (status != STATUS_OK)
            return name_row(status, r);
    }
    return STATUS_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Sorts the rows of measures by input, in the order in which inputs occur: rows
 * [row_count], ends [*inputs]. */
static mgk_status sort_rows(const mgk_table *table, size_t *rows, size_t *ends, size_t *inputs)
{
    int32_t *numbers; /* of inputs, by name, plus 1 */
    const size_t column = mgk_schema_find(table->schema, "input");
    const size_t level = mgk_schema_find(table->schema, "level");
    const int32_t *names = table->values[column].integers;
    const int32_t *levels = table->values[level].integers;
    mgk_status status = STATUS_OK;
    TRY(mgk_alloc(table->names.count, sizeof(*numbers), &numbers));
    *inputs = 0;
    for (size_t r = 0; r < table->row_count && status == STATUS_OK; r++) {
        if (levels[r] >= MGK_MEASURE_LEVELS)
            continue;
        if (numbers[names[r]] == 0 && *inputs == INPUTS_MOST)
            status = mgk_fail(STATUS_UNSUPPORTED, "more than %d inputs", INPUTS_MOST);
        else if (numbers[names[r]] == 0)
            numbers[names[r]] = (int32_t)(*inputs += 1);
        if (status == STATUS_OK)
            ends[numbers[names[r]] - 1]++;
    }
    for (size_t i = 0, sum = 0; i < *inputs && status == STATUS_OK; i++) {
        sum += ends[i];
        ends[i] = sum - ends[i];
    }
    for (size_t r = 0; r < table->row_count && status == STATUS_OK; r++)
        if (levels[r] < MGK_MEASURE_LEVELS)
            rows[ends[numbers[names[r]] - 1]++] = r;
    mgk_free(numbers);
    return status;
}

mgk_status mgk_diversity_set_take_table(mgk_diversity_set *set, const mgk_table *table)
{
    mgk_status status;
    size_t *rows = NULL, *ends = NULL, inputs;
    if (table->row_count == 0)
        return mgk_fail(STATUS_FORMAT, "no values");
    CHECK(mgk_alloc(table->row_count, sizeof(*rows), &rows));
    CHECK(mgk_alloc(INPUTS_MOST, sizeof(*ends), &ends));
    CHECK(sort_rows(table, rows, ends, &inputs));
    if (inputs == 0)
        CHECK(mgk_fail(STATUS_FORMAT, "no values but differences and curves"));
    for (size_t i = 0, start = 0; i < inputs; start = ends[i++])
        CHECK(take_group(table, rows + start, ends[i] - start, set));
    CHECK(take_differences(table, set));
    CHECK(take_points(table, set));
out:
    mgk_free(rows);
    mgk_free(ends);
    return status;
}
