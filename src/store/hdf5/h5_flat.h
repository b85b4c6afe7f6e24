/* SPDX-License-Identifier: MIT */
/*
 * Numbers that lie in a file as they are in memory: in a contiguous dataset, or in chunks without
 * filters. HDF5 serves one thread at a time. Of a contiguous dataset it is asked nothing, of others
 * the bytes of a chunk alone, so that threads convert them at once. (It could tell where a chunk
 * lies, but walks through the list of all chunks for that.)
 */
#ifndef MGK_STORE_H5_FLAT_H
#define MGK_STORE_H5_FLAT_H

#include <stdbool.h>
#include <sys/types.h>

#include "store/hdf5/h5.h"

/* Such a dataset; descriptor -1: it is none. */
typedef struct mgk_h5_flat {
    int descriptor; /* of the file, HDF5's own */
    off_t size;     /* of the file */
    mgk_store_real storage;
    int rank;
    bool chunked;
    hsize_t shape[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    size_t chunk_bytes;
    uint64_t first; /* address of a contiguous dataset */
} mgk_h5_flat;

/* Looks at a dataset of `rank` axes, between mgk_h5_enter and mgk_h5_leave as all of HDF5. */
void mgk_h5_find_flat(const mgk_h5_file *file, hid_t dataset, int rank, mgk_h5_flat *out);

/*
 * Reads the box [count] at `start` as `type`, if that is at least as wide as the numbers are, and
 * the box lies in one piece: in a contiguous dataset, or from the start of a chunk on. *found: it
 * does, and was read. Any number of threads may call it at once, without mgk_h5_enter. STATUS_IO,
 * STATUS_MEMORY, STATUS_FORMAT: the file ends before; `name` is the dataset in messages.
 */
mgk_status mgk_h5_read_flat(const mgk_h5_flat *flat, const char *path, const char *name,
                            hid_t dataset, const hsize_t *start, const hsize_t *count,
                            mgk_store_real type, void *out, bool *found);

#endif
