/* SPDX-License-Identifier: MIT */
/*
 * Spectra of matrices in an HDF5 file: /singular_values f64 [sample, layer, head, index],
 * descending, with the scales /samples, /layers, /heads, the numbers that occur, and /index.
 * Samples are in the order of the rows, which is that of the store, layers and heads ascending.
 * Entries of matrices that were not measured, and entries beyond n, are NaN.
 */
#ifndef MGK_STORE_SPECTRA_H
#define MGK_STORE_SPECTRA_H

#include "store/hdf5/h5.h"

typedef struct mgk_spectra {
    size_t count, length;                 /* number of matrices; length of the longest spectrum */
    const int32_t *sample, *layer, *head; /* [count] */
    const double *values;                 /* [count, length] */
} mgk_spectra;

/* Writes the spectra. STATUS_IO, STATUS_MEMORY. */
mgk_status mgk_spectra_write(const mgk_h5_file *file, const mgk_spectra *spectra);

/*
 * Reads the spectra of matrices->count matrices into *values [count, *length], release with
 * mgk_free; NULL if the file has none. STATUS_SHAPE: the file lacks one of them.
 */
mgk_status mgk_spectra_read(const mgk_h5_file *file, const mgk_spectra *matrices, size_t *length,
                            double **values);

#endif
