/* SPDX-License-Identifier: MIT */
/* Rank files: CSV, JSON and HDF5 with the columns of analysis/table/rank_columns.h. */
#ifndef MGK_RUN_RANK_FILE_H
#define MGK_RUN_RANK_FILE_H

#include "analysis/table/rank_table.h"
#include "table/table.h"

/*
 * Writes the table, whole or not at all, in the format of the file name. JSON has "layers" after
 * the rows; HDF5 the root attribute `thresholds` T (int32) and, if the table has spectra,
 * /singular_values (store/schema/spectra.h). STATUS_USAGE: an unknown ending; STATUS_EXISTS without
 * `force`; STATUS_IO.
 */
mgk_status mgk_rank_file_write(const mgk_rank_table *table, const char *path, bool force);

/*
 * Reads a file of any format, recognised by content, with at least one matrix; `spectra`: its
 * spectra too. Release with mgk_rank_table_free. The file is not trusted. STATUS_FORMAT,
 * STATUS_SHAPE: the message names the file and the contradiction.
 */
mgk_status mgk_rank_file_read(const char *path, bool spectra, mgk_rank_table *out);

/* The same as columns, as many as the file has; release with mgk_table_free. */
mgk_status mgk_rank_file_read_columns(const char *path, mgk_table *out);

#endif
