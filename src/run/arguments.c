/* SPDX-License-Identifier: MIT */
#include "run/arguments.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"

mgk_status mgk_check_place(const char *what, const void *place)
{
    return place ? STATUS_OK : mgk_fail(STATUS_USAGE, "no %s is given", what);
}

mgk_status mgk_check_array(const char *what, const void *array, size_t count)
{
    if (array || count == 0)
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE, "%s: %zu entries, but the array is NULL", what, count);
}

mgk_status mgk_check_names(const char *what, const char *const *names, size_t count)
{
    TRY(mgk_check_array(what, names, count));
    for (size_t i = 0; i < count; i++)
        if (!names[i])
            return mgk_fail(STATUS_USAGE, "%s: number %zu of %zu is NULL", what, i + 1, count);
    return STATUS_OK;
}

mgk_status mgk_check_ending(const char *path, const char *what, const char *own)
{
    static const struct {
        const char *ending, *usual;
    } rows[] = {
        {".h5", ".h5"},     {".hdf5", ".h5"},   {".safetensors", ".safetensors"},
        {".pt", ".pt"},     {".pth", ".pt"},    {".bin", ".bin"},
        {".npz", ".npz"},   {".npy", ".npy"},   {".csv", ".csv"},
        {".json", ".json"}, {".html", ".html"}, {".png", ".png"},
        {".pdf", ".pdf"},   {".svg", ".svg"},
    };
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t tail = strlen(rows[i].ending);
        if (length >= tail && strcasecmp(path + length - tail, rows[i].ending) == 0 &&
            strcmp(rows[i].usual, own) != 0)
            return mgk_fail(STATUS_USAGE, "%s: %s: expected the ending %s", path, what, own);
    }
    return STATUS_OK;
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

mgk_status mgk_choose_numbers(const char *what, const int *wanted, size_t count, int limit,
                              int32_t **out, size_t *out_count)
{
    size_t chosen = wanted ? count : (size_t)limit;
    TRY(mgk_alloc(chosen, sizeof(**out), out));
    for (size_t i = 0; i < chosen; i++) {
        int index = wanted ? wanted[i] : (int)i;
        if (index < 0 || index >= limit) {
            mgk_free(*out);
            *out = NULL;
            return mgk_fail(STATUS_SHAPE, "%s %d: %ss are 0 to %d", what, index, what, limit - 1);
        }
        (*out)[i] = index;
    }
    if (chosen > 1)
        qsort(*out, chosen, sizeof(**out), ascending);
    *out_count = 0;
    for (size_t i = 0; i < chosen; i++)
        if (i == 0 || (*out)[i] != (*out)[*out_count - 1])
            (*out)[(*out_count)++] = (*out)[i];
    return STATUS_OK;
}

bool mgk_is_chosen(const int32_t *numbers, size_t count, int32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}
