/* SPDX-License-Identifier: MIT */
/* Reads the arrays of measures from a file as store/schema/measures.h describes it. */
#ifndef MGK_STORE_MEASURES_READER_H
#define MGK_STORE_MEASURES_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "store/schema/measures.h"

typedef struct mgk_measures_reader mgk_measures_reader;

/*
 * Opens a file, which is not trusted. Arrays of other names and shapes than the format's are
 * ignored or refused, never read. Close with mgk_measures_close. STATUS_FORMAT: damaged, or another
 * kind of file; STATUS_SHAPE: arrays of an input that contradict each other; STATUS_UNSUPPORTED:
 * another version of the format.
 */
mgk_status mgk_measures_open(const char *path, mgk_measures_reader **out);
void mgk_measures_close(mgk_measures_reader *reader); /* NULL is accepted */

/* The settings of the run, a JSON object; NULL: none. */
const char *mgk_measures_settings(const mgk_measures_reader *reader);

/* The number of inputs, at least 1, and the arrays of one, in the order of their names. `name` is
 * "" if the file does not hold it; an attribute that an array lacks is "". */
size_t mgk_measures_inputs(const mgk_measures_reader *reader);
const mgk_measure_arrays *mgk_measures_input(const mgk_measures_reader *reader, size_t input);

/* Reads the values of one sample of an array: [L], [L, H], [L, H, H], [L, H, M] or [L, H, L, H].
 * STATUS_FORMAT, STATUS_IO. */
mgk_status mgk_measures_read(mgk_measures_reader *reader, size_t input, size_t array, size_t sample,
                             double *values);

#endif
