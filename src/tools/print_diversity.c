/* SPDX-License-Identifier: MIT */
#include "tools/print_diversity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of the table of means. */
typedef struct means {
    size_t rows;
    mgk_table_column input, level, measure, layer, head, other_layer, other_head, component, value;
    mgk_table_column p_holm; /* zeroed without a comparison */
    /* Of two inputs as one: the number of the first layer of the second one; 0: it is one input. */
    int32_t second_layers_from;
} means;

static int32_t read_second_layers(const char *settings)
{
    static const char *const key = "\"second_layers_from\":";
    const char *at = settings ? strstr(settings, key) : NULL;
    return at ? (int32_t)strtol(at + strlen(key), NULL, 10) : 0;
}

static bool find_columns(const mgk_table *table, means *m)
{
    *m = (means){.rows = mgk_table_rows(table),
                 .second_layers_from = read_second_layers(mgk_table_settings(table))};
    if (mgk_table_find_column(table, "p_holm", &m->p_holm) != MGK_OK)
        m->p_holm = (mgk_table_column){.name = NULL};
    return mgk_table_find_column(table, "input", &m->input) == MGK_OK &&
           mgk_table_find_column(table, "level", &m->level) == MGK_OK &&
           mgk_table_find_column(table, "measure", &m->measure) == MGK_OK &&
           mgk_table_find_column(table, "layer", &m->layer) == MGK_OK &&
           mgk_table_find_column(table, "head", &m->head) == MGK_OK &&
           mgk_table_find_column(table, "other_layer", &m->other_layer) == MGK_OK &&
           mgk_table_find_column(table, "other_head", &m->other_head) == MGK_OK &&
           mgk_table_find_column(table, "component", &m->component) == MGK_OK &&
           mgk_table_find_column(table, "value", &m->value) == MGK_OK;
}

/* The number of a measure among the words of its column; −1: none has this name. */
static int32_t find_measure(const means *m, const char *name)
{
    for (size_t i = 0; i < m->measure.word_count; i++)
        if (strcmp(m->measure.words[i], name) == 0)
            return (int32_t)i;
    return -1;
}

/* ---- rows of one input ----------------------------------------------------------------------- */

/* The rows first … end − 1 of the table, which are of one input or comparison. */
typedef struct rows {
    const means *m;
    size_t first, end;
} rows;

static bool are_differences(const rows *in)
{
    const means *m = in->m;
    return strcmp(m->level.words[m->level.integers[in->first]], "difference") == 0;
}

/* Whether a row is of a pair of heads of different layers. */
static bool is_across(const rows *in, size_t r)
{
    return in->m->other_layer.integers[r] >= 0 &&
           in->m->other_layer.integers[r] != in->m->layer.integers[r];
}

/* Of several components only the first counts, see value_at. */
static bool is_of(const rows *in, size_t r, int32_t layer, int32_t measure)
{
    return in->m->measure.integers[r] == measure && in->m->layer.integers[r] == layer &&
           !is_across(in, r) && in->m->component.integers[r] < 1 && !isnan(in->m->value.reals[r]);
}

static bool has_measure(const rows *in, int32_t measure)
{
    for (size_t r = in->first; r < in->end; r++)
        if (in->m->measure.integers[r] == measure)
            return true;
    return false;
}

/* Whether a row is a point of a curve. */
static bool is_curve(const means *m, size_t r)
{
    return strcmp(m->level.words[m->level.integers[r]], "model") == 0;
}

/* Whether a row has components. */
static bool is_component(const rows *in, size_t r)
{
    return in->m->component.integers[r] >= 0 && !is_curve(in->m, r);
}

/* The value of a row; of the first of several components the largest of them. */
static double value_at(const rows *in, size_t r)
{
    const means *m = in->m;
    double value = m->value.reals[r];
    for (size_t k = r + 1;
         k < in->end && is_component(in, k) && m->measure.integers[k] == m->measure.integers[r] &&
         m->layer.integers[k] == m->layer.integers[r] && m->head.integers[k] == m->head.integers[r];
         k++)
        value = fmax(value, m->value.reals[k]);
    return value;
}

/* The mean of a measure over the heads or pairs of a layer; NaN: there is no value. */
static double mean_of(const rows *in, int32_t layer, int32_t measure)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = in->first; r < in->end; r++)
        if (is_of(in, r, layer, measure)) {
            sum += value_at(in, r);
            count++;
        }
    return count > 0 ? sum / (double)count : NAN;
}

