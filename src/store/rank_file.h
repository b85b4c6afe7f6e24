/*
 * Rank results as HDF5, format version 1.
 *
 * Root attributes: format "mgk-ranks", format_version 1 and thresholds T (int32),
 * settings (JSON).
 * Columns, T values a matrix, one for each threshold; axis "row" with the dimension
 * scale /row:
 *   int32: /input (which of several, from 0), /sample, /layer, /head (the model's
 *   numbers), /n, /rank, /undecided
 *   f64:   /threshold, /sigma_max, /sigma_min, /effective_rank, /stable_rank
 * Files of earlier versions lack these columns:
 *   int32: /method, /certificate; their attribute `codes` says what 0, 1, ... stand for
 *   f64:   /sigma_ratio, /energy_1, /energy_4, /energy_16, /energy_64, /noise_floor
 * What the method did not compute is -1 or not-a-number.
 * Optional: /singular_values f64 [sample, layer, head, index], descending. Its scales
 * are /samples, /layers, /heads (those that occur in the columns, ascending) and
 * /index. Matrices that are not in the columns, and what lies beyond n, are
 * not-a-number.
 */
#ifndef MGK_STORE_RANK_FILE_H
#define MGK_STORE_RANK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The columns, each [R], and the spectra. */
typedef struct mgk_rank_file {
    size_t rows;       /* R; the T rows of a matrix are adjacent */
    size_t thresholds; /* T, at least 1; R is a multiple of it */
    double *threshold; /* [R] */
    int32_t *input, *sample, *layer, *head, *n, *rank, *undecided;
    double *sigma_max, *sigma_min, *effective_rank, *stable_rank;
    /* NULL where a file has no such column: */
    int32_t *method, *certificate;
    double *sigma_ratio, *energy_1, *energy_4, *energy_16, *energy_64, *noise_floor;
    size_t spectrum_length;  /* N: the longest spectrum; 0 without spectra */
    double *singular_values; /* [R / T, N]; beyond n not-a-number. NULL without spectra */
    char *settings;          /* JSON */
} mgk_rank_file;

/*
 * Writes the file, whole or not at all. STATUS_USAGE: no rows, or not T for each matrix;
 * STATUS_EXISTS: `path` exists and force is false.
 */
mgk_status mgk_rank_file_write(const char *path, bool force, const mgk_rank_file *ranks);

/*
 * Reads it back into *out, released with mgk_rank_file_free.
 * STATUS_FORMAT: not a rank file. STATUS_SHAPE: columns that do not fit together.
 */
mgk_status mgk_rank_file_read(const char *path, mgk_rank_file *out);

/* The same without spectra, which take most of a file. */
mgk_status mgk_rank_file_read_columns(const char *path, mgk_rank_file *out);

/* Releases what mgk_rank_file_read allocated; a zeroed one is accepted. */
void mgk_rank_file_free(mgk_rank_file *ranks);

#endif
