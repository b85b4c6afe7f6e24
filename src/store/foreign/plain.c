/* SPDX-License-Identifier: MIT */
#include "store/foreign/plain.h"

#include <stdlib.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/number.h"
#include "store/foreign/list.h"

enum { MOST_AXES = 5, LISTED = 6, TEXT_SIZE = 400, NAMES_MAX = 4096 };

/* The arrays that the name may mean. */
typedef struct candidates {
    const char *pattern; /* NULL: every array of matrices */
    bool square;         /* without a pattern: these alone */
    char **names;        /* [count] */
    size_t count, capacity;
    char text[TEXT_SIZE]; /* the first ones with their shapes, for messages */
    size_t arrays;        /* number of arrays in the file */
    char *only;           /* name of the first one */
} candidates;

static void free_candidates(candidates *c)
{
    for (size_t i = 0; i < c->count; i++)
        mgk_free(c->names[i]);
    mgk_free(c->names);
    mgk_free(c->only);
}

static mgk_status add_name(candidates *c, const char *name)
{
    if (c->count == NAMES_MAX)
        return mgk_fail(STATUS_SHAPE, "more than %d arrays of matrices", NAMES_MAX);
    TRY(mgk_grow(c->count, sizeof(*c->names), &c->capacity, &c->names));
    TRY(mgk_copy_string(name, &c->names[c->count]));
    c->count++;
    return STATUS_OK;
}

/* Whether an array that nobody named holds matrices: square ones, or, if the file has none of
 * these, several others, of attention of one sequence to another. */
static bool holds_matrices(const mgk_store_entry *entry, bool square)
{
    const bool known = strncmp(entry->type, "float", 5) == 0 && entry->rank <= MOST_AXES;
    return known && (square ? entry->rank >= 2 &&
                                  entry->shape[entry->rank - 1] == entry->shape[entry->rank - 2]
                            : entry->rank >= 3);
}

/* Whether the pattern, in which a star stands for any text, is the name. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = NULL, *taken = name; /* by the last star: up to here */
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            taken = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++taken;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* Users write an HDF5 path with the slash before it, or without. */
static bool is_meant(const char *pattern, const mgk_store_entry *entry)
{
    return matches(pattern, entry->name) || matches(pattern, entry->object);
}

static mgk_status visit(void *context, const mgk_store_entry *entry)
{
    candidates *c = context;
    const char *name = entry->name;
    if (c->arrays++ == 0 && !c->only)
        TRY(mgk_copy_string(name, &c->only));
    if (c->pattern ? !is_meant(c->pattern, entry) : !holds_matrices(entry, c->square))
        return STATUS_OK;
    if (c->count < LISTED) {
        char shape[100];
        mgk_shape_text(entry->rank, entry->shape, shape, sizeof(shape));
        mgk_append(c->text, TEXT_SIZE, "%s\"%.60s\" %s", *c->text ? ", " : "", name, shape);
    }
    return add_name(c, name);
}

/* Orders "layer_2" before "layer_10". */
static int natural(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Finds the arrays that `name` stands for. */
static mgk_status choose(const char *path, const char *name, candidates *c)
{
    if (name && !strchr(name, '*'))
        return add_name(c, name);
    c->pattern = name;
    c->square = true;
    TRY(mgk_store_list_arrays(path, visit, c));
    if (!name && c->count == 0 && c->arrays > 1) {
        c->square = false;
        c->arrays = 0;
        TRY(mgk_store_list_arrays(path, visit, c));
    }
    if (name && c->count == 0)
        return mgk_fail(STATUS_FORMAT, "%s: no array \"%s\"", path, name);
    if (!name && c->arrays == 1 && c->count == 0)
        return add_name(c, c->only); /* opening it reports what is wrong */
    if (name)
        qsort(c->names, c->count, sizeof(*c->names), natural);
    else if (c->count == 0)
        return mgk_fail(STATUS_FORMAT,
                        "%s: not an attention store, and no array of matrices is in it", path);
    else if (c->count > 1)
        return mgk_fail(STATUS_FORMAT,
                        "%s: not an attention store; name the array that holds the matrices by "
                        "`dataset`, with a star for one a layer ('layer_*'): %s%s",
                        path, c->text, c->count > LISTED ? ", ..." : "");
    return STATUS_OK;
}

static mgk_status open_hdf5(const mgk_h5_file *file, mgk_matrix_array *array)
{
    mgk_stored_dataset *dataset = &array->dataset;
    TRY(mgk_h5_open_dataset(file, array->name, H5T_FLOAT, STORE_MAX_RANK, &dataset->id,
                            &dataset->rank, dataset->shape));
    array->storage = mgk_storage_of(dataset->id);
    mgk_h5_find_flat(file, dataset->id, dataset->rank, &array->flat);
    return STATUS_OK;
}

static mgk_status open_numpy(const mgk_numpy_matrices *numpy, mgk_matrix_array *array)
{
    mgk_stored_dataset *dataset = &array->dataset;
    TRY(mgk_numpy_matrices_find(numpy, array->name, &array->member, &array->storage));
    const mgk_npy *header = &mgk_numpy_at(numpy->file, array->member)->header;
    dataset->rank = header->rank;
    for (int i = 0; i < header->rank && i < STORE_MAX_RANK; i++)
        dataset->shape[i] = header->shape[i];
    return STATUS_OK;
}

static mgk_status check_shape(const char *path, const mgk_matrix_array *array, int most_axes)
{
    const mgk_stored_dataset *dataset = &array->dataset;
    char text[200];
    int rank = dataset->rank;
    const char *name = *array->name ? array->name : "array";
    mgk_h5_shape_text(rank < STORE_MAX_RANK ? rank : STORE_MAX_RANK, dataset->shape, text,
                      sizeof(text));
    if (rank < 2 || rank > most_axes)
        return mgk_fail(STATUS_SHAPE,
                        "%s: \"%s\" has %d %s, expected 2 to %d: matrices and what is in front "
                        "of them",
                        path, name, rank, MGK_NOUN(rank, "axis", "axes"), most_axes);
    for (int i = 0; i < rank; i++)
        if (dataset->shape[i] < 1 || dataset->shape[i] > INT32_MAX)
            return mgk_fail(STATUS_SHAPE, "%s: \"%s\" is %s, which holds no matrices", path, name,
                            text);
    return STATUS_OK;
}

/* The arrays of all layers must have the same shape. */
static mgk_status check_alike(const char *path, const mgk_matrix_array *first,
                              const mgk_matrix_array *array)
{
    char one[200], other[200];
    const mgk_stored_dataset *a = &first->dataset, *b = &array->dataset;
    if (a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof(*a->shape)) == 0)
        return STATUS_OK;
    mgk_h5_shape_text(a->rank, a->shape, one, sizeof(one));
    mgk_h5_shape_text(b->rank, b->shape, other, sizeof(other));
    return mgk_fail(STATUS_SHAPE, "%s: layers differ: \"%s\" is %s, \"%s\" is %s", path,
                    first->name, one, array->name, other);
}

