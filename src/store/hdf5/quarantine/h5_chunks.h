/* SPDX-License-Identifier: MIT */
/* Reads numbers in chunks. The library trusts the size that a chunk claims and reads past its end,
 * so this code unpacks chunks itself. Private to src/store. */
#ifndef MGK_STORE_H5_CHUNKS_H
#define MGK_STORE_H5_CHUNKS_H

#include "store/hdf5/h5.h"

/* mgk_h5_read_box for numbers in chunks, with stricter checks than HDF5's: a chunk must have the
 * right size and use only the filters that mgk_h5_open_dataset allows. */
mgk_status mgk_h5_read_chunks(const mgk_h5_file *file, const char *name, hid_t dataset, int rank,
                              const hsize_t *start, const hsize_t *count, hid_t type, void *out);

#endif
