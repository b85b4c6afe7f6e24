/* SPDX-License-Identifier: MIT */
/* Opens datasets of files that are not trusted: they may claim terabytes, or refer to
 * other files. */
#include "base/memory.h"
#include "base/number.h"
#include "store/hdf5/h5_virtual.h"

/* Never opens a file because another file refers to it: it may be a pipe, a device, anything. */
static herr_t refuse_link(const char *parent, const char *group, const char *child,
                          const char *object, unsigned *flags, hid_t access, void *refused)
{
    (void)parent, (void)group, (void)child, (void)object, (void)flags, (void)access;
    *(bool *)refused = true;
    return -1;
}

/* Opens the dataset of this name, else returns an invalid identifier; *external: the name leads to
 * another file. */
static hid_t open_by_name(const mgk_h5_file *file, const char *name, bool *external)
{
    hid_t object = H5I_INVALID_HID, links = H5Pcreate(H5P_LINK_ACCESS);
    *external = false;
    if (links >= 0 && H5Pset_elink_cb(links, refuse_link, external) >= 0)
        object = H5Oopen(file->id, name, links);
    mgk_h5_close(links);
    if (object >= 0 && H5Iget_type(object) != H5I_DATASET) {
        mgk_h5_close(object);
        object = H5I_INVALID_HID;
    }
    H5Eclear2(H5E_DEFAULT);
    return object;
}

bool mgk_h5_has_dataset(const mgk_h5_file *file, const char *name)
{
    bool external;
    hid_t object = open_by_name(file, name, &external);
    bool found = object >= 0 || external; /* opening it reports what is wrong */
    mgk_h5_close(object);
    return found;
}

void mgk_h5_open_virtual(const mgk_h5_file *file, const char *name, hid_t *out)
{
    bool external;
    *out = open_by_name(file, name, &external);
    if (*out < 0 || mgk_h5_is_virtual(*out))
        return;
    mgk_h5_close(*out);
    *out = H5I_INVALID_HID;
}

bool mgk_h5_is_virtual(hid_t dataset)
{
    hid_t properties = H5Dget_create_plist(dataset);
    bool is_virtual = properties >= 0 && H5Pget_layout(properties) == H5D_VIRTUAL;
    mgk_h5_close(properties);
    return is_virtual;
}

/* The layout of the values in the file. */
typedef struct storage {
    hsize_t bytes; /* at most the size of the file */
    bool chunked;
    size_t chunk_bytes; /* uncompressed */
} storage;

/* Accepts known filters, and only one that compresses, so that a few bytes cannot claim
 * terabytes. */
static mgk_status check_filters(const mgk_h5_file *file, const char *name, hid_t properties)
{
    int deflated = 0;
    for (int i = 0; i < H5Pget_nfilters(properties); i++) {
        size_t none = 0;
        unsigned flags;
        H5Z_filter_t filter =
            H5Pget_filter2(properties, (unsigned)i, &flags, &none, NULL, 0, NULL, NULL);
        deflated += filter == H5Z_FILTER_DEFLATE;
        if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
            filter != H5Z_FILTER_FLETCHER32)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "%s: \"%s\" is packed by filter %d, expected gzip, shuffle, fletcher32",
                            file->path, name, (int)filter);
    }
    if (deflated > 1)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" is compressed %d times", file->path, name,
                        deflated);
    return STATUS_OK;
}

static mgk_status read_chunk_size(const mgk_h5_file *file, const char *name, hid_t properties,
                                  size_t element_size, storage *out)
{
    hsize_t chunk[H5S_MAX_RANK];
    int rank = H5Pget_chunk(properties, H5S_MAX_RANK, chunk);
    out->chunk_bytes = element_size;
    for (int i = 0; i < rank; i++)
        if (mgk_multiply(out->chunk_bytes, chunk[i], &out->chunk_bytes) != STATUS_OK)
            return mgk_fail(STATUS_SHAPE, "%s: \"%s\" has impossible chunks", file->path, name);
    return check_filters(file, name, properties);
}

/* STATUS_UNSUPPORTED: the values are in other files. */
static mgk_status read_storage(const mgk_h5_file *file, const char *name, hid_t dataset,
                               size_t element_size, storage *out)
{
    mgk_status status = STATUS_OK;
    hsize_t size = 0;
    hid_t properties = H5Dget_create_plist(dataset);
    H5D_layout_t layout = properties < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(properties);
    *out = (storage){.chunked = layout == H5D_CHUNKED, .chunk_bytes = element_size};
    if (layout == H5D_LAYOUT_ERROR || H5Fget_filesize(file->id, &size) < 0) {
        status = mgk_h5_fail(STATUS_FORMAT, file, "cannot open \"%s\"", name);
        goto out;
    }
    if (layout == H5D_VIRTUAL || H5Pget_external_count(properties) != 0) {
        status = mgk_fail(STATUS_UNSUPPORTED, "%s: the values of \"%s\" are in other files",
                          file->path, name);
        goto out;
    }
    if (out->chunked)
        CHECK(read_chunk_size(file, name, properties, element_size, out));
    out->bytes = H5Dget_storage_size(dataset);
    if (out->bytes > size)
        out->bytes = size;
out:
    mgk_h5_close(properties);
    return status;
}

