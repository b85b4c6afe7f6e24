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

/* The numbers that occur along each of the first three axes. */
typedef struct grid {
    size_t count[AXES];
    int32_t *values[INDEX]; /* [count], ascending */
} grid;

static int compare(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* The distinct values, ascending. */
static mgk_status collect(const int32_t *column, size_t count, int32_t **out, size_t *distinct)
{
    TRY(mgk_alloc(count, sizeof(**out), out));
    memcpy(*out, column, count * sizeof(**out));
    qsort(*out, count, sizeof(**out), compare);
    *distinct = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || (*out)[i] != (*out)[*distinct - 1])
            (*out)[(*distinct)++] = (*out)[i];
    return STATUS_OK;
}

static void grid_close(grid *g)
{
    for (int i = 0; i < INDEX; i++)
        mgk_free(g->values[i]);
    *g = (grid){0};
}

static mgk_status grid_open(const mgk_spectra *spectra, grid *out)
{
    mgk_status status = STATUS_OK;
    const int32_t *columns[INDEX] = {spectra->sample, spectra->layer, spectra->head};
    *out = (grid){.count[INDEX] = spectra->length};
    for (int i = 0; i < INDEX; i++)
        CHECK(collect(columns[i], spectra->count, &out->values[i], &out->count[i]));
out:
    if (status != STATUS_OK)
        grid_close(out);
    return status;
}

/* Computes the position of a matrix's spectrum. */
static void find_place(const grid *g, const mgk_spectra *spectra, size_t matrix,
                       hsize_t start[AXES])
{
    const int32_t key[INDEX] = {spectra->sample[matrix], spectra->layer[matrix],
                                spectra->head[matrix]};
    for (int i = 0; i < INDEX; i++) {
        const int32_t *found = bsearch(&key[i], g->values[i], g->count[i], sizeof(key[i]), compare);
        start[i] = (hsize_t)(found - g->values[i]);
    }
    start[INDEX] = 0;
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
        CHECK(mgk_h5_create_scale(file, scales[i], labels[i], g->count[i],
                                  i < INDEX ? g->values[i] : NULL, &scale));
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
    CHECK(create(file, &g, &dataset));
    for (size_t matrix = 0; matrix < spectra->count; matrix++) {
        find_place(&g, spectra, matrix, start);
        CHECK(mgk_h5_write_box(file, name, dataset, AXES, start, count, H5T_NATIVE_DOUBLE,
                               spectra->values + matrix * spectra->length));
    }
out:
    grid_close(&g);
    return status;
}

/* The matrices determine the shape, except for the length of the spectra. */
static mgk_status check_shape(const mgk_h5_file *file, const grid *g, int rank,
                              const hsize_t *shape)
{
    bool same = rank == AXES;
    for (int i = 0; same && i < INDEX; i++)
        same = shape[i] == g->count[i];
    if (same)
        return STATUS_OK;
    char text[200];
    mgk_h5_shape_text(rank, shape, text, sizeof(text));
    return mgk_fail(STATUS_SHAPE, "%s: \"%s\" is %s, expected [%zu, %zu, %zu, index]", file->path,
                    name, text, g->count[0], g->count[1], g->count[2]);
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
    CHECK(grid_open(matrices, &g));
    CHECK(check_shape(file, &g, rank, shape));
    count[INDEX] = *length = shape[INDEX];
    CHECK(mgk_multiply(matrices->count, *length, &total));
    CHECK(mgk_alloc(total, sizeof(double), values));
    for (size_t matrix = 0; matrix < matrices->count; matrix++) {
        find_place(&g, matrices, matrix, start);
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
