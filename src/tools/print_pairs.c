/* SPDX-License-Identifier: MIT */
/* Which heads are closest to each other. */
#include "tools/print_pairs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Prints the two heads of a layer with the least Jensen-Shannon divergence. */
void mgk_print_closest(const mgk_mean_rows *in, int32_t layer, int32_t js)
{
    const mgk_means *m = in->m;
    size_t best = in->end;
    for (size_t r = in->first; r < in->end; r++)
        if (mgk_is_of(in, r, layer, js) &&
            (best == in->end || m->value.reals[r] < m->value.reals[best]))
            best = r;
    if (best < in->end)
        printf("  %d and %d (%.3g)", m->head.integers[best], m->other_head.integers[best],
               m->value.reals[best]);
}

/* ---- the closest pairs of all ---------------------------------------------------------------- */

/* The pairs that are listed, where there are more than so few. */
enum { LISTED = 5, FEW = 2 };

static bool is_pair(const mgk_mean_rows *in, size_t r, int32_t js)
{
    return in->m->measure.integers[r] == js && !isnan(in->m->value.reals[r]);
}

/* The rows of the closest pairs, the closest first; returns their number. */
static size_t find_closest(const mgk_mean_rows *in, int32_t js, size_t list[LISTED])
{
    const double *values = in->m->value.reals;
    size_t count = 0;
    for (size_t r = in->first; r < in->end; r++) {
        size_t at = count;
        if (!is_pair(in, r, js))
            continue;
        while (at > 0 && values[list[at - 1]] > values[r])
            at--;
        if (at == LISTED)
            continue;
        count += count < LISTED;
        memmove(list + at + 1, list + at, (count - at - 1) * sizeof(*list));
        list[at] = r;
    }
    return count;
}

/* The value of a measure of pairs for the pair of row r; NaN: none. */
static double of_pair(const mgk_mean_rows *in, int32_t measure, size_t r)
{
    const mgk_means *m = in->m;
    for (size_t k = in->first; k < in->end; k++)
        if (m->measure.integers[k] == measure && m->layer.integers[k] == m->layer.integers[r] &&
            m->head.integers[k] == m->head.integers[r] &&
            m->other_layer.integers[k] == m->other_layer.integers[r] &&
            m->other_head.integers[k] == m->other_head.integers[r])
            return m->value.reals[k];
    return NAN;
}

/* The value of a measure of heads; NaN: none. */
static double of_head(const mgk_mean_rows *in, int32_t measure, int32_t layer, int32_t head)
{
    const mgk_means *m = in->m;
    for (size_t k = in->first; k < in->end; k++)
        if (m->measure.integers[k] == measure && m->layer.integers[k] == layer &&
            m->head.integers[k] == head)
            return m->value.reals[k];
    return NAN;
}

static bool has_value(const mgk_mean_rows *in, int32_t measure)
{
    for (size_t r = in->first; r < in->end; r++)
        if (in->m->measure.integers[r] == measure && !isnan(in->m->value.reals[r]))
            return true;
    return false;
}

/* The measure of outputs of which the input has values; −1: none. */
static int32_t find_outputs(const mgk_mean_rows *in)
{
    static const char *const names[] = {"cka_output_debiased", "cka_output"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const int32_t measure = mgk_find_measure(in->m, names[i]);
        if (measure >= 0 && has_value(in, measure))
            return measure;
    }
    return -1;
}

/* Prints a number, or "-" for none, behind a text. */
static void print_number(const char *before, int width, int decimals, double value)
{
    if (isnan(value))
        printf("%s%*s", before, width, "-");
    else
        printf("%s%*.*f", before, width, decimals, value);
}

