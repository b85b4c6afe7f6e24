/* SPDX-License-Identifier: MIT */
#include "store/hdf5/h5_flat.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/schema/convert.h"

/* Whether it is one file for HDF5, which counts addresses from its beginning. */
static bool is_file_itself(hid_t file)
{
    hsize_t before = 1;
    hid_t creation = H5Fget_create_plist(file), access = H5Fget_access_plist(file);
    const bool itself = creation >= 0 && H5Pget_userblock(creation, &before) >= 0 && before == 0 &&
                        access >= 0 && H5Pget_driver(access) == H5FD_SEC2;
    mgk_h5_close(access);
    mgk_h5_close(creation);
    return itself;
}

static bool is_native(hid_t dataset, mgk_store_real storage)
{
    hid_t type = H5Dget_type(dataset), native = mgk_h5_real_type(storage);
    const bool same = type >= 0 && native >= 0 && H5Tequal(type, native) > 0;
    mgk_h5_close(native);
    mgk_h5_close(type);
    return same;
}

static bool has_shape(hid_t dataset, mgk_h5_flat *out)
{
    hid_t space = H5Dget_space(dataset);
    const bool known = space >= 0 && H5Sget_simple_extent_ndims(space) == out->rank &&
                       H5Sget_simple_extent_dims(space, out->shape, NULL) == out->rank;
    mgk_h5_close(space);
    return known;
}

static bool find_chunk_bytes(mgk_h5_flat *flat)
{
    flat->chunk_bytes = mgk_real_size(flat->storage);
    for (int i = 0; i < flat->rank; i++)
        if (mgk_multiply(flat->chunk_bytes, (size_t)flat->chunk[i], &flat->chunk_bytes) !=
            STATUS_OK)
            return false;
    return true;
}

/* Whether its numbers are in the file, and nothing but them. */
static bool has_layout(hid_t dataset, mgk_h5_flat *out)
{
    hid_t properties = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = H5Pget_layout(properties);
    bool flat = false;
    out->chunked = layout == H5D_CHUNKED;
    if (out->chunked)
        flat = H5Pget_nfilters(properties) == 0 &&
               H5Pget_chunk(properties, H5S_MAX_RANK, out->chunk) == out->rank &&
               find_chunk_bytes(out);
    else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(properties) == 0)
        flat = (out->first = H5Dget_offset(dataset)) != HADDR_UNDEF;
    mgk_h5_close(properties);
    return flat;
}

static bool find_size(int descriptor, off_t *size)
{
    struct stat info;
    const bool found = fstat(descriptor, &info) == 0;
    *size = found ? info.st_size : 0;
    return found;
}

void mgk_h5_find_flat(const mgk_h5_file *file, hid_t dataset, int rank, mgk_h5_flat *out)
{
    void *handle = NULL;
    *out = (mgk_h5_flat){.descriptor = -1, .storage = mgk_storage_of(dataset), .rank = rank};
    if (is_file_itself(file->id) && is_native(dataset, out->storage) && has_shape(dataset, out) &&
        has_layout(dataset, out) && H5Fget_vfd_handle(file->id, H5P_DEFAULT, &handle) >= 0)
        out->descriptor = *(const int *)handle;
    if (out->descriptor >= 0 && !find_size(out->descriptor, &out->size))
        out->descriptor = -1;
}

/* Whether the box is one piece of an array of these sizes: it has one place along each axis before
 * one that it has some of, and all along those after it. */
static bool is_one_piece(int rank, const hsize_t *sizes, const hsize_t *count)
{
    bool several = false;
    for (int i = 0; i < rank; i++) {
        if (count[i] > sizes[i] || (several && count[i] != sizes[i]))
            return false;
        several |= count[i] > 1;
    }
    return true;
}

static size_t count_elements(int rank, const hsize_t *count)
{
    size_t elements = 1;
    for (int i = 0; i < rank; i++)
        elements *= (size_t)count[i];
    return elements;
}

static bool starts_a_chunk(const mgk_h5_flat *flat, const hsize_t *start)
{
    for (int i = 0; i < flat->rank; i++)
        if (start[i] % flat->chunk[i] != 0)
            return false;
    return true;
}

