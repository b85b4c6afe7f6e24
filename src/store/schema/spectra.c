/* SPDX-License-Identifier: MIT */
#include "store/schema/spectra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/hdf5/h5_box.h"

enum { INDEX = 3, AXES = 4 };

static const char *const name = "singular_values";
static const char *const labels[AXES] = {"sample", "layer", "head", "index"};
static const char *const scales[AXES] = {"samples", "layers", "heads", "index"};

/* A number of an axis, and where it is. */
typedef struct place {
    int32_t number;
    size_t at;
} place;

/* The places of each of the first three axes, by their numbers. */
typedef struct grid {
    size_t count[AXES];
    place *places[INDEX]; /* [count] */
} grid;

static int compare_numbers(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return a->number != b->number ? (a->number > b->number) - (a->number < b->number)
                                  : (a->at > b->at) - (a->at < b->at);
}

static int compare_to_place(const void *number, const void *element)
{
    const int32_t wanted = *(const int32_t *)number, there = ((const place *)element)->number;
    return (wanted > there) - (wanted < there);
}

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

/* The distinct numbers of a column; their places are the rows in which they come first. */
static mgk_status find_numbers(const int32_t *column, size_t count, place **out, size_t *distinct)
{
    TRY(mgk_alloc(count, sizeof(**out), out));
    for (size_t i = 0; i < count; i++)
        (*out)[i] = (place){column[i], i};
    qsort(*out, count, sizeof(**out), compare_numbers);
    *distinct = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || (*out)[i].number != (*out)[*distinct - 1].number)
            (*out)[(*distinct)++] = (*out)[i];
    return STATUS_OK;
}

/* Numbers the places from 0 in their order. */
static void number_places(place *places, size_t count)
{
    qsort(places, count, sizeof(*places), compare_places);
    for (size_t i = 0; i < count; i++)
        places[i].at = i;
    qsort(places, count, sizeof(*places), compare_numbers);
}

static void grid_close(grid *g)
{
    for (int i = 0; i < INDEX; i++)
        mgk_free(g->places[i]);
    *g = (grid){0};
}

/* Samples in the order of the rows, layers and heads ascending: rows may lack some. */
static mgk_status grid_open(const mgk_spectra *spectra, grid *out)
{
    mgk_status status = STATUS_OK;
    const int32_t *columns[INDEX] = {spectra->sample, spectra->layer, spectra->head};
    *out = (grid){.count[INDEX] = spectra->length};
    for (int i = 0; i < INDEX; i++) {
        CHECK(find_numbers(columns[i], spectra->count, &out->places[i], &out->count[i]));
        for (size_t k = 0; i > 0 && k < out->count[i]; k++)
            out->places[i][k].at = k;
        number_places(out->places[i], out->count[i]);
    }
out:
    if (status != STATUS_OK)
        grid_close(out);
    return status;
}

/* Computes the position of a matrix's spectrum. False: it has none. */
static bool find_place(const grid *g, const mgk_spectra *spectra, size_t matrix,
                       hsize_t start[AXES])
{
    const int32_t number[INDEX] = {spectra->sample[matrix], spectra->layer[matrix],
                                   spectra->head[matrix]};
    start[INDEX] = 0;
    for (int i = 0; i < INDEX; i++) {
        const place *found =
            bsearch(&number[i], g->places[i], g->count[i], sizeof(*found), compare_to_place);
        if (!found)
            return false;
        start[i] = found->at;
    }
    return true;
}

/* Refuses two matrices that have one place. */
static mgk_status expect_own_places(const grid *g, const mgk_spectra *spectra)
{
    mgk_status status = STATUS_OK;
    bool *taken = NULL;
    hsize_t at[AXES];
    CHECK(mgk_alloc(g->count[0] * g->count[1], g->count[2], &taken));
    for (size_t matrix = 0; matrix < spectra->count; matrix++) {
        find_place(g, spectra, matrix, at);
        bool *own = &taken[(at[0] * g->count[1] + at[1]) * g->count[2] + at[2]];
        if (*own)
            CHECK(mgk_fail(STATUS_UNSUPPORTED,
                           "two matrices of sample %d, layer %d, head %d: a file of spectra has a "
                           "place for one",
                           spectra->sample[matrix], spectra->layer[matrix], spectra->head[matrix]));
        *own = true;
    }
out:
    mgk_free(taken);
    return status;
}

static mgk_status create_scale(const mgk_h5_file *file, const grid *g, int axis, hid_t *out)
{
    int32_t *numbers;
    if (axis == INDEX)
        return mgk_h5_create_scale(file, scales[axis], labels[axis], g->count[axis], NULL, out);
    TRY(mgk_alloc(g->count[axis], sizeof(*numbers), &numbers));
    for (size_t k = 0; k < g->count[axis]; k++)
        numbers[g->places[axis][k].at] = g->places[axis][k].number;
    mgk_status status =
        mgk_h5_create_scale(file, scales[axis], labels[axis], g->count[axis], numbers, out);
    mgk_free(numbers);
    return status;
}

