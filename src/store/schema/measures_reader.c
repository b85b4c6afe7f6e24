/* SPDX-License-Identifier: MIT */
#include "store/schema/measures_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "store/foreign/list.h"
#include "store/hdf5/h5_box.h"

enum { AXES = MGK_MEASURE_AXES_MOST, NAME = 512, INPUTS_MOST = 4096 };

/* An array in the file. */
typedef struct found_array {
    size_t input;
    const char *object; /* its path */
    size_t folder;      /* characters of the path before "/measures" or "/across_layers" */
    mgk_measure_array array;
    uint64_t shape[AXES];
    hid_t dataset; /* once it is open */
} found_array;

struct mgk_measures_reader {
    const char *path;
    mgk_arena arena;               /* of all texts and numbers */
    const char *settings, *format; /* NULL: none */
    int32_t version;
    found_array *found; /* [count], those of an input follow each other */
    size_t count, room;
    const char **names; /* [name_count], of inputs that are groups */
    size_t name_count, name_room;
    mgk_measure_arrays *inputs; /* [input_count] */
    mgk_measure_array *arrays;  /* [count] */
    size_t input_count;
    mgk_h5_file file;
};

/* ---- what the file lists --------------------------------------------------------------------- */

/* The number K of an object /inputs/K/REST, and its rest; false: another object. */
static bool parse_input(const char *object, size_t *input, const char **rest)
{
    static const char folder[] = "/inputs/";
    char *end;
    *input = 0;
    *rest = object;
    if (strncmp(object, folder, sizeof(folder) - 1) != 0)
        return true;
    const char *digits = object + sizeof(folder) - 1;
    if (*digits < '0' || *digits > '9')
        return false;
    *input = strtoul(digits, &end, 10);
    *rest = end;
    return *input < INPUTS_MOST;
}

static mgk_status copy(mgk_measures_reader *r, const char *text, const char **out)
{
    return mgk_arena_text(&r->arena, text, strlen(text), out);
}

/* Whether an object of an input, its path without that of the input, is in this folder. */
static bool is_in(const char *rest, bool across)
{
    const char *folder = mgk_measure_folder(across);
    const size_t length = strlen(folder);
    return strncmp(rest, folder, length) == 0 && rest[length] == '/' &&
           !strchr(rest + length + 1, '/');
}

static mgk_status add_array(mgk_measures_reader *r, const mgk_store_entry *entry)
{
    size_t input;
    const char *rest;
    if (!parse_input(entry->object, &input, &rest) || !(is_in(rest, false) || is_in(rest, true)))
        return STATUS_OK;
    const bool across = is_in(rest, true);
    const int least = across ? AXES : 2, most = across ? AXES : AXES - 1;
    if (entry->rank < least || entry->rank > most)
        return mgk_fail(STATUS_SHAPE, "%s: \"%s\" has %d axes, expected %d to %d", r->path,
                        entry->object, entry->rank, least, most);
    TRY(mgk_arena_grow(&r->arena, r->count, sizeof(*r->found), &r->room, &r->found));
    found_array *f = &r->found[r->count];
    *f = (found_array){.input = input,
                       .folder = (size_t)(rest - entry->object),
                       .array = {NULL, "", "", "", "", entry->rank, false, across}};
    memcpy(f->shape, entry->shape, (size_t)entry->rank * sizeof(*f->shape));
    TRY(copy(r, entry->object, &f->object));
    f->array.name = strrchr(f->object, '/') + 1;
    r->count++;
    return STATUS_OK;
}

/* The member of an array that an attribute gives; NULL: another attribute. */
static const char **member(mgk_measure_array *array, const char *attribute)
{
    return strcmp(attribute, "formula") == 0  ? &array->formula
           : strcmp(attribute, "source") == 0 ? &array->source
           : strcmp(attribute, "level") == 0  ? &array->level
           : strcmp(attribute, "unit") == 0   ? &array->unit
                                              : NULL;
}

static mgk_status add_name(mgk_measures_reader *r, const mgk_store_entry *entry)
{
    size_t input;
    const char *rest;
    if (strcmp(entry->attribute, "name") != 0 || strncmp(entry->object, "/inputs/", 8) != 0 ||
        !parse_input(entry->object, &input, &rest) || *rest)
        return STATUS_OK;
    while (r->name_count <= input) {
        TRY(mgk_arena_grow(&r->arena, r->name_count, sizeof(*r->names), &r->name_room, &r->names));
        r->names[r->name_count++] = "";
    }
    return copy(r, entry->value, &r->names[input]);
}

