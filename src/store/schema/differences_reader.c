#include "store/schema/differences_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/foreign/list.h"
#include "store/hdf5/h5_box.h"

enum { AXES = 2, NAME = 64, COMPARISONS_MOST = 4096 };

static const char folder[] = "/differences/";

/* The differences of one measure in the file. */
typedef struct found_measure {
    size_t comparison;
    const char *object; /* its path */
    const char *name;   /* of the measure, the end of the path */
    uint64_t layers;
} found_measure;

/* What the file lists. */
typedef struct found_list {
    const char *path;
    mgk_measure_comparisons *out;
    found_measure *found; /* [count] */
    size_t count, room;
    size_t comparison_room;
} found_list;

/* ---- what the file lists --------------------------------------------------------------------- */

/* The number K of an object /differences/K, and the rest behind it; false: another object. */
static bool parse_comparison(const char *object, size_t *comparison, const char **rest)
{
    char *end;
    if (strncmp(object, folder, sizeof(folder) - 1) != 0)
        return false;
    const char *digits = object + sizeof(folder) - 1;
    if (*digits < '0' || *digits > '9')
        return false;
    *comparison = strtoul(digits, &end, 10);
    *rest = end;
    return *comparison < COMPARISONS_MOST;
}

/* Makes comparison number k, and those before it. */
static mgk_status make_comparison(found_list *list, size_t k)
{
    mgk_measure_comparisons *out = list->out;
    while (out->count <= k) {
        TRY(mgk_arena_grow(&out->arena, out->count, sizeof(*out->comparisons),
                           &list->comparison_room, &out->comparisons));
        out->comparisons[out->count++] = (mgk_measure_differences){.name = ""};
    }
    return STATUS_OK;
}

static mgk_status add_measure(found_list *list, const mgk_store_entry *entry, size_t k,
                              const char *rest)
{
    if (*rest != '/' || strchr(rest + 1, '/') || strcmp(rest, "/layer") == 0)
        return STATUS_OK;
    if (entry->rank != AXES || entry->shape[1] != MGK_DIFFERENCE_STATISTICS)
        return mgk_fail(STATUS_SHAPE, "%s: \"%s\" has not the axes layer and statistic", list->path,
                        entry->object);
    mgk_arena *arena = &list->out->arena;
    TRY(mgk_arena_grow(arena, list->count, sizeof(*list->found), &list->room, &list->found));
    found_measure *f = &list->found[list->count];
    *f = (found_measure){.comparison = k, .layers = entry->shape[0]};
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
    if (!parse_comparison(entry->object, &k, &rest))
        return STATUS_OK;
    TRY(make_comparison(list, k));
    if (!entry->attribute)
        return add_measure(list, entry, k, rest);
    mgk_measure_differences *d = &list->out->comparisons[k];
    if (!*rest && strcmp(entry->attribute, "paired") == 0)
        d->paired = strcmp(entry->value, "1") == 0;
    if (!*rest && strcmp(entry->attribute, "name") == 0)
        return mgk_arena_text(&list->out->arena, entry->value, strlen(entry->value), &d->name);
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

/* Reads the scale of comparison number k: opening it checks that the file holds all its numbers. */
static mgk_status read_layers(const mgk_h5_file *file, mgk_arena *arena, size_t k,
                              mgk_measure_differences *d)
{
    char name[NAME];
    hid_t dataset;
    hsize_t count;
    int rank;
    snprintf(name, sizeof(name), "%s%zu/layer", folder, k);
    TRY(mgk_h5_open_dataset(file, name, H5T_INTEGER, 1, &dataset, &rank, &count));
    mgk_status status = read_numbers(file, arena, name, dataset, count, &d->layers);
    mgk_h5_close(dataset);
    d->layer_count = (size_t)count;
    return status;
}

/* Reads the statistics of a measure, and checks that it has the layers of its comparison. */
static mgk_status read_measure(const mgk_h5_file *file, const found_measure *f, size_t layers,
                               double *values)
{
    const hsize_t start[AXES] = {0}, count[AXES] = {layers, MGK_DIFFERENCE_STATISTICS};
    hid_t dataset;
    hsize_t shape[AXES];
    int rank;
    if (f->layers != layers)
        return mgk_fail(STATUS_SHAPE, "%s: \"%s\" has %llu layers, expected %zu", file->path,
                        f->object, (unsigned long long)f->layers, layers);
    TRY(mgk_h5_open_dataset(file, f->object, H5T_FLOAT, AXES, &dataset, &rank, shape));
    mgk_status status =
        mgk_h5_read_box(file, f->object, dataset, AXES, start, count, H5T_NATIVE_DOUBLE, values);
    mgk_h5_close(dataset);
    return status;
}

/* Reads comparison number k, whose measures are found [count]. */
static mgk_status read_comparison(const mgk_h5_file *file, mgk_arena *arena,
                                  const found_measure *found, size_t count, size_t k,
                                  mgk_measure_differences *d)
{
    const char **names;
    double *values;
    TRY(read_layers(file, arena, k, d));
    const size_t size = d->layer_count * MGK_DIFFERENCE_STATISTICS;
    TRY(mgk_arena_alloc(arena, count, sizeof(*names), &names));
    TRY(mgk_arena_alloc(arena, count, size * sizeof(*values), &values));
    for (size_t m = 0; m < count; m++) {
        names[m] = found[m].name;
        TRY(read_measure(file, &found[m], d->layer_count, values + m * size));
    }
    d->measures = names;
    d->values = values;
    d->measure_count = count;
    return STATUS_OK;
}

static int by_comparison(const void *a, const void *b)
{
    const found_measure *x = a, *y = b;
    if (x->comparison != y->comparison)
        return x->comparison < y->comparison ? -1 : 1;
    return strcmp(x->name, y->name);
}

static mgk_status read_all(const mgk_h5_file *file, const found_list *list)
{
    for (size_t first = 0, end; first < list->count; first = end) {
        const size_t k = list->found[first].comparison;
        for (end = first + 1; end < list->count && list->found[end].comparison == k;)
            end++;
        TRY(read_comparison(file, &list->out->arena, list->found + first, end - first, k,
                            &list->out->comparisons[k]));
    }
    return STATUS_OK;
}

mgk_status mgk_measures_read_differences(const char *path, mgk_measure_comparisons *out)
{
    found_list list = {.path = path, .out = out};
    mgk_h5_file file = {.id = H5I_INVALID_HID};
    *out = (mgk_measure_comparisons){.comparisons = NULL};
    TRY(mgk_store_list(path, visit, &list));
    if (list.count == 0)
        return STATUS_OK;
    qsort(list.found, list.count, sizeof(*list.found), by_comparison);
    mgk_h5_enter();
    mgk_status status = mgk_h5_open(path, &file);
    if (status == STATUS_OK)
        status = read_all(&file, &list);
    if (file.id >= 0)
        mgk_h5_abandon(&file);
    mgk_h5_leave();
    return status;
}

void mgk_measure_comparisons_free(mgk_measure_comparisons *comparisons)
{
    mgk_arena_free(&comparisons->arena);
    *comparisons = (mgk_measure_comparisons){.comparisons = NULL};
}