/* 0, 1, 2, ... */
static mgk_status count_up(int32_t count, const int32_t **out)
{
    int32_t *values;
    TRY(mgk_alloc((size_t)count, sizeof(*values), &values));
    for (int32_t i = 0; i < count; i++)
        values[i] = i;
    *out = values;
    return STATUS_OK;
}

/* The axes in front of the matrices: those of the text, or the usual ones. */
static mgk_status choose_axes(const char *path, const char *text, const mgk_matrix_array *array,
                              bool layer_each, mgk_leading_axes *out)
{
    const int leading = array->dataset.rank - 2;
    *out = mgk_usual_axes(leading);
    if (!text)
        return STATUS_OK;
    TRY(mgk_axes_parse(text, out));
    if (out->count != leading)
        return mgk_fail(STATUS_SHAPE,
                        "%s: \"%s\" has %d %s in front of its matrices, `axes` %s names %d", path,
                        *array->name ? array->name : "array", leading,
                        MGK_NOUN(leading, "axis", "axes"), text, out->count);
    if (layer_each && mgk_axes_have(out, MGK_LEADING_LAYER))
        return mgk_fail(STATUS_SHAPE,
                        "%s: one array for each layer, but `axes` %s has a layer, too", path, text);
    return STATUS_OK;
}

/* Without an axis of layers there is one array for each layer. */
static mgk_status describe(const mgk_matrix_arrays *arrays, mgk_store_description *description)
{
    const mgk_stored_dataset *first = &arrays->at[0].dataset;
    const mgk_leading_axes *axes = &description->leading;
    int32_t sizes[MGK_LEADING_AXES] = {1, (int32_t)arrays->count, 1};
    for (int i = 0; i < axes->count; i++)
        sizes[axes->at[i]] = (int32_t)first->shape[i];
    description->samples = sizes[MGK_LEADING_SAMPLE];
    description->layers = sizes[MGK_LEADING_LAYER];
    description->heads = sizes[MGK_LEADING_HEAD];
    description->tokens = (int32_t)first->shape[axes->count];
    description->cross = first->shape[axes->count] != first->shape[axes->count + 1];
    description->key_tokens = description->cross ? (int32_t)first->shape[axes->count + 1] : 0;
    description->mixtures = 1;
    description->objects = MGK_STORE_BIT(STORE_ATTENTION);
    TRY(count_up(description->samples, &description->sample_index));
    TRY(count_up(description->layers, &description->layer_index));
    return count_up(description->heads, &description->head_index);
}

static mgk_status open_arrays(const char *path, const mgk_h5_file *hdf5,
                              const mgk_numpy_matrices *numpy, const candidates *c,
                              mgk_matrix_arrays *out, mgk_store_real *narrowest)
{
    /* One array per layer: there is no layer axis. */
    int most_axes = c->pattern ? MOST_AXES - 1 : MOST_AXES;
    *narrowest = STORE_F64;
    for (size_t i = 0; i < c->count; i++) {
        mgk_matrix_array *array;
        TRY(mgk_add_matrices(out, c->names[i], &array));
        TRY(numpy->file ? open_numpy(numpy, array) : open_hdf5(hdf5, array));
        TRY(check_shape(path, array, most_axes));
        TRY(check_alike(path, &out->at[0], array));
        if (array->storage < *narrowest)
            *narrowest = array->storage;
    }
    return STATUS_OK;
}

mgk_status mgk_open_plain(const char *path, const mgk_h5_file *hdf5,
                          const mgk_numpy_matrices *numpy, const char *name, const char *axes,
                          mgk_matrix_arrays *out, mgk_store_description *description)
{
    candidates c = {.pattern = NULL};
    mgk_status status = choose(path, name, &c);
    if (status == STATUS_OK) {
        mgk_h5_enter();
        status = open_arrays(path, hdf5, numpy, &c, out, &description->storage);
        mgk_h5_leave();
    }
    if (status == STATUS_OK)
        status = choose_axes(path, axes, &out->at[0], c.pattern != NULL, &description->leading);
    if (status == STATUS_OK)
        status = describe(out, description);
    free_candidates(&c);
    return status;
}
