/*
 * Numbers in chunks. They are unpacked here: the library believes what a chunk says of its size,
 * and reads beyond it where that is too little. Private to src/store.
 */
#ifndef MGK_STORE_H5_CHUNKS_H
#define MGK_STORE_H5_CHUNKS_H

#include "store/hdf5/h5.h"

/*
 * mgk_h5_read_box for numbers in chunks, checked more than HDF5 does: a chunk has the size that it
 * should, packed by the filters that mgk_h5_open_dataset allows.
 */
mgk_status mgk_h5_read_chunks(const mgk_h5_file *file, const char *name, hid_t dataset, int rank,
                              const hsize_t *start, const hsize_t *count, hid_t type, void *out);

#endif
