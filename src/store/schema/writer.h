/* SPDX-License-Identifier: MIT */
/*
 * Writes an attention store, format version 1 or 2: an HDF5 file (readable by HDF5 1.8
 * and later, hence by h5py, xarray, MATLAB, Julia, R).
 *
 * Root attributes
 *   format "mgk-attention", format_version 1, software, model, model_sha256,
 *   attention, config, command, created, precision, device: variable-length UTF-8
 *   strings (format_version: int32); causal: int32, 0 or 1; if it is known,
 *   training_step: int64, of the model; of an encoder-decoder model part: "encoder", "decoder" or
 *   "cross".
 *
 * Objects; "real" is f16, f32 or f64
 *   /attention    real  [sample, layer, head, query, key]   attribute row_normalized (0 or 1)
 *   /scores       real  [sample, layer, head, query, key]   before normalisation
 *   /queries      real  [sample, layer, head, query, dim]
 *   /keys         real  [sample, layer, head, mixture, key, dim]
 *   /values       real  [sample, layer, head, query, dim]
 *   /tokens       int32 [sample, query]                     padding is -1
 *   /lengths      int32 [sample]                            valid tokens
 *   /token_text   variable-length UTF-8 [sample, query]     padding is ""; the attribute `subword`
 *                 ("##", " " or "") says how tokens form words, see base/token_text.h
 *   /key_weights  f32 or f64 [layer, head, mixture, model_dim, dim]
 *   /key_bias     f32 or f64 [layer, head, mixture, dim]
 *   /priors       f32 or f64 [layer, head, mixture] or [layer, head, mixture, key]
 *   /variances    f32 or f64 [layer, head, mixture]
 *   All but /tokens and /lengths are optional. Outside the valid block
 *   (length x length) matrices are 0. Parameters keep their precision.
 *
 * Cross-attention (part "cross"): queries are tokens of the decoder, keys those of the encoder, so
 * that the axes query and key differ in length. format_version is 2, because a reader of version 1
 * would take the keys for the queries' own. In addition
 *   /key_tokens     int32 [sample, key]                   padding is -1
 *   /key_lengths    int32 [sample]                        valid tokens
 *   /key_token_text variable-length UTF-8 [sample, key]   if they have text
 *   and /values are those of the keys: [sample, layer, head, key, dim]. The valid block is
 *   (length x key length), and causal is 0.
 *
 * Axes: every axis has its label, as above, and a dimension scale (int32) of this name, from which
 * xarray takes the names of dimensions:
 *   /sample, /layer, /head: their numbers in the input and the model;
 *   /mixture, /query, /key, /dim, /model_dim: 0, 1, 2, ...
 * /samples, /layers and /heads are hard links to the first three, which older files have under
 * these names alone.
 *
 * A store in shards has its sample objects in other files: see shards.h.
 *
 * Chunks of the sample objects are one matrix (the last two axes) up to 1 MiB, else
 * blocks of rows of about 1 MiB. Filters: none, or shuffle followed by deflate.
 */
#ifndef MGK_STORE_WRITER_H
#define MGK_STORE_WRITER_H

#include "base/status.h"
#include "cluster/cluster.h"
#include "store/schema/description.h"

typedef struct mgk_store_writer mgk_store_writer;

/* Brings messages of other processes to mgk_store_receive of rank 0; any thread may call it. */
typedef struct mgk_store_sender {
    mgk_status (*send)(void *state, const void *message, size_t size);
    void *state;
} mgk_store_sender;

/* Settings of a writer. */
typedef struct mgk_store_options {
    bool force;              /* replace an existing file */
    mgk_store_real incoming; /* of the caller's arrays: STORE_F32 or STORE_F64 */
    int compress;            /* deflate level, 1 to 9; 0: no compression */
    int threads;             /* threads that compress a block; 0 means 1 */
    int callers;             /* threads that fill blocks at the same time; 0 means 1 */
    bool own_thread;         /* the store starts a writing thread; false: the callers write */
    unsigned brought; /* bit set of the objects whose arrays the caller supplies with each block */
    mgk_cluster *cluster;    /* all its processes write the store; NULL: this one alone */
    mgk_store_sender sender; /* of other processes than rank 0 */
    /* [processes + 1], from 0 to S, ascending: the process of rank r writes samples shards[r] to
     * shards[r + 1] - 1 into a file of its own, if these are any (see shards.h); NULL: all is in
     * one file */
    const int32_t *shards;
} mgk_store_options;

