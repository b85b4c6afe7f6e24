/* SPDX-License-Identifier: MIT */
/* Reads and writes boxes of a dataset's elements; the caller holds the lock of h5.h. */
#ifndef MGK_STORE_H5_BOX_H
#define MGK_STORE_H5_BOX_H

#include "store/hdf5/h5.h"

/* Reads the box of `count` elements at `start` into memory of the given type. STATUS_FORMAT
 * includes integers beyond the type. */
mgk_status mgk_h5_read_box(const mgk_h5_file *file, const char *name, hid_t dataset, int rank,
                           const hsize_t *start, const hsize_t *count, hid_t type, void *out);

/* Writes the box of `count` elements at `start`. */
mgk_status mgk_h5_write_box(const mgk_h5_file *file, const char *name, hid_t dataset, int rank,
                            const hsize_t *start, const hsize_t *count, hid_t type,
                            const void *data);

#endif
