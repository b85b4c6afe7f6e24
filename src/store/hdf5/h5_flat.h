/* SPDX-License-Identifier: MIT */
/*
 * Numbers that lie in a file as they are in memory: in a contiguous dataset, or in a few chunks
 * without filters. HDF5 serves one thread at a time; where these numbers lie is all that it is
 * asked, so that threads read and convert them at once.
 */
#ifndef MGK_STORE_H5_FLAT_H
#define MGK_STORE_H5_FLAT_H

#include <stdbool.h>

#include "store/hdf5/h5.h"

/* Such a dataset; descriptor -1: it is none. */
typedef struct mgk_h5_flat {
    int descriptor; /* of the file, HDF5's own */
    mgk_store_real storage;
    int rank;
    bool chunked;
    hsize_t shape[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    uint64_t first; /* address of a contiguous dataset */
} mgk_h5_flat;

/* Looks at a dataset of `rank` axes, between mgk_h5_enter and mgk_h5_leave as all of HDF5. */
void mgk_h5_find_flat(const mgk_h5_file *file, hid_t dataset, int rank, mgk_h5_flat *out);

/*
 * Finds the address of the box [count] at `start`, if it lies in one piece there: in a contiguous
 * dataset, or from the start of a chunk on. Between mgk_h5_enter and mgk_h5_leave.
 */
bool mgk_h5_locate(const mgk_h5_flat *flat, hid_t dataset, const hsize_t *start,
                   const hsize_t *count, uint64_t *address);

/*
 * Reads `elements` numbers at `address` as `type`, which is at least as wide as they are. Any
 * number of threads may call it at once, and without mgk_h5_enter. STATUS_IO, STATUS_FORMAT: the
 * file ends before; `name` is the dataset in messages.
 */
mgk_status mgk_h5_read_flat(const mgk_h5_flat *flat, const char *path, const char *name,
                            uint64_t address, size_t elements, mgk_store_real type, void *out);

#endif
