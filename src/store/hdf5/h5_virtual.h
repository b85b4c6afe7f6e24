/* SPDX-License-Identifier: MIT */
/*
 * Virtual datasets whose sources are whole datasets of other files, one after another along the
 * first axis. They are described here without opening these files, as HDF5 itself would.
 */
#ifndef MGK_STORE_H5_VIRTUAL_H
#define MGK_STORE_H5_VIRTUAL_H

#include <limits.h>

#include "store/hdf5/h5.h"

/* A source: places first to first + count - 1 of the first axis. */
typedef struct mgk_h5_source {
    char file[NAME_MAX + 1], dataset[64]; /* names */
    hsize_t first, count;
} mgk_h5_source;

/* Opens the virtual dataset of this name; *out is invalid if there is none. */
void mgk_h5_open_virtual(const mgk_h5_file *file, const char *name, hid_t *out);

/*
 * Reads the shape and the sources [*source_count] of a virtual dataset with at most `max_rank`
 * axes; release them with mgk_free. STATUS_UNSUPPORTED: other sources, or none; or a name of a file
 * that is not in the folder of `file`.
 */
mgk_status mgk_h5_read_sources(const mgk_h5_file *file, const char *name, hid_t dataset,
                               int max_rank, int *rank, hsize_t *shape, mgk_h5_source **sources,
                               size_t *source_count);

#endif