/* Checks that the shape is possible and the stored bytes can hold it. */
static mgk_status check_shape(const mgk_h5_file *file, const char *name, const storage *stored,
                              size_t element_size, int rank, const hsize_t *shape)
{
    /* Deflate, the strongest filter in common use, cannot shrink below 1/1032. */
    const size_t largest_ratio = stored->chunked ? 1032 : 1;
    char text[200];
    mgk_h5_shape_text(rank, shape, text, sizeof(text));
    size_t bytes = element_size;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 1 || shape[i] > INT32_MAX || mgk_multiply(bytes, shape[i], &bytes))
            return mgk_fail(STATUS_SHAPE, "%s: \"%s\" has the impossible shape %s", file->path,
                            name, text);
    }
    if (bytes / largest_ratio > stored->bytes)
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %s but only %llu %s stored", file->path, name,
                        text, (unsigned long long)stored->bytes,
                        MGK_NOUN(stored->bytes, "byte of it is", "bytes of it are"));
    if (stored->chunk_bytes / largest_ratio > stored->bytes)
        return mgk_fail(STATUS_FORMAT,
                        "%s: \"%s\" has chunks of %zu bytes but only %llu bytes of it are stored",
                        file->path, name, stored->chunk_bytes, (unsigned long long)stored->bytes);
    return STATUS_OK;
}

/* Checks an open dataset. The storage comes first: the shape of a virtual dataset is in another
 * file. */
static mgk_status check_dataset(const mgk_h5_file *file, const char *name, hid_t dataset,
                                H5T_class_t class, int max_rank, int *rank, hsize_t *shape)
{
    mgk_status status = STATUS_OK;
    storage stored;
    hid_t space = H5I_INVALID_HID, type = H5Dget_type(dataset);
    size_t element_size = type < 0 ? 0 : H5Tget_size(type);
    CHECK(read_storage(file, name, dataset, element_size, &stored));
    if (type < 0 || (space = H5Dget_space(dataset)) < 0) {
        status = mgk_h5_fail(STATUS_FORMAT, file, "cannot open \"%s\"", name);
        goto out;
    }
    if (H5Tget_class(type) != class) {
        status = mgk_fail(STATUS_FORMAT, "%s: \"%s\" does not hold %s", file->path, name,
                          class == H5T_FLOAT     ? "floating-point numbers"
                          : class == H5T_INTEGER ? "integers"
                                                 : "strings");
        goto out;
    }
    if (!mgk_h5_is_usual(type)) {
        status =
            mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" holds numbers of %zu bytes in an unusual form",
                     file->path, name, element_size);
        goto out;
    }
    if (class == H5T_STRING && stored.chunked) {
        status =
            mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" holds strings in chunks", file->path, name);
        goto out;
    }
    *rank = H5Sget_simple_extent_ndims(space);
    if (H5Sget_simple_extent_type(space) != H5S_SIMPLE || *rank < 1 || *rank > max_rank) {
        status = mgk_fail(STATUS_SHAPE, "%s: \"%s\" has %d axes, expected 1 to %d", file->path,
                          name, *rank, max_rank);
        goto out;
    }
    H5Sget_simple_extent_dims(space, shape, NULL);
    CHECK(check_shape(file, name, &stored, element_size, *rank, shape));
out:
    mgk_h5_close(space);
    mgk_h5_close(type);
    return status;
}

mgk_status mgk_h5_open_dataset(const mgk_h5_file *file, const char *name, H5T_class_t class,
                               int max_rank, hid_t *out, int *rank, hsize_t *shape)
{
    bool external;
    *out = open_by_name(file, name, &external);
    if (external)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" is in another file", file->path, name);
    if (*out < 0)
        return mgk_fail(STATUS_FORMAT, "%s: no dataset \"%s\"", file->path, name);
    mgk_status status = check_dataset(file, name, *out, class, max_rank, rank, shape);
    if (status != STATUS_OK) {
        mgk_h5_close(*out);
        *out = H5I_INVALID_HID;
    }
    return status;
}

mgk_store_real mgk_storage_of(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset);
    size_t size = H5Tget_size(type);
    mgk_h5_close(type);
    return size == 2 ? STORE_F16 : size == 4 ? STORE_F32 : STORE_F64;
}
