/* Other people's matrices: arrays of HDF5 or NumPy, which are described by their shapes. */
#ifndef MGK_STORE_PLAIN_H
#define MGK_STORE_PLAIN_H

#include "store/foreign/matrix_arrays.h"
#include "store/foreign/numpy_matrices.h"
#include "store/schema/description.h"

/*
 * Opens matrices of the file `path`, which is no store and is open as `numpy`, or else as `hdf5`:
 * the array `name`, or the only array of matrices where it is NULL, or an array for each layer
 * where it has a star. *out gets the arrays, whose datasets close with the file, and *description
 * their sizes. Takes the lock of HDF5 itself.
 */
mgk_status mgk_open_plain(const char *path, const mgk_h5_file *hdf5,
                          const mgk_numpy_matrices *numpy, const char *name, mgk_matrix_arrays *out,
                          mgk_store_description *description);

#endif
