/* SPDX-License-Identifier: MIT */
#include "store/hdf5/h5_flat.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

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

/*
 * Whether there are so few chunks that HDF5, which walks through the list of them, tells where one
 * lies sooner than it reads the chunk itself: 9 ns for each of them, against 10 us and half a
 * nanosecond a byte by which HDF5 takes longer than pread.
 */
static bool has_few_chunks(const mgk_h5_flat *flat)
{
    double chunks = 1, bytes = (double)mgk_real_size(flat->storage);
    for (int i = 0; i < flat->rank; i++) {
        chunks *= ceil((double)flat->shape[i] / (double)flat->chunk[i]);
        bytes *= (double)flat->chunk[i];
    }
    return 9 * chunks <= 1e4 + bytes / 2;
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
               has_few_chunks(out);
    else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(properties) == 0)
        flat = (out->first = H5Dget_offset(dataset)) != HADDR_UNDEF;
    mgk_h5_close(properties);
    return flat;
}

void mgk_h5_find_flat(const mgk_h5_file *file, hid_t dataset, int rank, mgk_h5_flat *out)
{
    void *handle = NULL;
    *out = (mgk_h5_flat){.descriptor = -1, .storage = mgk_storage_of(dataset), .rank = rank};
    if (is_file_itself(file->id) && is_native(dataset, out->storage) && has_shape(dataset, out) &&
        has_layout(dataset, out) && H5Fget_vfd_handle(file->id, H5P_DEFAULT, &handle) >= 0)
        out->descriptor = *(const int *)handle;
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

static bool locate_chunk(const mgk_h5_flat *flat, hid_t dataset, const hsize_t *start,
                         const hsize_t *count, uint64_t *address)
{
    hsize_t bytes = mgk_real_size(flat->storage), stored;
    haddr_t at;
    unsigned skipped;
    for (int i = 0; i < flat->rank; i++) {
        if (start[i] % flat->chunk[i] != 0)
            return false;
        bytes *= flat->chunk[i];
    }
    if (!is_one_piece(flat->rank, flat->chunk, count) ||
        H5Dget_chunk_info_by_coord(dataset, start, &skipped, &at, &stored) < 0)
        return false;
    *address = at;
    return at != HADDR_UNDEF && stored == bytes;
}

static bool locate_in_array(const mgk_h5_flat *flat, const hsize_t *start, const hsize_t *count,
                            uint64_t *address)
{
    uint64_t place = 0;
    for (int i = 0; i < flat->rank; i++)
        place = place * flat->shape[i] + start[i];
    *address = flat->first + place * mgk_real_size(flat->storage);
    return is_one_piece(flat->rank, flat->shape, count);
}

bool mgk_h5_locate(const mgk_h5_flat *flat, hid_t dataset, const hsize_t *start,
                   const hsize_t *count, uint64_t *address)
{
    if (flat->descriptor < 0)
        return false;
    return flat->chunked ? locate_chunk(flat, dataset, start, count, address)
                         : locate_in_array(flat, start, count, address);
}

static mgk_status read_bytes(const mgk_h5_flat *flat, const char *path, const char *name,
                             uint64_t address, size_t size, unsigned char *out)
{
    for (size_t done = 0; done < size;) {
        const ssize_t count =
            pread(flat->descriptor, out + done, size - done, (off_t)(address + done));
        if (count == 0)
            return mgk_fail(STATUS_FORMAT, "%s: cannot read \"%s\": the file ends before", path,
                            name);
        if (count < 0 && errno != EINTR)
            return mgk_fail(STATUS_IO, "%s: cannot read \"%s\": %s", path, name, strerror(errno));
        done += count > 0 ? (size_t)count : 0;
    }
    return STATUS_OK;
}

mgk_status mgk_h5_read_flat(const mgk_h5_flat *flat, const char *path, const char *name,
                            uint64_t address, size_t elements, mgk_store_real type, void *out)
{
    enum { PIECE = 1 << 14 }; /* bytes that stay in the first cache until they are converted */
    unsigned char piece[PIECE] __attribute__((aligned(64)));
    const size_t size = mgk_real_size(flat->storage), wide = mgk_real_size(type);
    if (flat->storage == type)
        return read_bytes(flat, path, name, address, elements * size, out);
    for (size_t done = 0, count; done < elements; done += count) {
        count = elements - done < PIECE / size ? elements - done : PIECE / size;
        TRY(read_bytes(flat, path, name, address + done * size, count * size, piece));
        mgk_convert_reals(flat->storage, type, count, piece, (unsigned char *)out + done * wide);
    }
    return STATUS_OK;
}
