/* The parts of counting ranks: inputs as matrix sources, the summary, the files. */
#ifndef MGK_RANK_H
#define MGK_RANK_H

#include "analysis/run/journal.h"
#include "analysis/run/selection.h"
#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"
#include "base/sha256.h"
#include "mgk.h"

/* An input as a source of the chosen matrices. */
typedef struct mgk_rank_input {
    const char *name;                 /* path, borrowed */
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "": not known */
    size_t layer_count;               /* length of source.layers */
    size_t per_layer;                 /* number of chosen matrices in each layer */
    mgk_source source;
    size_t held;                /* most bytes of matrices that it keeps in host memory */
    void (*close)(void *state); /* argument: source.state */
} mgk_rank_input;

/*
 * Opens an attention store, or an array of another HDF5 or NumPy file. A store with queries, keys
 * and values provides vectors. STATUS_UNSUPPORTED: its numbers are f16, which the options do not
 * allow; STATUS_SHAPE: a layer that it does not have.
 */
mgk_status mgk_rank_open_store(const mgk_rank_options *options, const char *path,
                               mgk_rank_input *out);

/*
 * Opens a model and its input. The forward pass of a batch runs when the first group of that batch
 * is prepared. It leaves queries and keys (on a GPU in its memory), from which all threads of the
 * device compute the matrices of a group together.
 *
 * At most 16 matrices per thread are prepared at a time; of large ones as many as fit into 256 MiB,
 * or 4 per thread; never more than fit into `memory` bytes (0: no limit), but at least one; on a
 * GPU as many as fit into 64 MiB, or one. Memory grows neither with S nor with H. `vectors`: keep
 * values too, and provide vectors.
 */
mgk_status mgk_rank_open_model(const mgk_rank_options *options, size_t memory, bool vectors,
                               mgk_rank_input *out);

/* Whether all entries of matrix r fit f16 or bf16 and its rank is undecided at some threshold. The
 * entries of a one-hot matrix fit too, but leave nothing undecided. */
bool mgk_rank_is_coarse(const mgk_rank_table *table, size_t r);

/* Computes statistics of each input and layer, and prints their histograms as text. */
mgk_status mgk_rank_summarize(const mgk_rank_table *table, mgk_rank_summary *out);

/* Ending of a journal: it has the name of the output with this appended. */
#define MGK_RANK_JOURNAL ".part"

/* STATUS_USAGE unless the outputs have known endings. */
mgk_status mgk_rank_check_endings(const mgk_rank_options *options);

/* Checks that the outputs can be written, before long work starts. */
mgk_status mgk_rank_check_outputs(const mgk_rank_options *options);

/* Opens the journal of options->output; *out is NULL without an output. `gpu`: a GPU computes the
 * spectra. STATUS_EXISTS, STATUS_USAGE, STATUS_FORMAT, STATUS_IO: see analysis/run/journal.h. */
mgk_status mgk_rank_open_journal(const mgk_rank_options *options, const mgk_rank_input *inputs,
                                 bool gpu, mgk_journal **out);

/* Adds the settings that the run does not know: the inputs, the chosen matrices and the description
 * of the run; `device` computes spectra. STATUS_MEMORY. */
mgk_status mgk_rank_record_settings(const mgk_rank_options *options, const mgk_rank_input *inputs,
                                    size_t input_count, const char *device, mgk_rank_settings *out);

/* Draws the histograms of each layer into options->png; those of several inputs overlap. */
mgk_status mgk_rank_draw(const mgk_rank_options *options, const mgk_rank_table *table);

/* Writes the outputs that the options name. */
mgk_status mgk_rank_write_outputs(const mgk_rank_options *options, const mgk_rank_table *table);

#endif