/*
 * One layer of one sample: the unit of writing, so that memory depends neither on the number of
 * samples nor of layers. The writer owns the arrays, except those of `brought` objects: the caller
 * sets their addresses in each block it is lent, and leaves the arrays unchanged until the block is
 * lent again or the writer is released. Arrays of objects that are not stored are NULL. `real` is
 * the incoming element type.
 */
typedef struct mgk_store_block {
    int32_t number;                 /* index in mgk_store_blocks; set by the writer */
    int32_t sample, layer;          /* positions in the store, from 0 */
    int32_t length;                 /* valid tokens of the sample; read with layer 0 */
    int32_t *tokens;                /* [N], padding -1; read with layer 0 */
    int32_t key_length;             /* valid keys, and their tokens [K], of a cross store; read */
    int32_t *key_tokens;            /* with layer 0; otherwise not read, and NULL */
    void *arrays[STORE_VALUES + 1]; /* real, by object: attention and scores [H, N, K],
                                       queries [H, N, D], values [H, K, D], keys [H, M, K, D] */
} mgk_store_block;

/*
 * Creates the store under a temporary name next to `path`, and starts its thread, if any.
 *
 * The processes of a cluster create it, finish it or discard it together; each submits some of the
 * blocks, all layers of a sample or none. Rank 0 has the file, and writes the whole objects. Chunks
 * that are not compressed are written by the process that has them: the folder is one that all can
 * write. Compressed ones, and tokens, go to rank 0.
 *
 * Everything the description points to is copied or written before the call returns; `created` is
 * ignored and the present time written. STATUS_EXISTS: `path` exists and force is false.
 * STATUS_USAGE: a size, index array, string or option is missing or out of range, or the store is
 * cross without being of this part, or the reverse. STATUS_IO: the
 * folder cannot be written.
 */
mgk_status mgk_store_create(const char *path, const mgk_store_description *description,
                            const mgk_store_options *options, mgk_store_writer **out);

/* Rank 0: writes a message of another process; any thread. */
mgk_status mgk_store_receive(mgk_store_writer *writer, const void *message, size_t size);

/* Rank 0: the number of samples that other processes have begun. */
int64_t mgk_store_received(mgk_store_writer *writer);

/* The number of blocks: two more than callers; if several threads take part, as many as fit into 32
 * MB, if that is more. */
int mgk_store_blocks(const mgk_store_writer *writer);

/*
 * Lends a block to fill. While no block is free, the call writes waiting blocks or waits. Not all
 * blocks are lent at a time: one remains for writing. A block still holds old data: set every
 * value, including padding. Returns the failure of an earlier write, if any. Any thread may call
 * this and the next function. STATUS_USAGE: all but one are lent already.
 */
mgk_status mgk_store_next_block(mgk_store_writer *writer, mgk_store_block **out);

/*
 * Takes back a lent block. Writing of blocks starts in the order of these calls. The store's thread
 * writes while the caller continues; without that thread, a caller that finds no other caller
 * writing writes all waiting blocks, and the other callers continue. If blocks are compressed or
 * converted, several callers write at the same time. Submit each (sample, layer) exactly once, in
 * any order. STATUS_USAGE: sample, layer or length is out of range (the block stays lent), or no
 * block is lent.
 */
mgk_status mgk_store_submit(mgk_store_writer *writer, mgk_store_block *block);

/* Waits until all submitted blocks are written; stops after a failure of writing, and returns it.
 * No block may be lent. */
mgk_status mgk_store_drain(mgk_store_writer *writer);

/* Ends writing as soon as possible: the store can then only be discarded. */
void mgk_store_stop(mgk_store_writer *writer);

/*
 * Writes one whole object (STORE_KEY_WEIGHTS and later), given in the incoming element type:
 * key_weights [L, H, M, C, D], key_bias [L, H, M, D], priors [L, H, M] or [L, H, M, N], variances
 * [L, H, M], errors [S, L, H].
 */
mgk_status mgk_store_write_whole(mgk_store_writer *writer, mgk_store_object object,
                                 const void *data);

/* The set of its shards, see shard_files.h; −1: the store is in one file. */
int mgk_store_shard_set(const mgk_store_writer *writer);

/*
 * Writes all waiting blocks, closes the file and renames it to `path`; then the shards that a store
 * there named go. Releases the writer in any case; on failure, of any process, nothing is left
 * on disk, and a store that was there is as before. *seconds (may be NULL) is the time of
 * conversion, compression and writing, summed over threads. STATUS_USAGE: some block or parameter
 * was never written.
 */
mgk_status mgk_store_finish(mgk_store_writer *writer, double *seconds);

/* Abandons the store: nothing of this process is left on disk. NULL is accepted. */
void mgk_store_discard(mgk_store_writer *writer);

#endif