/* Whether the difference of a layer is significant at 5 %. */
static bool is_significant(const rows *in, int32_t layer, int32_t measure)
{
    for (size_t r = in->first; r < in->end; r++)
        if (is_of(in, r, layer, measure))
            return in->m->p_holm.reals[r] < 0.05;
    return false;
}

/* ---- columns of the printed table ------------------------------------------------------------ */

enum { COLUMNS = 9, WIDTH = 10, HEADING = 64 };

typedef struct column {
    char heading[HEADING];
    int32_t measure;
    int width;
    bool largest; /* of the components of each head */
} column;

/* The first COLUMNS of them that the input has: of the importances one, in most cases. */
static const char *const usual[] = {"effective_heads",
                                    "mean_js",
                                    "cka_output",
                                    "rank",
                                    "effective_rank",
                                    "entropy",
                                    "distance",
                                    "first",
                                    "importance_ablation",
                                    "importance_divergence",
                                    "importance_hidden"};
enum { USUAL = sizeof(usual) / sizeof(*usual) };

static column column_of(const rows *in, const char *name, int32_t measure)
{
    column c = {.measure = measure};
    for (size_t r = in->first; r < in->end; r++)
        c.largest |= in->m->measure.integers[r] == measure && is_component(in, r);
    const int length =
        snprintf(c.heading, sizeof(c.heading), "%s%.50s", c.largest ? "max " : "", name);
    c.width = length > WIDTH ? length : WIDTH;
    return c;
}

/* Chooses those of the named measures that an input has, at most COLUMNS; returns their number. */
static size_t choose_columns(const rows *in, const char *const *names, size_t count, column *out)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count && chosen < COLUMNS; i++) {
        const int32_t measure = find_measure(in->m, names[i]);
        if (measure >= 0 && has_measure(in, measure))
            out[chosen++] = column_of(in, names[i], measure);
    }
    return chosen;
}

/* Chooses the usual columns of differences, or all where these are few. */
static size_t choose_differences(const rows *in, column *out)
{
    const means *m = in->m;
    const char *names[COLUMNS];
    size_t count = 0;
    for (size_t i = 0; i < m->measure.word_count; i++)
        if (has_measure(in, (int32_t)i)) {
            if (count == COLUMNS)
                return choose_columns(in, usual, USUAL, out);
            names[count++] = m->measure.words[i];
        }
    return choose_columns(in, names, count, out);
}

static void print_value(const rows *in, int32_t layer, const column *c)
{
    const double value = mean_of(in, layer, c->measure);
    if (isnan(value))
        printf(" %*s", c->width, "-");
    else
        printf(" %*.4g", c->width, value);
    if (are_differences(in))
        putchar(is_significant(in, layer, c->measure) ? '*' : ' ');
}

/* Prints the two heads of a layer with the least Jensen-Shannon divergence. */
static void print_closest(const rows *in, int32_t layer, int32_t js)
{
    const means *m = in->m;
    size_t best = in->end;
    for (size_t r = in->first; r < in->end; r++)
        if (is_of(in, r, layer, js) &&
            (best == in->end || m->value.reals[r] < m->value.reals[best]))
            best = r;
    if (best < in->end)
        printf("  %d and %d (%.3f)", m->head.integers[best], m->other_head.integers[best],
               m->value.reals[best]);
}

/* Prints the two heads of different layers with the least Jensen-Shannon divergence. */
static void print_closest_across(const rows *in, int32_t js)
{
    const means *m = in->m;
    size_t best = in->end;
    for (size_t r = in->first; r < in->end; r++)
        if (m->measure.integers[r] == js && is_across(in, r) && !isnan(m->value.reals[r]) &&
            (best == in->end || m->value.reals[r] < m->value.reals[best]))
            best = r;
    if (best < in->end)
        printf("closest heads of two layers (js): layer %d head %d and layer %d head %d (%.3f)\n",
               m->layer.integers[best], m->head.integers[best], m->other_layer.integers[best],
               m->other_head.integers[best], m->value.reals[best]);
}

/* ---- two inputs as one ----------------------------------------------------------------------- */