/* Whether the chunk at `start` was written, with all its bytes, and has been read to `bytes`. */
static bool take_chunk(const mgk_h5_flat *flat, hid_t dataset, const hsize_t *start, void *bytes)
{
    hsize_t stored = 0;
    uint32_t skipped = 0;
    mgk_h5_enter();
    const bool taken = H5Dget_chunk_storage_size(dataset, start, &stored) >= 0 &&
                       stored == flat->chunk_bytes &&
                       H5Dread_chunk(dataset, H5P_DEFAULT, start, &skipped, bytes) >= 0;
    mgk_h5_leave();
    return taken;
}

static mgk_status fail_short(const char *path, const char *name)
{
    return mgk_fail(STATUS_FORMAT, "%s: cannot read \"%s\": the file ends before", path, name);
}

static mgk_status read_chunk(const mgk_h5_flat *flat, hid_t dataset, const hsize_t *start,
                             size_t elements, mgk_store_real type, void *out, bool *found)
{
    void *chunk;
    if (flat->storage == type && elements * mgk_real_size(type) == flat->chunk_bytes) {
        *found = take_chunk(flat, dataset, start, out);
        return STATUS_OK;
    }
    TRY(mgk_alloc(flat->chunk_bytes, 1, &chunk));
    *found = take_chunk(flat, dataset, start, chunk);
    if (*found)
        mgk_convert_reals(flat->storage, type, elements, chunk, out);
    mgk_free(chunk);
    return STATUS_OK;
}

static mgk_status read_bytes(const mgk_h5_flat *flat, const char *path, const char *name,
                             uint64_t address, size_t size, unsigned char *out)
{
    for (size_t done = 0; done < size;) {
        const ssize_t count =
            pread(flat->descriptor, out + done, size - done, (off_t)(address + done));
        if (count == 0)
            return fail_short(path, name);
        if (count < 0 && errno != EINTR)
            return mgk_fail(STATUS_IO, "%s: cannot read \"%s\": %s", path, name, strerror(errno));
        done += count > 0 ? (size_t)count : 0;
    }
    return STATUS_OK;
}

static mgk_status read_array(const mgk_h5_flat *flat, const char *path, const char *name,
                             const hsize_t *start, size_t elements, mgk_store_real type, void *out)
{
    enum { PIECE = 1 << 14 }; /* bytes that stay in the first cache until they are converted */
    unsigned char piece[PIECE] __attribute__((aligned(64)));
    const size_t size = mgk_real_size(flat->storage), wide = mgk_real_size(type);
    uint64_t place = 0;
    for (int i = 0; i < flat->rank; i++)
        place = place * flat->shape[i] + start[i];
    const uint64_t address = flat->first + place * size;
    if (flat->storage == type)
        return read_bytes(flat, path, name, address, elements * size, out);
    for (size_t done = 0, count; done < elements; done += count) {
        count = elements - done < PIECE / size ? elements - done : PIECE / size;
        TRY(read_bytes(flat, path, name, address + done * size, count * size, piece));
        mgk_convert_reals(flat->storage, type, count, piece, (unsigned char *)out + done * wide);
    }
    return STATUS_OK;
}

mgk_status mgk_h5_read_flat(const mgk_h5_flat *flat, const char *path, const char *name,
                            hid_t dataset, const hsize_t *start, const hsize_t *count,
                            mgk_store_real type, void *out, bool *found)
{
    const size_t elements = count_elements(flat->rank, count);
    *found = flat->descriptor >= 0 && flat->storage <= type &&
             is_one_piece(flat->rank, flat->chunked ? flat->chunk : flat->shape, count) &&
             (!flat->chunked || starts_a_chunk(flat, start));
    if (!*found)
        return STATUS_OK;
    if (!flat->chunked)
        return read_array(flat, path, name, start, elements, type, out);
    TRY(read_chunk(flat, dataset, start, elements, type, out, found));
    /* Beyond the end of a file that has shrunk HDF5 reads zeros. */
    off_t size;
    return find_size(flat->descriptor, &size) && size >= flat->size ? STATUS_OK
                                                                    : fail_short(path, name);
}
