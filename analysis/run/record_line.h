/* SPDX-License-Identifier: MIT */
/* The record of one sample as a line of text, for the journal of a run. */
#ifndef MGK_ANALYSIS_RECORD_LINE_H
#define MGK_ANALYSIS_RECORD_LINE_H

#include <stddef.h>

#include "base/status.h"

/* Bytes of a line for a record of `size` values, with its end and a terminating zero. */
size_t mgk_record_line_size(size_t size);

/*
 * Writes "INPUT SAMPLE VALUES\n": the number of the input, the position of the sample, and the bits
 * of each value as 16 hexadecimal digits, which is faster than decimal digits and loses none. line
 * [mgk_record_line_size]. Returns its length.
 */
size_t mgk_record_line_write(size_t input, size_t sample, const double *record, size_t size,
                             char *line);

/* Reads the first two numbers of a line, and moves it behind them. STATUS_FORMAT: it is no such
 * line. */
mgk_status mgk_record_line_begin(const char **line, size_t *input, size_t *sample);

/* Reads the values [size], which end the line. STATUS_FORMAT: there are others. */
mgk_status mgk_record_line_values(const char *line, size_t size, double *record);

#endif