/* Whether a row is of a head of the first input and one of the second. */
static bool is_between(const rows *in, size_t r, int32_t measure)
{
    const means *m = in->m;
    return m->measure.integers[r] == measure && m->layer.integers[r] < m->second_layers_from &&
           m->other_layer.integers[r] >= m->second_layers_from && !isnan(m->value.reals[r]);
}

/* A mean of some values. */
typedef struct mean {
    double sum;
    size_t count;
} mean;

static void print_mean(const char *what, const mean *of)
{
    if (of->count > 0)
        printf("%s %.3f", what, of->sum / (double)of->count);
}

static void add(mean *to, double value)
{
    to->sum += value;
    to->count++;
}

/* What the matches of all heads of the first input come to. */
typedef struct matches {
    mean closest, same, all;
    size_t same_place, same_layer;
} matches;

/* Whether both heads of a pair have the same number of layer, or of layer and head, in their
 * inputs. */
static bool has_same_layer(const means *m, size_t r)
{
    return m->other_layer.integers[r] - m->second_layers_from == m->layer.integers[r];
}

static bool has_same_place(const means *m, size_t r)
{
    return has_same_layer(m, r) && m->other_head.integers[r] == m->head.integers[r];
}

/* Prints how alike the outputs of the pair of row r are, if it was measured. */
static void print_outputs(const rows *in, size_t r)
{
    static const char *const names[] = {"cka_output_debiased", "cka_output"};
    const means *m = in->m;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const int32_t measure = find_measure(m, names[i]);
        for (size_t k = in->first; k < in->end && measure >= 0; k++)
            if (m->measure.integers[k] == measure && m->layer.integers[k] == m->layer.integers[r] &&
                m->head.integers[k] == m->head.integers[r] &&
                m->other_layer.integers[k] == m->other_layer.integers[r] &&
                m->other_head.integers[k] == m->other_head.integers[r]) {
                printf("  %s %.3f", names[i], m->value.reals[k]);
                return;
            }
    }
}

/* Prints the closest head among the rows first … end − 1, of one head of the first input. */
static void print_match(const rows *in, size_t first, size_t end, int32_t js, matches *found)
{
    const means *m = in->m;
    size_t best = end;
    for (size_t r = first; r < end; r++) {
        if (!is_between(in, r, js))
            continue;
        if (best == end || m->value.reals[r] < m->value.reals[best])
            best = r;
        if (has_same_place(m, r))
            add(&found->same, m->value.reals[r]);
        add(&found->all, m->value.reals[r]);
    }
    if (best == end)
        return;
    add(&found->closest, m->value.reals[best]);
    found->same_layer += has_same_layer(m, best);
    found->same_place += has_same_place(m, best);
    printf("%5d %5d  layer %d head %d (%.3f)", m->layer.integers[best], m->head.integers[best],
           m->other_layer.integers[best] - m->second_layers_from, m->other_head.integers[best],
           m->value.reals[best]);
    print_outputs(in, best);
    putchar('\n');
}

/* Prints the closest head of the second input for each head of the first, whose rows are adjacent.
 */
static void print_matches(const rows *in, int32_t js)
{
    const means *m = in->m;
    matches found = {.same_place = 0};
    printf("\nlayer  head  closest head of the second input (js)\n");
    for (size_t r = in->first, end = r; r < in->end; r = end) {
        while (end < in->end && m->layer.integers[end] == m->layer.integers[r] &&
               m->head.integers[end] == m->head.integers[r])
            end++;
        print_match(in, r, end, js, &found);
    }
    print_mean("mean js: closest", &found.closest);
    print_mean(", same layer and head", &found.same);
    print_mean(", all pairs", &found.all);
    printf("\nthe closest has the same layer in %zu of %zu, the same layer and head in %zu\n",
           found.same_layer, found.closest.count, found.same_place);
}

/* ---- curves of pruning ----------------------------------------------------------------------- */

/* The first rows of the curves of an input, which have as many rows each; returns their number. */
static size_t find_curves(const rows *in, size_t first[3])
{
    size_t count = 0;
    for (size_t r = in->first; r < in->end; r++)
        if (r == in->first || in->m->measure.integers[r] != in->m->measure.integers[r - 1])
            first[count++] = r;
    return count;
}

