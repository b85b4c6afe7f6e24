/* SPDX-License-Identifier: MIT */
#include "tools/print_diversity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/print_pairs.h"
#include "tools/print_pruning.h"

/* The value of a row; of the first of several components the largest of them. */
static double value_at(const mgk_mean_rows *in, size_t r)
{
    const mgk_means *m = in->m;
    double value = m->value.reals[r];
    for (size_t k = r + 1;
         k < in->end && mgk_is_component(in, k) &&
         m->measure.integers[k] == m->measure.integers[r] &&
         m->layer.integers[k] == m->layer.integers[r] && m->head.integers[k] == m->head.integers[r];
         k++)
        value = fmax(value, m->value.reals[k]);
    return value;
}

/* The mean of a measure over the heads or pairs of a layer; NaN: there is no value. */
static double mean_of(const mgk_mean_rows *in, int32_t layer, int32_t measure)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = in->first; r < in->end; r++)
        if (mgk_is_of(in, r, layer, measure)) {
            sum += value_at(in, r);
            count++;
        }
    return count > 0 ? sum / (double)count : NAN;
}

/* Whether the difference of a layer is significant at 5 %. */
static bool is_significant(const mgk_mean_rows *in, int32_t layer, int32_t measure)
{
    for (size_t r = in->first; r < in->end; r++)
        if (mgk_is_of(in, r, layer, measure))
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

static column column_of(const mgk_mean_rows *in, const char *name, int32_t measure)
{
    column c = {.measure = measure};
    for (size_t r = in->first; r < in->end; r++)
        c.largest |= in->m->measure.integers[r] == measure && mgk_is_component(in, r);
    const int length =
        snprintf(c.heading, sizeof(c.heading), "%s%.50s", c.largest ? "max " : "", name);
    c.width = length > WIDTH ? length : WIDTH;
    return c;
}

/* Chooses those of the named measures that an input has, at most COLUMNS; returns their number. */
static size_t choose_columns(const mgk_mean_rows *in, const char *const *names, size_t count,
                             column *out)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count && chosen < COLUMNS; i++) {
        const int32_t measure = mgk_find_measure(in->m, names[i]);
        if (measure >= 0 && mgk_has_measure(in, measure))
            out[chosen++] = column_of(in, names[i], measure);
    }
    return chosen;
}

/* Chooses the usual columns of differences, or all where these are few. */
static size_t choose_differences(const mgk_mean_rows *in, column *out)
{
    const mgk_means *m = in->m;
    const char *names[COLUMNS];
    size_t count = 0;
    for (size_t i = 0; i < m->measure.word_count; i++)
        if (mgk_has_measure(in, (int32_t)i)) {
            if (count == COLUMNS)
                return choose_columns(in, usual, USUAL, out);
            names[count++] = m->measure.words[i];
        }
    return choose_columns(in, names, count, out);
}

