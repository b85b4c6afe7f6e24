/* SPDX-License-Identifier: MIT */
/*
 * A file driver for HDF5 whose writes never fail. When the disk is full, HDF5 1.10 cannot close its
 * file and crashes at exit. This driver records the first failure, drops all further writes and
 * reports success: HDF5 closes cleanly, and the store checks the record and removes the file. Large
 * writes bypass the kernel's cache where possible: see direct_write.h.
 */
#ifndef MGK_STORE_OUTPUT_DRIVER_H
#define MGK_STORE_OUTPUT_DRIVER_H

#include "store/hdf5/h5_library.h"

/* Makes `access`, a file access property list, use the driver. Files opened with it store errno of
 * the first failed write in *write_error, which must outlive them. */
herr_t mgk_set_output_driver(hid_t access, int *write_error);

#endif
