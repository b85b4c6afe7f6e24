/*
 * Spectra of matrices in an HDF5 file: /singular_values f64 [sample, layer, head, index],
 * descending, with the scales /samples, /layers, /heads (the numbers that occur, ascending) and
 * /index. Matrices that were not measured, and what is beyond n, are NaN.
 */
#ifndef MGK_STORE_SPECTRA_H
#define MGK_STORE_SPECTRA_H

#include "store/hdf5/h5.h"

typedef struct mgk_spectra {
    size_t count, length;                 /* matrices; values of the longest spectrum */
    const int32_t *sample, *layer, *head; /* [count] */
    const double *values;                 /* [count, length] */
} mgk_spectra;

/* Writes them. STATUS_IO, STATUS_MEMORY. */
mgk_status mgk_spectra_write(const mgk_h5_file *file, const mgk_spectra *spectra);

/*
 * Reads those of spectra->count matrices into *values [count, *length], released with mgk_free,
 * NULL where the file has none. STATUS_SHAPE: not the samples, layers and heads of these matrices.
 */
mgk_status mgk_spectra_read(const mgk_h5_file *file, const mgk_spectra *matrices, size_t *length,
                            double **values);

#endif
