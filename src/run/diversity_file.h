/* SPDX-License-Identifier: MIT */
/* Reads files of mgk-diversity: CSV and JSON of means or of samples, HDF5 of samples. */
#ifndef MGK_RUN_DIVERSITY_FILE_H
#define MGK_RUN_DIVERSITY_FILE_H

#include "analysis/table/diversity_values.h"

/*
 * Reads a file of any format, recognised by content; means over its samples are computed if it
 * holds samples. Release with mgk_diversity_set_free; after a failure it is empty. The file is not
 * trusted. STATUS_FORMAT, STATUS_SHAPE: the message names the file and the contradiction.
 */
mgk_status mgk_diversity_file_read(const char *path, mgk_diversity_set *out);

/* Reads the rows of CSV or JSON; of HDF5 those of the means over its samples, and its differences.
 * Release with
 * mgk_table_free. */
mgk_status mgk_diversity_file_read_table(const char *path, mgk_table *out);

#endif