/* Prints pairs with a measure of their outputs and the entropies of both; −1: without. */
static void print_list(const mgk_mean_rows *in, const size_t *list, size_t count, int32_t outputs,
                       int32_t entropy)
{
    const mgk_means *m = in->m;
    printf("closest of all: layer.head        js");
    if (outputs >= 0)
        printf("  %s", m->measure.words[outputs]);
    puts(entropy >= 0 ? "  normalized_entropy of both" : "");
    for (size_t i = 0; i < count; i++) {
        const size_t r = list[i];
        const int32_t layer = m->layer.integers[r], head = m->head.integers[r];
        const bool across = mgk_is_across(in, r);
        const int32_t other_layer = across ? m->other_layer.integers[r] : layer;
        const int32_t other = m->other_head.integers[r];
        char pair[64];
        snprintf(pair, sizeof(pair), "%d.%d and %d.%d", layer, head, other_layer, other);
        printf("%26s  %8.3g", pair, m->value.reals[r]);
        if (outputs >= 0)
            print_number("  ", (int)strlen(m->measure.words[outputs]), 3, of_pair(in, outputs, r));
        if (entropy >= 0)
            print_number("  ", 0, 2, of_head(in, entropy, layer, head));
        if (entropy >= 0)
            print_number(" and ", 0, 2, of_head(in, entropy, other_layer, other));
        putchar('\n');
    }
}

/* Prints the two heads of different layers with the least Jensen-Shannon divergence, unless they
 * are listed. */
static void print_closest_across(const mgk_mean_rows *in, int32_t js, const size_t *listed,
                                 size_t count)
{
    const mgk_means *m = in->m;
    size_t best = in->end;
    for (size_t r = in->first; r < in->end; r++)
        if (m->measure.integers[r] == js && mgk_is_across(in, r) && !isnan(m->value.reals[r]) &&
            (best == in->end || m->value.reals[r] < m->value.reals[best]))
            best = r;
    for (size_t i = 0; i < count; i++)
        if (listed[i] == best)
            return;
    if (best < in->end)
        printf("closest heads of two layers (js): layer %d head %d and layer %d head %d (%.3g)\n",
               m->layer.integers[best], m->head.integers[best], m->other_layer.integers[best],
               m->other_head.integers[best], m->value.reals[best]);
}

void mgk_print_closest_pairs(const mgk_mean_rows *in, int32_t js)
{
    const int32_t outputs = find_outputs(in),
                  entropy = mgk_find_measure(in->m, "normalized_entropy");
    const bool broad = entropy >= 0 && has_value(in, entropy);
    size_t list[LISTED];
    const size_t count = find_closest(in, js, list);
    if (count > FEW)
        print_list(in, list, count, outputs, broad ? entropy : -1);
    print_closest_across(in, js, list, count > FEW ? count : 0);
}

/* ---- two inputs as one ----------------------------------------------------------------------- */

/* Whether a row is of a head of the first input and one of the second. */
static bool is_between(const mgk_mean_rows *in, size_t r, int32_t measure)
{
    const mgk_means *m = in->m;
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
static bool has_same_layer(const mgk_means *m, size_t r)
{
    return m->other_layer.integers[r] - m->second_layers_from == m->layer.integers[r];
}

static bool has_same_place(const mgk_means *m, size_t r)
{
    return has_same_layer(m, r) && m->other_head.integers[r] == m->head.integers[r];
}

/* Prints how alike the outputs of the pair of row r are, if it was measured. */
static void print_outputs(const mgk_mean_rows *in, size_t r)
{
    const int32_t outputs = find_outputs(in);
    if (outputs >= 0)
        printf("  %s", in->m->measure.words[outputs]);
    if (outputs >= 0)
        print_number(" ", 0, 3, of_pair(in, outputs, r));
}

/* Prints the closest head among the rows first … end − 1, of one head of the first input. */
static void print_match(const mgk_mean_rows *in, size_t first, size_t end, int32_t js,
                        matches *found)
{
    const mgk_means *m = in->m;
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
    printf("%5d %5d  layer %d head %d (%.3g)", m->layer.integers[best], m->head.integers[best],
           m->other_layer.integers[best] - m->second_layers_from, m->other_head.integers[best],
           m->value.reals[best]);
    print_outputs(in, best);
    putchar('\n');
}

/* Prints the closest head of the second input for each head of the first, whose rows are adjacent.
 */
void mgk_print_matches(const mgk_mean_rows *in, int32_t js)
{
    const mgk_means *m = in->m;
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
