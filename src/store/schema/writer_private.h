/* SPDX-License-Identifier: MIT */
/* The store being written, shared by the files that create it and write it. */
#ifndef MGK_STORE_WRITER_PRIVATE_H
#define MGK_STORE_WRITER_PRIVATE_H

#include <pthread.h>

#include "base/file.h"
#include "store/schema/block.h"
#include "store/schema/delivery.h"
#include "store/schema/places.h"
#include "store/schema/shard_output.h"

/*
 * A block is idle, lent to a caller, waiting in a ring, or being written. The idle ones form a
 * stack, because the block written last is still in the caches. A thread holds encoders while it
 * writes a block. Without a writing thread the callers write: a caller that submits a block, or
 * finds none idle, writes the waiting blocks, unless all encoders are in use. `lock` guards the
 * fields after it.
 */
struct mgk_store_writer {
    char *path;
    mgk_cluster *cluster;        /* NULL: this process alone */
    mgk_output output;           /* of rank 0, and its file */
    mgk_store_file file;         /* (of the store, or that joins shards) */
    mgk_store_places places;     /* where processes write the same file */
    mgk_store_delivery delivery; /* of other processes */
    mgk_shard_output shard;      /* of this process, if it writes one */
    int32_t shard_set;           /* of shard_files.h; −1: the store is in one file */
    mgk_block_writer blocks_out;
    mgk_store_block *blocks;   /* [block_count] */
    mgk_store_block **idle;    /* [block_count], the first idle_count are valid */
    mgk_store_block **waiting; /* [block_count]; number n is waiting[n % block_count] */
    int block_count;
    mgk_block_encoders *encoders; /* [encoders_count]: as many threads may write at the same time */
    int encoders_count;
    unsigned brought;       /* bit set of the objects whose arrays the caller owns */
    unsigned whole_written; /* bit set */
    bool has_thread;        /* the store has a writing thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int idle_count;
    mgk_block_encoders *unused; /* list of encoders not in use */
    /* numbers of blocks: submitted; of these, writing started; of these, finished */
    int64_t submitted, taken, written;
    int64_t begun, received; /* samples: of these blocks; of other processes */
    bool closing;            /* no more blocks will be submitted */
    mgk_status status;       /* the first failure of writing */
    char message[1024];      /* message of that failure */
    double seconds;          /* writing time, summed over threads */
};

/* Starts the store's writing thread. */
mgk_status mgk_store_start_thread(mgk_store_writer *writer);

#endif