/* One spectrum per chunk, so that missing ones take no space. */
static mgk_status create(const mgk_h5_file *file, const grid *g, hid_t *out)
{
    const double missing = NAN;
    hsize_t shape[AXES], chunk[AXES] = {1, 1, 1, g->count[INDEX]};
    mgk_status status = STATUS_OK;
    for (int i = 0; i < AXES; i++)
        shape[i] = g->count[i];
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (properties < 0 || H5Pset_chunk(properties, AXES, chunk) < 0 ||
        H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &missing) < 0) {
        status = mgk_h5_fail(STATUS_UNSUPPORTED, file, "cannot chunk \"%s\"", name);
        goto out;
    }
    CHECK(mgk_h5_create_dataset(file, name, H5T_NATIVE_DOUBLE, AXES, shape, properties, out));
    for (int i = 0; i < AXES; i++) {
        hid_t scale;
        CHECK(create_scale(file, g, i, &scale));
        CHECK(mgk_h5_set_axis(file, *out, (unsigned)i, labels[i], scale));
    }
out:
    mgk_h5_close(properties);
    return status;
}

mgk_status mgk_spectra_write(const mgk_h5_file *file, const mgk_spectra *spectra)
{
    mgk_status status = STATUS_OK;
    grid g;
    hid_t dataset;
    hsize_t start[AXES];
    const hsize_t count[AXES] = {1, 1, 1, spectra->length};
    TRY(grid_open(spectra, &g));
    CHECK(expect_own_places(&g, spectra));
    CHECK(create(file, &g, &dataset));
    for (size_t matrix = 0; matrix < spectra->count; matrix++) {
        find_place(&g, spectra, matrix, start); /* all have one */
        CHECK(mgk_h5_write_box(file, name, dataset, AXES, start, count, H5T_NATIVE_DOUBLE,
                               spectra->values + matrix * spectra->length));
    }
out:
    grid_close(&g);
    return status;
}

/* Reads the numbers of an axis from its scale. */
static mgk_status read_scale(const mgk_h5_file *file, int axis, hsize_t length, place **out)
{
    mgk_status status = STATUS_OK;
    int32_t *numbers = NULL;
    hid_t dataset;
    int rank;
    const hsize_t start = 0;
    hsize_t count;
    *out = NULL;
    TRY(mgk_h5_open_dataset(file, scales[axis], H5T_INTEGER, 1, &dataset, &rank, &count));
    if (rank != 1 || count != length)
        CHECK(mgk_fail(STATUS_SHAPE, "%s: \"%s\" has not the length of axis %d of \"%s\"",
                       file->path, scales[axis], axis, name));
    CHECK(mgk_alloc(length, sizeof(*numbers), &numbers));
    CHECK(
        mgk_h5_read_box(file, scales[axis], dataset, 1, &start, &count, H5T_NATIVE_INT32, numbers));
    CHECK(mgk_alloc(length, sizeof(**out), out));
    for (size_t k = 0; k < length; k++)
        (*out)[k] = (place){numbers[k], k};
    qsort(*out, length, sizeof(**out), compare_numbers);
out:
    mgk_free(numbers);
    mgk_h5_close(dataset);
    return status;
}

static mgk_status grid_read(const mgk_h5_file *file, int rank, const hsize_t *shape, grid *out)
{
    mgk_status status = STATUS_OK;
    char text[200];
    *out = (grid){0};
    mgk_h5_shape_text(rank, shape, text, sizeof(text));
    if (rank != AXES)
        return mgk_fail(STATUS_SHAPE, "%s: \"%s\" is %s, expected [sample, layer, head, index]",
                        file->path, name, text);
    for (int i = 0; i < AXES; i++)
        out->count[i] = shape[i];
    for (int i = 0; i < INDEX; i++)
        CHECK(read_scale(file, i, shape[i], &out->places[i]));
out:
    if (status != STATUS_OK)
        grid_close(out);
    return status;
}

mgk_status mgk_spectra_read(const mgk_h5_file *file, const mgk_spectra *matrices, size_t *length,
                            double **values)
{
    mgk_status status = STATUS_OK;
    grid g = {0};
    hid_t dataset;
    int rank;
    hsize_t shape[AXES], start[AXES], count[AXES] = {1, 1, 1};
    size_t total;
    *length = 0;
    *values = NULL;
    if (!mgk_h5_has_dataset(file, name))
        return STATUS_OK;
    TRY(mgk_h5_open_dataset(file, name, H5T_FLOAT, AXES, &dataset, &rank, shape));
    CHECK(grid_read(file, rank, shape, &g));
    count[INDEX] = *length = shape[INDEX];
    CHECK(mgk_multiply(matrices->count, *length, &total));
    CHECK(mgk_alloc(total, sizeof(double), values));
    for (size_t matrix = 0; matrix < matrices->count; matrix++) {
        if (!find_place(&g, matrices, matrix, start))
            CHECK(mgk_fail(STATUS_SHAPE, "%s: \"%s\" lacks sample %d, layer %d, head %d",
                           file->path, name, (int)matrices->sample[matrix],
                           (int)matrices->layer[matrix], (int)matrices->head[matrix]));
        CHECK(mgk_h5_read_box(file, name, dataset, AXES, start, count, H5T_NATIVE_DOUBLE,
                              *values + matrix * *length));
    }
out:
    if (status != STATUS_OK) {
        mgk_free(*values);
        *values = NULL;
    }
    grid_close(&g);
    mgk_h5_close(dataset);
    return status;
}
