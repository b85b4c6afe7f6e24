/* SPDX-License-Identifier: MIT */
#include "store/schema/statistics_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/foreign/list.h"
#include "store/hdf5/h5_box.h"

enum { AXES = 2, NAME = 64, GROUPS_MOST = 4096 };

/* The array of one measure in the file. */
typedef struct found_measure {
    size_t group;
    const char *object; /* its path */
    const char *name;   /* of the measure, the end of the path */
    uint64_t rows;
} found_measure;

/* What the file lists. */
typedef struct found_list {
    const char *path;
    const mgk_statistics_form *form;
    mgk_statistics_list *out;
    found_measure *found; /* [count] */
    size_t count, room;
    size_t group_room;
} found_list;

/* ---- what the file lists --------------------------------------------------------------------- */

/* The number K of an object FOLDER/K, and the rest behind it; false: another object. */
static bool parse_group(const char *folder, const char *object, size_t *group, const char **rest)
{
    char *end;
    const size_t length = strlen(folder);
    if (strncmp(object, folder, length) != 0 || object[length] != '/')
        return false;
    const char *digits = object + length + 1;
    if (*digits < '0' || *digits > '9')
        return false;
    *group = strtoul(digits, &end, 10);
    *rest = end;
    return *group < GROUPS_MOST;
}

/* Makes group number k, and those before it. */
static mgk_status make_group(found_list *list, size_t k)
{
    mgk_statistics_list *out = list->out;
    while (out->count <= k) {
        TRY(mgk_arena_grow(&out->arena, out->count, sizeof(*out->groups), &list->group_room,
                           &out->groups));
        out->groups[out->count++] = (mgk_measure_statistics){.name = ""};
    }
    return STATUS_OK;
}

static mgk_status add_measure(found_list *list, const mgk_store_entry *entry, size_t k,
                              const char *rest)
{
    const mgk_statistics_form *form = list->form;
    if (*rest != '/' || strchr(rest + 1, '/') || strcmp(rest + 1, form->axis) == 0)
        return STATUS_OK;
    if (entry->rank != AXES || entry->shape[1] != form->count)
        return mgk_fail(STATUS_SHAPE, "%s: \"%s\" has not the axes %s and statistic", list->path,
                        entry->object, form->axis);
    mgk_arena *arena = &list->out->arena;
    TRY(mgk_arena_grow(arena, list->count, sizeof(*list->found), &list->room, &list->found));
    found_measure *f = &list->found[list->count];
    *f = (found_measure){.group = k, .rows = entry->shape[0]};
    TRY(mgk_arena_text(arena, entry->object, strlen(entry->object), &f->object));
    f->name = strrchr(f->object, '/') + 1;
    list->count++;
    return STATUS_OK;
}

