/* SPDX-License-Identifier: MIT */
/*
 * A file driver for HDF5 whose writes never fail. When the disk is full, HDF5 1.10 cannot close its
 * file and crashes at exit. This driver records the first failure, drops all further writes and
 * reports success: HDF5 closes cleanly, and the store checks the record and removes the file. Large
 * writes bypass the kernel's cache where possible: see direct_write.h.
 */
#ifndef MGK_STORE_OUTPUT_DRIVER_H
#define MGK_STORE_OUTPUT_DRIVER_H

#include <stdint.h>

#include "store/hdf5/h5_library.h"

/* What passes between the driver and the owner of a file. */
typedef struct mgk_output_record {
    int error; /* errno of the first failed write, or 0 */
    /* The driver does not write these bytes, but keeps the address that HDF5 wants them at, and
     * then sets `unwritten` to NULL again; NULL: it writes all. */
    const void *unwritten;
    uint64_t address;
} mgk_output_record;

/* Makes `access`, a file access property list, use the driver. The record must outlive files that
 * are opened with it. */
herr_t mgk_set_output_driver(hid_t access, mgk_output_record *record);

#endif