static mgk_status take_root(mgk_measures_reader *r, const mgk_store_entry *entry)
{
    if (strcmp(entry->attribute, "format") == 0)
        return copy(r, entry->value, &r->format);
    if (strcmp(entry->attribute, "settings") == 0)
        return copy(r, entry->value, &r->settings);
    if (strcmp(entry->attribute, "format_version") == 0)
        r->version = (int32_t)strtol(entry->value, NULL, 10);
    return STATUS_OK;
}

static mgk_status visit(void *context, const mgk_store_entry *entry)
{
    mgk_measures_reader *r = context;
    if (!entry->attribute)
        return add_array(r, entry);
    if (strcmp(entry->object, "/") == 0)
        return take_root(r, entry);
    if (r->count > 0 && strcmp(entry->object, r->found[r->count - 1].object) == 0) {
        mgk_measure_array *array = &r->found[r->count - 1].array;
        const char **text = member(array, entry->attribute);
        if (strcmp(entry->attribute, "components") == 0 && array->axes == MGK_AXIS_OTHER + 1)
            array->components = true;
        return text ? copy(r, entry->value, text) : STATUS_OK;
    }
    return add_name(r, entry);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int by_input(const void *a, const void *b)
{
    const found_array *x = a, *y = b;
    if (x->input != y->input)
        return x->input < y->input ? -1 : 1;
    return strcmp(x->object, y->object);
}

/* Takes the sizes of an input from its array, or compares them. */
static mgk_status agree(const mgk_measures_reader *r, const found_array *f, mgk_measure_arrays *a)
{
    const bool heads = f->array.axes > 2, first = a->array_count == 0;
    if (first) {
        a->sample_count = f->shape[0];
        a->layer_count = f->shape[1];
    }
    if (heads && a->head_count == 0)
        a->head_count = f->shape[2];
    for (int axis = 0; axis < f->array.axes; axis++) {
        const mgk_measure_axis which = mgk_measure_axis_of(&f->array, axis);
        if (which == MGK_AXIS_COMPONENT && a->component_count == 0)
            a->component_count = f->shape[axis];
        const size_t expected = mgk_measure_axis_length(a, which);
        if (f->shape[axis] != expected || expected == 0)
            return mgk_fail(STATUS_SHAPE, "%s: axis %d of \"%s\" has %llu, expected %zu", r->path,
                            axis, f->object, (unsigned long long)f->shape[axis], expected);
    }
    return STATUS_OK;
}

static mgk_status group_arrays(mgk_measures_reader *r)
{
    if (!r->format || strcmp(r->format, "mgk-diversity") != 0)
        return mgk_fail(STATUS_FORMAT, "%s: not a file of mgk-diversity", r->path);
    if (r->version != 1)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: format_version is %d, expected 1", r->path,
                        r->version);
    if (r->count == 0)
        return mgk_fail(STATUS_FORMAT, "%s: no measures", r->path);
    qsort(r->found, r->count, sizeof(*r->found), by_input);
    r->input_count = r->found[r->count - 1].input + 1;
    TRY(mgk_arena_alloc(&r->arena, r->input_count, sizeof(*r->inputs), &r->inputs));
    TRY(mgk_arena_alloc(&r->arena, r->count, sizeof(*r->arrays), &r->arrays));
    for (size_t i = 0; i < r->count; i++) {
        mgk_measure_arrays *a = &r->inputs[r->found[i].input];
        r->arrays[i] = r->found[i].array;
        if (a->array_count == 0)
            a->arrays = &r->arrays[i];
        TRY(agree(r, &r->found[i], a));
        a->array_count++;
    }
    for (size_t i = 0; i < r->input_count; i++) {
        r->inputs[i].name = i < r->name_count ? r->names[i] : "";
        if (r->inputs[i].array_count == 0)
            return mgk_fail(STATUS_FORMAT, "%s: input %zu has no measures", r->path, i);
    }
    return STATUS_OK;
}

/* ---- numbers of samples, layers and heads ---------------------------------------------------- */

static mgk_status read_numbers(mgk_measures_reader *r, hid_t dataset, const char *name,
                               size_t count, const int32_t **out)
{
    const hsize_t start = 0, all = count;
    int32_t *numbers;
    TRY(mgk_arena_alloc(&r->arena, count, sizeof(*numbers), &numbers));
    TRY(mgk_h5_read_box(&r->file, name, dataset, 1, &start, &all, H5T_NATIVE_INT32, numbers));
    for (size_t i = 0; i < count; i++)
        if (numbers[i] < 0)
            return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %d, expected 0 or more", r->path, name,
                            numbers[i]);
    *out = numbers;
    return STATUS_OK;
}

