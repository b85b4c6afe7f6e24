/* The pieces of an export: what a layer of a batch gives the store, and what the model gives it. */
#ifndef MGK_DUMP_H
#define MGK_DUMP_H

#include "mgk.h"
#include "run/model_run.h"
#include "store/schema/writer.h"

/* The matrices of a block of the store, [heads, N, N]; zeroed where they are not stored. */
typedef struct mgk_dump_matrices {
    int layer; /* of the model */
    mgk_mirror attention, scores;
} mgk_dump_matrices;

/* An export under way; the fields up to layer_count and head_count are set by its owner. */
typedef struct mgk_dump {
    mgk_model_run *run;
    mgk_store_writer *writer;
    unsigned objects;        /* what the store holds, MGK_STORE_BIT */
    mgk_store_real storage;  /* element type in the file */
    bool compresses;         /* writing is work for all threads */
    int32_t *layers, *heads; /* which ones, [layer_count] and [head_count] */
    size_t layer_count, head_count;

    int passes, threads; /* passes that run at the same time, threads in all */
    bool writer_thread;  /* one of the threads only writes */

    int32_t *device_heads;       /* `heads` on the device */
    mgk_dump_matrices *matrices; /* [blocks], by the number of the store's block */
    int blocks;
} mgk_dump;

/* A pass of the export: what a thread that computes has of its own. */
typedef struct mgk_dump_pass {
    const mgk_dump *dump;
    mgk_model_run *run;        /* the dump's, or one that shares with it */
    void *rows;                /* [N, ·] vectors of a sample's tokens, on the host */
    mgk_store_block *begun[2]; /* [begun_count], oldest first; their matrices are on their way */
    int begun_count;
} mgk_dump_pass;

/* The objects whose arrays a dump brings to the store, MGK_STORE_BIT: see mgk_store_options. */
enum { MGK_DUMP_BROUGHT = MGK_STORE_BIT(STORE_ATTENTION) | MGK_STORE_BIT(STORE_SCORES) };

/*
 * Chooses how the chosen samples are run: how many passes there are, threads of each, and the size
 * of a batch, for which the run is prepared. Passes of one thread keep all cores busy, as threads
 * of one pass, which wait for each other after each operation and while the file is written, do
 * not. There is one, of all threads, on a GPU, and where batches are too few or too large for more.
 * The threads of the passes write the file, too, each what it finds waiting; the store has one of
 * the threads for that where it is worth it. Of the device's threads no more are used than there
 * are cores: threads that share one only take the caches from each other.
 */
mgk_status mgk_dump_plan(mgk_dump *dump, int cores);

/* Allocates the other fields; mgk_dump_close releases them, once the writer is gone. */
mgk_status mgk_dump_open(mgk_dump *dump);
void mgk_dump_close(mgk_dump *dump);

/* Gives a pass over dump->run what it needs; mgk_dump_pass_close releases it. */
mgk_status mgk_dump_pass_open(const mgk_dump *dump, mgk_model_run *run, mgk_dump_pass *out);
void mgk_dump_pass_close(mgk_dump_pass *pass);

/*
 * An observer of the run (context: an mgk_dump_pass): hands the chosen heads of a chosen layer to
 * the store, a sample at a time. Where the device computes beside the host, matrices of a sample
 * are computed while those of the one before come from it. STATUS_NUMERIC: a value that the storage
 * type cannot hold.
 */
mgk_status mgk_dump_layer(void *context, mgk_observed *layer);

/* Hands over what is still on its way. Fails as mgk_dump_layer does. */
mgk_status mgk_dump_flush(mgk_dump_pass *pass);

/*
 * Runs all samples in `passes` passes, one of them in the calling thread, which alone asks and
 * tells the job's watcher. The first failure of any of them ends all, at the end of their batches.
 */
mgk_status mgk_dump_run(mgk_dump *dump, const mgk_job *job);

/* The model's objects that a store of this model can hold, MGK_STORE_BIT. */
unsigned mgk_dump_parameter_objects(const mgk_model *model);

/* Writes those objects that the store holds. */
mgk_status mgk_dump_parameters(const mgk_dump *dump);

#endif