static mgk_status visit(void *context, const mgk_store_entry *entry)
{
    found_list *list = context;
    size_t k;
    const char *rest;
    if (!parse_group(list->form->folder, entry->object, &k, &rest))
        return STATUS_OK;
    TRY(make_group(list, k));
    if (!entry->attribute)
        return add_measure(list, entry, k, rest);
    mgk_measure_statistics *s = &list->out->groups[k];
    if (!*rest && strcmp(entry->attribute, "paired") == 0)
        s->paired = strcmp(entry->value, "1") == 0;
    if (!*rest && strcmp(entry->attribute, "name") == 0)
        return mgk_arena_text(&list->out->arena, entry->value, strlen(entry->value), &s->name);
    return STATUS_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static mgk_status read_numbers(const mgk_h5_file *file, mgk_arena *arena, const char *name,
                               hid_t dataset, hsize_t count, const int32_t **out)
{
    const hsize_t start = 0;
    int32_t *numbers;
    TRY(mgk_arena_alloc(arena, (size_t)count, sizeof(*numbers), &numbers));
    *out = numbers;
    return mgk_h5_read_box(file, name, dataset, 1, &start, &count, H5T_NATIVE_INT32, numbers);
}

/* Reads the scale of group number k: opening it checks that the file holds all its numbers. */
static mgk_status read_scale(const mgk_h5_file *file, const mgk_statistics_form *form,
                             mgk_arena *arena, size_t k, mgk_measure_statistics *s)
{
    char name[NAME];
    hid_t dataset;
    hsize_t count;
    int rank;
    snprintf(name, sizeof(name), "%s/%zu/%s", form->folder, k, form->axis);
    TRY(mgk_h5_open_dataset(file, name, H5T_INTEGER, 1, &dataset, &rank, &count));
    mgk_status status = read_numbers(file, arena, name, dataset, count, &s->rows);
    mgk_h5_close(dataset);
    s->row_count = (size_t)count;
    return status;
}

/* Reads the statistics of a measure, and checks that it has the rows of its group. */
static mgk_status read_measure(const mgk_h5_file *file, const mgk_statistics_form *form,
                               const found_measure *f, size_t rows, double *values)
{
    const hsize_t start[AXES] = {0}, count[AXES] = {rows, form->count};
    hid_t dataset;
    hsize_t shape[AXES];
    int rank;
    if (f->rows != rows)
        return mgk_fail(STATUS_SHAPE, "%s: \"%s\" has %llu rows, expected %zu, as \"%s\"",
                        file->path, f->object, (unsigned long long)f->rows, rows, form->axis);
    TRY(mgk_h5_open_dataset(file, f->object, H5T_FLOAT, AXES, &dataset, &rank, shape));
    mgk_status status =
        mgk_h5_read_box(file, f->object, dataset, AXES, start, count, H5T_NATIVE_DOUBLE, values);
    mgk_h5_close(dataset);
    return status;
}

/* Reads group number k, whose measures are found [count]. */
static mgk_status read_group(const mgk_h5_file *file, const found_list *list,
                             const found_measure *found, size_t count, size_t k)
{
    mgk_measure_statistics *s = &list->out->groups[k];
    mgk_arena *arena = &list->out->arena;
    const char **names;
    double *values;
    TRY(read_scale(file, list->form, arena, k, s));
    const size_t size = s->row_count * list->form->count;
    TRY(mgk_arena_alloc(arena, count, sizeof(*names), &names));
    TRY(mgk_arena_alloc(arena, count, size * sizeof(*values), &values));
    for (size_t m = 0; m < count; m++) {
        names[m] = found[m].name;
        TRY(read_measure(file, list->form, &found[m], s->row_count, values + m * size));
    }
    s->measures = names;
    s->values = values;
    s->measure_count = count;
    return STATUS_OK;
}

static int by_group(const void *a, const void *b)
{
    const found_measure *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return strcmp(x->name, y->name);
}

static mgk_status read_all(const mgk_h5_file *file, const found_list *list)
{
    for (size_t first = 0, end; first < list->count; first = end) {
        const size_t k = list->found[first].group;
        for (end = first + 1; end < list->count && list->found[end].group == k;)
            end++;
        TRY(read_group(file, list, list->found + first, end - first, k));
    }
    return STATUS_OK;
}

mgk_status mgk_measures_read_statistics(const char *path, const mgk_statistics_form *form,
                                        mgk_statistics_list *out)
{
    found_list list = {.path = path, .form = form, .out = out};
    mgk_h5_file file = {.id = H5I_INVALID_HID};
    *out = (mgk_statistics_list){.groups = NULL};
    TRY(mgk_store_list(path, visit, &list));
    if (list.count == 0)
        return STATUS_OK;
    qsort(list.found, list.count, sizeof(*list.found), by_group);
    mgk_h5_enter();
    mgk_status status = mgk_h5_open(path, &file);
    if (status == STATUS_OK)
        status = read_all(&file, &list);
    if (file.id >= 0)
        mgk_h5_abandon(&file);
    mgk_h5_leave();
    return status;
}

void mgk_statistics_list_free(mgk_statistics_list *list)
{
    mgk_arena_free(&list->arena);
    *list = (mgk_statistics_list){.groups = NULL};
}