/* Prints which heads a curve loses, in their order; nothing of the mean of several orders. */
static void print_order(const means *m, size_t first, size_t heads)
{
    enum { MOST = 24 };
    if (heads == 0 || m->head.integers[first + 1] < 0)
        return;
    printf("%s removes (layer.head)", m->measure.words[m->measure.integers[first]]);
    for (size_t k = 1; k <= heads && k <= MOST; k++)
        printf(" %d.%d", m->layer.integers[first + k], m->head.integers[first + k]);
    puts(heads > MOST ? " ..." : "");
}

/* Prints the curves of an input at about eight numbers of heads, and their orders. */
static void print_curves(const rows *in)
{
    const means *m = in->m;
    size_t first[3];
    const size_t curves = find_curves(in, first), heads = (in->end - in->first) / curves - 1;
    const size_t step = heads > 8 ? (heads + 7) / 8 : 1;
    printf("%s\n%5s", m->input.words[m->input.integers[in->first]], "heads");
    for (size_t i = 0; i < curves; i++)
        printf("  %s", m->measure.words[m->measure.integers[first[i]]]);
    putchar('\n');
    for (size_t k = 0; k <= heads; k += k + step > heads && k < heads ? heads - k : step) {
        printf("%5d", m->component.integers[first[0] + k]);
        for (size_t i = 0; i < curves; i++) {
            const int32_t measure = m->measure.integers[first[i]];
            const int width = (int)strlen(m->measure.words[measure]);
            const double value = m->value.reals[first[i] + k];
            if (isnan(value))
                printf("  %*s", width, "-");
            else
                printf("  %*.4g", width, value);
        }
        putchar('\n');
    }
    for (size_t i = 0; i < curves; i++)
        print_order(m, first[i], heads);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Prints the layers of an input, which the rows of its first measure name; count 0: the usual
 * measures. */
static void print_input(const rows *in, const char *const *measures, size_t count)
{
    const means *m = in->m;
    const size_t first = in->first;
    const int32_t js = find_measure(m, "js");
    const bool closest = js >= 0 && has_measure(in, js) && !are_differences(in);
    column columns[COLUMNS];
    const size_t chosen = count > 0             ? choose_columns(in, measures, count, columns)
                          : are_differences(in) ? choose_differences(in, columns)
                                                : choose_columns(in, usual, USUAL, columns);
    printf("%s\n%5s", m->input.words[m->input.integers[first]], "layer");
    for (size_t i = 0; i < chosen; i++)
        printf(" %*s%s", columns[i].width, columns[i].heading, are_differences(in) ? " " : "");
    puts(closest ? "  closest heads (js)" : "");
    for (size_t r = first; r < in->end && m->measure.integers[r] == m->measure.integers[first];
         r++) {
        const int32_t layer = m->layer.integers[r];
        if (is_across(in, r) || (r > first && layer == m->layer.integers[r - 1]))
            continue;
        printf("%5d", layer);
        for (size_t i = 0; i < chosen; i++)
            print_value(in, layer, &columns[i]);
        if (closest)
            print_closest(in, layer, js);
        putchar('\n');
    }
    if (closest && m->second_layers_from > 0)
        print_matches(in, js);
    else if (closest)
        print_closest_across(in, js);
    for (size_t i = 0; i < chosen; i++)
        if (columns[i].largest)
            printf("%s: the largest of the components of a head\n", columns[i].heading);
}

/* Whether a difference was tested; those of weights alone are not. */
static bool has_tests(const means *m)
{
    for (size_t r = 0; m->p_holm.reals && r < m->rows; r++)
        if (!isnan(m->p_holm.reals[r]))
            return true;
    return false;
}

void mgk_print_diversity(const mgk_table *table, const char *const *measures, size_t count)
{
    means m;
    if (!find_columns(table, &m))
        return;
    for (size_t first = 0, end = 0; first < m.rows; first = end) {
        while (end < m.rows && m.input.integers[end] == m.input.integers[first] &&
               is_curve(&m, end) == is_curve(&m, first))
            end++;
        const rows in = {&m, first, end};
        if (is_curve(&m, first))
            print_curves(&in);
        else
            print_input(&in, measures, count);
    }
    puts("means over samples, and over the heads or pairs of a layer");
    if (has_tests(&m))
        puts("*: significant at 5 % (t test over samples, Holm's adjustment for all rows)");
}
