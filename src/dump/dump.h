/* SPDX-License-Identifier: MIT */
/* The parts of an export: it copies layers of a batch, and parameters of the model, to the
 * store. */
#ifndef MGK_DUMP_H
#define MGK_DUMP_H

#include "cluster/share.h"
#include "mgk.h"
#include "run/model_run.h"
#include "store/schema/writer.h"

/* State of an export; the owner sets the fields up to layer_count and head_count. */
typedef struct mgk_dump {
    mgk_model_run *run;
    mgk_cluster *cluster; /* the processes that share the samples; NULL: this one alone */
    mgk_store_writer *writer;
    unsigned objects;        /* objects of the store, MGK_STORE_BIT */
    mgk_store_real storage;  /* element type in the file */
    bool compresses;         /* compression keeps all threads busy while writing */
    int32_t *layers, *heads; /* chosen numbers, [layer_count] and [head_count] */
    size_t layer_count, head_count;
    size_t mixtures; /* M of the store: of the chosen layer with most keys; set by the owner, too */

    /* The batches of this process, first to last - 1, and those that all processes share, 0 to
     * shared - 1; set by the owner before mgk_dump_run. */
    int first, last, shared;
    mgk_share *share; /* of mgk_dump_run; NULL: there is none */

    int passes, threads; /* number of concurrent passes; total number of threads */
    bool writer_thread;  /* one thread does nothing but write */

    int32_t *device_heads; /* `heads` on the device */
    /* Matrices [heads, N, N] of the store's blocks, [blocks], by number; NULL: not stored. */
    mgk_mirror *attention, *scores;
    int blocks;
    int together;       /* samples whose matrices are computed at a time, at most */
    uint64_t lost_rows; /* of mgk_dump_run: rows of this process whose scores are all stored as 0 */
} mgk_dump;

/* One pass of the export: the data of one computing thread. */
typedef struct mgk_dump_pass {
    const mgk_dump *dump;
    mgk_model_run *run; /* the dump's run, or one that shares with it */
    void *rows;         /* [N, ·], vectors of a sample's tokens, on the host */
    /* [begun_count], oldest first; their matrices are being computed or copied */
    mgk_store_block **begun;
    int begun_count;
    uint64_t lost_rows;
} mgk_dump_pass;

/* The objects whose arrays a dump supplies to the store, MGK_STORE_BIT: see mgk_store_options. */
enum { MGK_DUMP_BROUGHT = MGK_STORE_BIT(STORE_ATTENTION) | MGK_STORE_BIT(STORE_SCORES) };

/* Computes the number of samples of a batch. It does not depend on the number of threads, as the
 * bits of the results do not. */
mgk_status mgk_dump_capacity(const mgk_dump *dump, int *capacity);

/*
 * Plans the passes over batches of `capacity` samples, for which it prepares the run: their number
 * and the threads of each. Passes of one thread each keep all cores busy; the threads of one pass
 * wait for each other after each operation and while one of them writes. A GPU runs one pass with
 * all threads, and so does a CPU if batches are too few or too large for more. The threads of the
 * passes also write the file, each the blocks it finds waiting; where it saves time, one thread
 * only writes. At most `cores` of the device's threads are used, because threads that share a core
 * compete for its caches.
 */
mgk_status mgk_dump_plan(mgk_dump *dump, int capacity, int cores);

/* The number of batches of a planned dump. */
int mgk_dump_batches(const mgk_dump *dump);

/* Allocates the other fields; release them with mgk_dump_close after the writer. */
mgk_status mgk_dump_open(mgk_dump *dump);
void mgk_dump_close(mgk_dump *dump);

/* Allocates the data of a pass over `run`; release it with mgk_dump_pass_close. */
mgk_status mgk_dump_pass_open(const mgk_dump *dump, mgk_model_run *run, mgk_dump_pass *out);
void mgk_dump_pass_close(mgk_dump_pass *pass);

/*
 * An observer of the run (context: an mgk_dump_pass): passes the chosen heads of a chosen layer to
 * the store, one sample at a time. A GPU computes the matrices of several samples at a time, while
 * those of the samples before are copied to the host. STATUS_NUMERIC: a value beyond the range of
 * the storage type.
 */
mgk_status mgk_dump_layer(void *context, mgk_observed *layer);

/* Passes the remaining blocks to the store. Fails as mgk_dump_layer does. */
mgk_status mgk_dump_flush(mgk_dump_pass *pass);

/* Runs the batches of this process in `passes` passes; of several processes, all call it together.
 * One pass runs in the calling thread, the only one that calls the job's watcher. After the first
 * failure all passes stop at the end of their batches, those of other processes soon after it. */
mgk_status mgk_dump_run(mgk_dump *dump, const mgk_job *job);

/* Collective: the lost rows of all processes, to *out. */
mgk_status mgk_dump_lost_rows(const mgk_dump *dump, uint64_t *out);

/* The parameters that the store can contain, MGK_STORE_BIT: those that a chosen layer has. */
unsigned mgk_dump_parameter_objects(const mgk_dump *dump);

/* Writes the parameters that the store contains. Those that a layer lacks, of all its components or
 * of those beyond its own M, are 0, and the prior of one key is 1. */
mgk_status mgk_dump_parameters(const mgk_dump *dump);

/* Brings what another process has to the store of rank 0: an mgk_store_sender. */
mgk_status mgk_dump_send(void *dump, const void *message, size_t size);

/* Writes the errors of a model that ran as another kind, after all samples; by all processes. */
mgk_status mgk_dump_errors(const mgk_dump *dump);

#endif