static void print_value(const mgk_mean_rows *in, int32_t layer, const column *c)
{
    const double value = mean_of(in, layer, c->measure);
    if (isnan(value))
        printf(" %*s", c->width, "-");
    else
        printf(" %*.4g", c->width, value);
    if (mgk_are_differences(in))
        putchar(is_significant(in, layer, c->measure) ? '*' : ' ');
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether a comparison is of files b and a: "b-a". */
static bool compares(const char *name, const char *b, const char *a)
{
    const size_t length = strlen(b);
    return strncmp(name, b, length) == 0 && name[length] == '-' &&
           strcmp(name + length + 1, a) == 0;
}

/* Prints the name of an input; of a comparison with a minus that stands out between its names. */
static void print_name(const mgk_mean_rows *in)
{
    const mgk_table_column *input = &in->m->input;
    const char *name = input->words[input->integers[in->first]];
    for (size_t b = 0; mgk_are_differences(in) && b < input->word_count; b++)
        for (size_t a = 0; a < input->word_count; a++)
            if (compares(name, file_name(input->words[b]), file_name(input->words[a]))) {
                printf("%s - %s\n", file_name(input->words[b]), file_name(input->words[a]));
                return;
            }
    puts(name);
}

/* Prints the layers of an input, which the rows of its first measure name; count 0: the usual
 * measures. */
static void print_input(const mgk_mean_rows *in, const char *const *measures, size_t count)
{
    const mgk_means *m = in->m;
    const size_t first = in->first;
    const int32_t js = mgk_find_measure(m, "js");
    const bool closest = js >= 0 && mgk_has_measure(in, js) && !mgk_are_differences(in);
    column columns[COLUMNS];
    const size_t chosen = count > 0                 ? choose_columns(in, measures, count, columns)
                          : mgk_are_differences(in) ? choose_differences(in, columns)
                                                    : choose_columns(in, usual, USUAL, columns);
    print_name(in);
    printf("%5s", "layer");
    for (size_t i = 0; i < chosen; i++)
        printf(" %*s%s", columns[i].width, columns[i].heading, mgk_are_differences(in) ? " " : "");
    puts(closest ? "  closest heads (js)" : "");
    for (size_t r = first; r < in->end && m->measure.integers[r] == m->measure.integers[first];
         r++) {
        const int32_t layer = m->layer.integers[r];
        if (mgk_is_across(in, r) || (r > first && layer == m->layer.integers[r - 1]))
            continue;
        printf("%5d", layer);
        for (size_t i = 0; i < chosen; i++)
            print_value(in, layer, &columns[i]);
        if (closest)
            mgk_print_closest(in, layer, js);
        putchar('\n');
    }
    if (closest && m->second_layers_from > 0)
        mgk_print_matches(in, js);
    else if (closest)
        mgk_print_closest_pairs(in, js);
    for (size_t i = 0; i < chosen; i++)
        if (columns[i].largest)
            printf("%s: the largest of the components of a head\n", columns[i].heading);
}

/* Whether a difference was tested; those of weights alone are not. */
static bool has_tests(const mgk_means *m)
{
    for (size_t r = 0; m->p_holm.reals && r < m->rows; r++)
        if (!isnan(m->p_holm.reals[r]))
            return true;
    return false;
}

/* Says what the means are over; inputs may have different numbers of samples. */
static void print_samples(const mgk_means *m)
{
    int32_t least = INT32_MAX, most = 0;
    for (size_t first = 0, end = 0; first < m->rows; first = end) {
        int32_t samples = 0;
        bool curves = true; /* alone, which have told it */
        for (; end < m->rows && m->input.integers[end] == m->input.integers[first]; end++) {
            if (mgk_is_curve(m, end))
                continue;
            curves = false;
            samples = m->samples.integers[end] > samples ? m->samples.integers[end] : samples;
        }
        if (curves)
            continue;
        least = samples < least ? samples : least;
        most = samples > most ? samples : most;
    }
    if (most == 0) {
        puts("no values");
        return;
    }
    printf("means over %d ", most);
    if (least < most)
        printf("or fewer ");
    printf("%s, and over the heads or pairs of a layer\n", most == 1 ? "sample" : "samples");
}

void mgk_print_diversity(const mgk_table *table, const char *const *measures, size_t count)
{
    mgk_means m;
    if (!mgk_find_columns(table, &m))
        return;
    for (size_t first = 0, end = 0; first < m.rows; first = end) {
        while (end < m.rows && m.input.integers[end] == m.input.integers[first] &&
               mgk_is_curve(&m, end) == mgk_is_curve(&m, first))
            end++;
        const mgk_mean_rows in = {&m, first, end};
        if (mgk_is_curve(&m, first))
            mgk_print_pruning(&in);
        else
            print_input(&in, measures, count);
    }
    print_samples(&m);
    if (has_tests(&m))
        puts("*: significant at 5 % (t test over samples, Holm's adjustment for all rows); another "
             "training may give another sign");
}
