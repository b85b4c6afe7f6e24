/* The pieces of counting ranks: inputs as matrix sources, the summary, the files. */
#ifndef MGK_RANK_H
#define MGK_RANK_H

#include "analysis/run/journal.h"
#include "analysis/run/selection.h"
#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"
#include "base/sha256.h"
#include "mgk.h"

/* An input as a source of its chosen matrices. */
typedef struct mgk_rank_input {
    const char *name;                 /* its path, borrowed */
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "" where it is not known */
    size_t layer_count;               /* of source.layers */
    size_t per_layer;                 /* matrices chosen of each layer */
    int axes[3];                      /* see mgk_rank_layer */
    mgk_source source;
    size_t held;                /* bytes of matrices that it holds in the host's memory at most */
    void (*close)(void *state); /* takes source.state */
} mgk_rank_input;

/*
 * Opens an attention store, or the dataset of a foreign HDF5 file. A store that holds queries, keys
 * and values gives vectors. STATUS_UNSUPPORTED: its numbers
 * are f16 and that is not allowed; STATUS_SHAPE: a layer that it does not have.
 */
mgk_status mgk_rank_open_store(const mgk_rank_options *options, const char *path,
                               mgk_rank_input *out);

/*
 * Opens a model and what it reads. The forward pass runs when a group of the next batch is
 * prepared; a batch leaves its queries and keys, from which the matrices of a group are computed
 * together, by all threads of the device; on a GPU they stay there. Prepared at once are at most 16
 * matrices a thread, and of large ones what fits into 256 MiB, or 4 a thread; no more than fit into
 * `memory` bytes (0: any number), but one; on a GPU what fits into 64 MiB, or one. Memory grows
 * neither with S nor with H. Values are kept, too, and vectors given, where `vectors` are wanted.
 */
mgk_status mgk_rank_open_model(const mgk_rank_options *options, size_t memory, bool vectors,
                               mgk_rank_input *out);

/*
 * Whether matrix r has entries of f16 or bf16 only, and a rank that is undecided at some threshold.
 * Entries of a one-hot matrix are such numbers, too, but nothing is undecided by them.
 */
bool mgk_rank_is_coarse(const mgk_rank_table *table, size_t r);

/* Statistics of each input and layer, and their histograms as text. */
mgk_status mgk_rank_summarize(const mgk_rank_table *table, mgk_rank_summary *out);

/* The journal of a run is beside its output, under the output's name with this behind it. */
#define MGK_RANK_JOURNAL ".part"

/* Whether the outputs have known endings: STATUS_USAGE. */
mgk_status mgk_rank_check_endings(const mgk_rank_options *options);

/* Whether they can be written, before long work is begun. */
mgk_status mgk_rank_check_outputs(const mgk_rank_options *options);

/*
 * Opens the journal beside options->output, *out = NULL where there is no output. `gpu`: spectra
 * are computed by one. STATUS_EXISTS, STATUS_USAGE, STATUS_FORMAT, STATUS_IO: see
 * analysis/run/journal.h.
 */
mgk_status mgk_rank_open_journal(const mgk_rank_options *options, const mgk_rank_input *inputs,
                                 bool gpu, mgk_journal **out);

/*
 * Fills in the settings that the run itself has not: the inputs, which matrices of them, and `run`;
 * `device` computes spectra. STATUS_MEMORY.
 */
mgk_status mgk_rank_record_settings(const mgk_rank_options *options, const mgk_rank_input *inputs,
                                    size_t input_count, const char *device, mgk_rank_settings *out);

/* Draws the histograms of each layer into options->png, the inputs over each other. */
mgk_status mgk_rank_draw(const mgk_rank_options *options, const mgk_rank_table *table);

/* Writes the outputs that the options name. */
mgk_status mgk_rank_write_outputs(const mgk_rank_options *options, const mgk_rank_table *table);

#endif
