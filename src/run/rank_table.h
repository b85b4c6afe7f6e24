#ifndef MGK_RUN_RANK_TABLE_H
#define MGK_RUN_RANK_TABLE_H

#include "analysis/table/results.h"

/*
 * Reads rank results of any format, of one matrix at least; of HDF5 only what pictures and
 * descriptions are made of: ranks, which are undecided, noise floors, sigma_max and, where
 * `spectra` are wanted, these. Released with mgk_rank_table_free. STATUS_FORMAT: the message names
 * what does not fit together.
 */
mgk_status mgk_rank_table_read_any(const char *path, bool spectra, mgk_rank_table *out);

#endif
