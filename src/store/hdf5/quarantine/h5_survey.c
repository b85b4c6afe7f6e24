/* SPDX-License-Identifier: MIT */
/* Reads everything that readers may read. */
#include "store/hdf5/quarantine/h5_survey.h"
#include "base/memory.h"
#include "store/hdf5/h5_box.h"
#include "store/hdf5/h5_virtual.h"

enum {
    MOST_BYTES = 1 << 24, /* of an attribute */
    MOST_TEXTS = 1 << 15,
    MOST_CHUNK = 1 << 26 /* bytes of an unpacked chunk that is read for a single value */
};

/* The type to read into: converts numbers as the readers do. */
static hid_t memory_type(hid_t stored)
{
    switch (mgk_h5_is_usual(stored) ? H5Tget_class(stored) : H5T_NO_CLASS) {
    case H5T_INTEGER:
        return H5Tcopy(H5T_NATIVE_INT64);
    case H5T_FLOAT:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    default:
        return H5Tcopy(stored);
    }
}

static void read_attribute(hid_t attribute)
{
    hid_t stored = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hid_t type = memory_type(stored);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    size_t bytes = 0;
    void *values = NULL;
    if (count > 0 && mgk_multiply((size_t)count, H5Tget_size(type), &bytes) == STATUS_OK &&
        bytes <= MOST_BYTES && mgk_alloc(bytes, 1, &values) == STATUS_OK &&
        H5Aread(attribute, type, values) >= 0)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
    mgk_free(values);
    mgk_h5_close(type);
    mgk_h5_close(space);
    mgk_h5_close(stored);
}

static herr_t see_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)info;
    (void)context;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute >= 0)
        read_attribute(attribute);
    mgk_h5_close(attribute);
    return 0;
}

static void read_number(const mgk_h5_file *file, const char *name, hid_t dataset, hid_t type,
                        int rank, const hsize_t *place)
{
    hsize_t one[H5S_MAX_RANK];
    char value[sizeof(double)];
    for (int i = 0; i < rank; i++)
        one[i] = 1;
    (void)mgk_h5_read_box(file, name, dataset, rank, place, one, type, value);
}

/* Reads `count` strings along the last axis. */
static void read_row(const mgk_h5_file *file, const char *name, hid_t dataset, hid_t type, int rank,
                     const hsize_t *place, size_t count)
{
    hsize_t box[H5S_MAX_RANK];
    char **texts;
    for (int i = 0; i < rank; i++)
        box[i] = i < rank - 1 ? 1 : count;
    if (mgk_alloc(count, sizeof(*texts), &texts) != STATUS_OK)
        return;
    (void)mgk_h5_read_box(file, name, dataset, rank, place, box, type, texts);
    for (size_t i = 0; i < count; i++)
        H5free_memory(texts[i]);
    mgk_free(texts);
}

/* Advances to the next place of the shape; false past the last one. */
static bool advance(int rank, const hsize_t *shape, hsize_t *place)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++place[axis] < shape[axis])
            return true;
        place[axis] = 0;
    }
    return false;
}

/* Reads strings, each of which lies at its own place in the file: all rows, or some if there are
 * very many. */
static void read_texts(const mgk_h5_file *file, const char *name, hid_t dataset, hid_t type,
                       int rank, const hsize_t *shape)
{
    hsize_t place[H5S_MAX_RANK] = {0}, all = 1, row = 0;
    for (int i = 0; i < rank; i++)
        all *= shape[i]; /* at most the size of the file */
    hsize_t step = all / MOST_TEXTS + 1;
    do
        if (row++ % step == 0)
            read_row(file, name, dataset, type, rank, place, shape[rank - 1]);
    while (advance(rank - 1, shape, place));
}

/* Reads the corners only, which is enough for numbers. */
static void read_corners(const mgk_h5_file *file, const char *name, hid_t dataset, hid_t type,
                         int rank, const hsize_t *shape)
{
    hsize_t place[H5S_MAX_RANK] = {0};
    read_number(file, name, dataset, type, rank, place);
    for (int i = 0; i < rank; i++)
        place[i] = shape[i] - 1;
    read_number(file, name, dataset, type, rank, place);
}

/* Whether single values can be read cheaply. */
static bool has_small_chunks(hid_t dataset, size_t element_size)
{
    hsize_t chunk[H5S_MAX_RANK], bytes = element_size;
    hid_t properties = H5Dget_create_plist(dataset);
    int rank = H5Pget_layout(properties) == H5D_CHUNKED
                   ? H5Pget_chunk(properties, H5S_MAX_RANK, chunk)
                   : 0;
    for (int i = 0; i < rank && bytes <= MOST_CHUNK; i++)
        bytes *= chunk[i];
    mgk_h5_close(properties);
    return bytes <= MOST_CHUNK;
}

static void see_values(const mgk_h5_file *file, const char *name, hid_t stored)
{
    hsize_t shape[H5S_MAX_RANK];
    hid_t dataset, type = memory_type(stored);
    int rank;
    H5T_class_t class = H5Tget_class(stored);
    bool readable = class == H5T_FLOAT || class == H5T_INTEGER ||
                    (class == H5T_STRING && H5Tis_variable_str(stored) > 0);
    if (readable &&
        mgk_h5_open_dataset(file, name, class, H5S_MAX_RANK, &dataset, &rank, shape) == STATUS_OK) {
        if (class == H5T_STRING)
            read_texts(file, name, dataset, type, rank, shape);
        else if (has_small_chunks(dataset, H5Tget_size(stored)))
            read_corners(file, name, dataset, type, rank, shape);
        mgk_h5_close(dataset);
    }
    mgk_h5_close(type);
}

/* Of a virtual dataset; its values are in other files. */
static void see_sources(const mgk_h5_file *file, const char *name, hid_t dataset)
{
    hsize_t shape[H5S_MAX_RANK];
    mgk_h5_source *sources;
    size_t count;
    char label[64];
    int rank;
    if (mgk_h5_read_sources(file, name, dataset, H5S_MAX_RANK, &rank, shape, &sources, &count) !=
        STATUS_OK)
        return;
    for (int i = 0; i < rank; i++)
        mgk_h5_get_label(dataset, rank, i, label, sizeof(label));
    mgk_free(sources);
}

static void see_dataset(const mgk_h5_file *file, const char *name, hid_t dataset)
{
    char label[64];
    hsize_t count;
    if (mgk_h5_is_virtual(dataset)) {
        see_sources(file, name, dataset);
        return;
    }
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    for (int i = 0; i < rank; i++)
        mgk_h5_get_label(dataset, rank, i, label, sizeof(label));
    H5Dget_storage_size(dataset);
    H5Dget_num_chunks(dataset, H5S_ALL, &count);
    see_values(file, name, type);
    mgk_h5_close(space);
    mgk_h5_close(type);
}

static herr_t see_object(hid_t root, const char *name, const H5O_info_t *info, void *context)
{
    const mgk_h5_file *file = context;
    if (info->type != H5O_TYPE_DATASET && info->type != H5O_TYPE_GROUP)
        return 0;
    hid_t object = H5Oopen(root, name, H5P_DEFAULT);
    if (object < 0)
        return 0;
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, see_attribute, NULL);
    if (info->type == H5O_TYPE_DATASET)
        see_dataset(file, name, object);
    mgk_h5_close(object);
    return 0;
}

void mgk_h5_survey(const char *path)
{
    mgk_h5_file file;
    if (mgk_h5_open_trusted(path, &file) == STATUS_OK)
        H5Ovisit(file.id, H5_INDEX_NAME, H5_ITER_INC, see_object, &file);
    mgk_h5_abandon(&file);
}