/* Reads the scale of an axis of an input; a file without it counts from 0. */
static mgk_status read_scale(mgk_measures_reader *r, size_t input, const char *axis, size_t count,
                             const int32_t **out)
{
    const found_array *first = &r->found[r->inputs[input].arrays - r->arrays];
    char name[NAME];
    hid_t dataset;
    hsize_t length;
    int rank;
    *out = NULL;
    snprintf(name, sizeof(name), "%.*s/%s", (int)first->folder, first->object, axis);
    if (count == 0 || !mgk_h5_has_dataset(&r->file, name))
        return STATUS_OK;
    TRY(mgk_h5_open_dataset(&r->file, name, H5T_INTEGER, 1, &dataset, &rank, &length));
    mgk_status status = length == count
                            ? read_numbers(r, dataset, name, count, out)
                            : mgk_fail(STATUS_SHAPE, "%s: \"%s\" has %llu numbers, expected %zu",
                                       r->path, name, (unsigned long long)length, count);
    mgk_h5_close(dataset);
    return status;
}

static mgk_status read_scales(mgk_measures_reader *r)
{
    for (size_t i = 0; i < r->input_count; i++) {
        mgk_measure_arrays *a = &r->inputs[i];
        TRY(read_scale(r, i, "sample", a->sample_count, &a->samples));
        TRY(read_scale(r, i, "layer", a->layer_count, &a->layers));
        TRY(read_scale(r, i, "head", a->head_count, &a->heads));
    }
    return STATUS_OK;
}

static mgk_status open_array(mgk_measures_reader *r, found_array *found)
{
    hsize_t shape[AXES];
    int rank;
    return mgk_h5_open_dataset(&r->file, found->object, H5T_FLOAT, AXES, &found->dataset, &rank,
                               shape);
}

/* Opening an array checks that the file holds as many values as its shape says, before anyone takes
 * memory for them. */
static mgk_status read_structure(mgk_measures_reader *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->found[i].dataset = H5I_INVALID_HID;
    TRY(mgk_h5_open(r->path, &r->file));
    for (size_t i = 0; i < r->count; i++)
        TRY(open_array(r, &r->found[i]));
    return read_scales(r);
}

static mgk_status open_file(mgk_measures_reader *r)
{
    TRY(mgk_store_list(r->path, visit, r));
    TRY(group_arrays(r));
    mgk_h5_enter();
    mgk_status status = read_structure(r);
    mgk_h5_leave();
    return status;
}

mgk_status mgk_measures_open(const char *path, mgk_measures_reader **out)
{
    mgk_measures_reader *r;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*r), &r));
    r->path = path;
    r->file.id = H5I_INVALID_HID;
    mgk_status status = open_file(r);
    if (status == STATUS_OK)
        *out = r;
    else
        mgk_measures_close(r);
    return status;
}

void mgk_measures_close(mgk_measures_reader *reader)
{
    if (!reader)
        return;
    mgk_h5_enter();
    if (reader->file.id >= 0) {
        for (size_t i = 0; i < reader->count; i++)
            mgk_h5_close(reader->found[i].dataset);
        mgk_h5_abandon(&reader->file);
    }
    mgk_h5_leave();
    mgk_arena_free(&reader->arena);
    mgk_free(reader);
}

const char *mgk_measures_settings(const mgk_measures_reader *reader)
{
    return reader->settings;
}

size_t mgk_measures_inputs(const mgk_measures_reader *reader)
{
    return reader->input_count;
}

const mgk_measure_arrays *mgk_measures_input(const mgk_measures_reader *reader, size_t input)
{
    return &reader->inputs[input];
}

/* ---- values ---------------------------------------------------------------------------------- */

mgk_status mgk_measures_read(mgk_measures_reader *reader, size_t input, size_t array, size_t sample,
                             double *values)
{
    const mgk_measure_arrays *a = &reader->inputs[input];
    const found_array *found = &reader->found[(size_t)(a->arrays - reader->arrays) + array];
    hsize_t start[AXES] = {sample}, count[AXES] = {1};
    for (int axis = 1; axis < a->arrays[array].axes; axis++)
        count[axis] = mgk_measure_axis_length(a, mgk_measure_axis_of(&a->arrays[array], axis));
    mgk_h5_enter();
    mgk_status status =
        mgk_h5_read_box(&reader->file, found->object, found->dataset, a->arrays[array].axes, start,
                        count, H5T_NATIVE_DOUBLE, values);
    mgk_h5_leave();
    return status;
}
