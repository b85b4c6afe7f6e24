/* SPDX-License-Identifier: MIT */
#include "store/hdf5/output_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "base/memory.h"
#include "store/hdf5/placed_write.h"

typedef struct output_file {
    H5FD_t base; /* HDF5's part; must be first */
    mgk_placed placed;
    haddr_t allocated; /* HDF5's end of address space */
    haddr_t end;       /* end of the written bytes */
    mgk_output_record *record;
} output_file;

static H5FD_t *open_output(const char *name, unsigned flags, hid_t access, haddr_t largest)
{
    (void)flags, (void)largest;
    mgk_output_record *const *record = H5Pget_driver_info(access);
    output_file *file;
    if (!record)
        return NULL;
    if (mgk_alloc(1, sizeof(*file), &file) != STATUS_OK) {
        (*record)->error = ENOMEM;
        return NULL;
    }
    file->record = *record;
    if (!mgk_placed_open(name, O_RDWR | O_CREAT | O_TRUNC, &file->placed)) {
        mgk_free(file);
        return NULL;
    }
    return &file->base;
}

static herr_t close_output(H5FD_t *base)
{
    output_file *file = (output_file *)base;
    mgk_placed_close(&file->placed, &file->record->error);
    mgk_free(file);
    return 0;
}

static herr_t query_output(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t get_allocated(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const output_file *)base)->allocated;
}

static herr_t set_allocated(H5FD_t *base, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((output_file *)base)->allocated = address;
    return 0;
}

static haddr_t get_end(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const output_file *)base)->end;
}

/* Bytes that were never written read as 0. */
static herr_t read_output(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address,
                          size_t size, void *buffer)
{
    (void)type, (void)transfer;
    const output_file *file = (const output_file *)base;
    unsigned char *bytes = buffer;
    while (size > 0) {
        ssize_t got = pread(file->placed.descriptor, bytes, size, (off_t)address);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0) {
            memset(bytes, 0, size);
            break;
        }
        bytes += got;
        address += (haddr_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* Whether the record asks for the address of these bytes alone. HDF5 may write others meanwhile, of
 * its own cache. */
static bool keep_address(mgk_output_record *record, haddr_t address, const void *bytes)
{
    if (!record->unwritten || record->unwritten != bytes)
        return false;
    record->unwritten = NULL;
    record->address = address;
    return true;
}

static herr_t write_output(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address,
                           size_t size, const void *buffer)
{
    (void)type, (void)transfer;
    output_file *file = (output_file *)base;
    if (address + size > file->end)
        file->end = address + size;
    if (!keep_address(file->record, address, buffer))
        mgk_placed_write(&file->placed, address, size, buffer, &file->record->error);
    return 0;
}

static herr_t truncate_output(H5FD_t *base, hid_t transfer, hbool_t closing)
{
    (void)transfer, (void)closing;
    output_file *file = (output_file *)base;
    if (file->end != file->allocated && file->record->error == 0 &&
        ftruncate(file->placed.descriptor, (off_t)file->allocated) != 0)
        file->record->error = errno;
    file->end = file->allocated;
    return 0;
}

static const H5FD_class_t output_class = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)513, /* in the range for unregistered drivers */
#endif
    .name = "mgk_output",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(mgk_output_record *),
    .open = open_output,
    .close = close_output,
    .query = query_output,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_end,
    .read = read_output,
    .write = write_output,
    .truncate = truncate_output,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/*
 * The driver is registered once and kept: HDF5 1.10 uses a file's driver after it has released the
 * file's reference, so another reference must exist. H5close, which a program may call, drops it.
 */
herr_t mgk_set_output_driver(hid_t access, mgk_output_record *record)
{
    static hid_t driver = H5I_INVALID_HID;
    if (H5Iget_type(driver) != H5I_VFL)
        driver = H5FDregister(&output_class);
    if (driver < 0 || H5Pset_alignment(access, MGK_DIRECT_LEAST, MGK_DIRECT_ALIGNMENT) < 0)
        return -1;
    return H5Pset_driver(access, driver, &record);
}
