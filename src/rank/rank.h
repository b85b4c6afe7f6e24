/* SPDX-License-Identifier: MIT */
/* The parts of counting ranks: the options of its inputs, the summary, the files. */
#ifndef MGK_RANK_H
#define MGK_RANK_H

#include "analysis/run/journal.h"
#include "analysis/table/rank_table.h"
#include "mgk.h"
#include "run/sources.h"
#include "run/warnings.h"

/* The inputs of a count, without its `memory`; borrows from the options. */
mgk_source_options mgk_rank_source_options(const mgk_rank_options *options);

/* Computes statistics of each input and layer, and prints their histograms as text. `unnormalized`:
 * all inputs say themselves that rows do not sum to 1. */
mgk_status mgk_rank_summarize(const mgk_rank_table *table, bool unnormalized,
                              mgk_rank_summary *out);

/* STATUS_USAGE unless the outputs have known endings. */
mgk_status mgk_rank_check_endings(const mgk_rank_options *options);

/* Checks that the outputs can be written, before long work starts. */
mgk_status mgk_rank_check_outputs(const mgk_rank_options *options);

/* Opens the journal of options->output; *out is NULL without an output. `gpu`: a GPU computes the
 * spectra. STATUS_EXISTS, STATUS_USAGE, STATUS_FORMAT, STATUS_IO: see run/run_journal.h. */
mgk_status mgk_rank_open_journal(const mgk_rank_options *options, const mgk_source_input *inputs,
                                 bool gpu, mgk_journal **out);

/* Adds the settings that the run does not know: the inputs, the chosen matrices and the description
 * of the run, with its warnings; `device` computes spectra. STATUS_MEMORY. */
mgk_status mgk_rank_record_settings(const mgk_rank_options *options, const mgk_source_input *inputs,
                                    size_t input_count, const char *device,
                                    const mgk_warnings *warnings, mgk_rank_settings *out);

/* Draws the histograms of each layer into options->png; those of several inputs overlap. */
mgk_status mgk_rank_draw(const mgk_rank_options *options, const mgk_rank_table *table);

/* Writes the outputs that the options name. */
mgk_status mgk_rank_write_outputs(const mgk_rank_options *options, const mgk_rank_table *table);

#endif
