/* SPDX-License-Identifier: MIT */
#include "store/hdf5/h5_box.h"

#include "store/hdf5/quarantine/h5_chunks.h"

/* Creates properties for writing. HDF5 clears its buffers for strings, of 1 MiB each if nobody says
 * otherwise, at every call. */
static hid_t writing_properties(void)
{
    enum { BUFFER = 1 << 14 };
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    if (transfer >= 0)
        H5Pset_buffer(transfer, BUFFER, NULL, NULL);
    return transfer;
}

/* `out` is NULL for writing. */
static mgk_status transfer_box(const mgk_h5_file *file, const char *name, hid_t dataset, int rank,
                               const hsize_t *start, const hsize_t *count, hid_t type, void *out,
                               const void *data)
{
    herr_t result = -1;
    bool overflow = false;
    hid_t transfer = out ? mgk_h5_transfer(type, &overflow) : writing_properties();
    hid_t memory = H5Screate_simple(rank, count, NULL);
    hid_t space = H5Dget_space(dataset);
    if (transfer >= 0 && memory >= 0 && space >= 0 &&
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0)
        result = out ? H5Dread(dataset, type, memory, space, transfer, out)
                     : H5Dwrite(dataset, type, memory, space, transfer, data);
    mgk_status status = STATUS_OK;
    if (overflow)
        status = mgk_h5_overflow(file, name, type);
    else if (result < 0)
        status = mgk_h5_fail(out ? STATUS_FORMAT : STATUS_IO, file, "cannot %s \"%s\"",
                             out ? "read" : "write", name);
    mgk_h5_close(space);
    mgk_h5_close(memory);
    mgk_h5_close(transfer);
    return status;
}

/* Whether it is in chunks with filters. Others HDF5 reads as it reads an array: files are opened
 * without a cache of chunks (mgk_h5_open_trusted). */
static bool is_packed(hid_t dataset)
{
    hid_t properties = H5Dget_create_plist(dataset);
    bool packed = H5Pget_layout(properties) == H5D_CHUNKED && H5Pget_nfilters(properties) != 0;
    mgk_h5_close(properties);
    return packed;
}

mgk_status mgk_h5_read_box(const mgk_h5_file *file, const char *name, hid_t dataset, int rank,
                           const hsize_t *start, const hsize_t *count, hid_t type, void *out)
{
    if (is_packed(dataset))
        return mgk_h5_read_chunks(file, name, dataset, rank, start, count, type, out);
    return transfer_box(file, name, dataset, rank, start, count, type, out, NULL);
}

mgk_status mgk_h5_write_box(const mgk_h5_file *file, const char *name, hid_t dataset, int rank,
                            const hsize_t *start, const hsize_t *count, hid_t type,
                            const void *data)
{
    return transfer_box(file, name, dataset, rank, start, count, type, NULL, data);
}
