/* The store being written, shared by the files that create and that write it. */
#ifndef MGK_STORE_WRITER_PRIVATE_H
#define MGK_STORE_WRITER_PRIVATE_H

#include <pthread.h>

#include "base/file.h"
#include "store/schema/block.h"
#include "store/schema/writer.h"

/*
 * A block is idle, lent to a caller, waiting in a ring, or being written. The idle ones form a
 * stack, because what was written last is still in the caches. Whoever writes a block has taken
 * encoders for as long. Without a thread of its own the store is written by the callers: who hands
 * over a block, or finds none idle, writes what waits, unless others have all encoders. The fields
 * after `lock` are guarded by it.
 */
struct mgk_store_writer {
    mgk_output output;
    mgk_block_writer blocks_out;
    mgk_store_block *blocks;   /* [block_count] */
    mgk_store_block **idle;    /* [block_count], of which idle_count are */
    mgk_store_block **waiting; /* [block_count]; number n is waiting[n % block_count] */
    int block_count;
    mgk_block_encoders *encoders; /* [encoders_count]: so many may write at the same time */
    int encoders_count;
    unsigned brought;            /* bit set: objects whose arrays are the caller's */
    unsigned parameters_written; /* bit set */
    bool has_thread;             /* of its own, which writes */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int idle_count;
    mgk_block_encoders *unused;        /* a list of those that nobody writes with */
    int64_t submitted, taken, written; /* blocks: handed over; of these, begun; of these, done */
    bool closing;                      /* nothing more will be submitted */
    mgk_status status;                 /* the first failure in writing */
    char message[1024];                /* and what it said */
    double seconds;                    /* that threads spent writing */
};

/* Has blocks written by a thread of the store's own. */
mgk_status mgk_store_start_thread(mgk_store_writer *writer);

#endif
