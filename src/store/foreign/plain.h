/* SPDX-License-Identifier: MIT */
/* Matrices of other software: arrays of HDF5 or NumPy files, which only their shapes describe. */
#ifndef MGK_STORE_PLAIN_H
#define MGK_STORE_PLAIN_H

#include "store/foreign/matrix_arrays.h"
#include "store/foreign/numpy_matrices.h"
#include "store/schema/description.h"

/*
 * Opens the matrices of the file `path`, which is not an attention store and is open as `numpy`, or
 * else as `hdf5`: the array `name`; with a star in the name one array per layer; with NULL the only
 * array of matrices. `axes` names the axes in front of them; NULL: the usual ones. *out receives
 * the arrays, whose datasets close with the file, and *description their sizes. It takes the lock
 * of HDF5.
 */
mgk_status mgk_open_plain(const char *path, const mgk_h5_file *hdf5,
                          const mgk_numpy_matrices *numpy, const char *name, const char *axes,
                          mgk_matrix_arrays *out, mgk_store_description *description);

#endif
