/* SPDX-License-Identifier: MIT */
#include "tools/print_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t read_second_layers(const char *settings)
{
    static const char *const key = "\"second_layers_from\":";
    const char *at = settings ? strstr(settings, key) : NULL;
    return at ? (int32_t)strtol(at + strlen(key), NULL, 10) : 0;
}

bool mgk_find_columns(const mgk_table *table, mgk_means *m)
{
    *m = (mgk_means){.rows = mgk_table_rows(table),
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
           mgk_table_find_column(table, "value", &m->value) == MGK_OK &&
           mgk_table_find_column(table, "sd", &m->sd) == MGK_OK &&
           mgk_table_find_column(table, "samples", &m->samples) == MGK_OK;
}

int32_t mgk_find_measure(const mgk_means *m, const char *name)
{
    for (size_t i = 0; i < m->measure.word_count; i++)
        if (strcmp(m->measure.words[i], name) == 0)
            return (int32_t)i;
    return -1;
}

bool mgk_are_differences(const mgk_mean_rows *in)
{
    const mgk_means *m = in->m;
    return strcmp(m->level.words[m->level.integers[in->first]], "difference") == 0;
}

bool mgk_is_across(const mgk_mean_rows *in, size_t r)
{
    return in->m->other_layer.integers[r] >= 0 &&
           in->m->other_layer.integers[r] != in->m->layer.integers[r];
}

bool mgk_is_of(const mgk_mean_rows *in, size_t r, int32_t layer, int32_t measure)
{
    return in->m->measure.integers[r] == measure && in->m->layer.integers[r] == layer &&
           !mgk_is_across(in, r) && in->m->component.integers[r] < 1 &&
           !isnan(in->m->value.reals[r]);
}

bool mgk_has_measure(const mgk_mean_rows *in, int32_t measure)
{
    for (size_t r = in->first; r < in->end; r++)
        if (in->m->measure.integers[r] == measure)
            return true;
    return false;
}

bool mgk_is_curve(const mgk_means *m, size_t r)
{
    return strcmp(m->level.words[m->level.integers[r]], "model") == 0;
}

bool mgk_is_component(const mgk_mean_rows *in, size_t r)
{
    return in->m->component.integers[r] >= 0 && !mgk_is_curve(in->m, r);
}
