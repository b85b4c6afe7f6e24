/*
 * A file driver for HDF5 that never fails to write. When the disk is full, HDF5 1.10
 * cannot close its file, and crashes at exit over what is left of it. This driver keeps
 * the reason of the first failure instead, drops all further writes and reports success:
 * HDF5 closes cleanly, and the store, which looks at the reason, removes the file.
 * Large writes go past the kernel's cache where they can: see direct_write.h.
 */
#ifndef MGK_STORE_OUTPUT_DRIVER_H
#define MGK_STORE_OUTPUT_DRIVER_H

#include "store/hdf5/h5_library.h"

/*
 * Makes `access`, a file access property list, use the driver. Files opened with it put
 * errno of the first failed write into *write_error, which outlives them.
 */
herr_t mgk_set_output_driver(hid_t access, int *write_error);

#endif
