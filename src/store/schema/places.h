/* SPDX-License-Identifier: MIT */
/*
 * The places of chunks in a file that several processes write. Rank 0 has the file in HDF5 and
 * reserves the place of every chunk; then each process writes its chunks there, without HDF5.
 *
 * Parallel HDF5 cannot write such a store: it has no strings of variable length. MPI-IO, on which
 * it builds, writes chunks slower than the system does, and Open MPI 4.1 returns MPI_SUCCESS when
 * the disk is full.
 */
#ifndef MGK_STORE_PLACES_H
#define MGK_STORE_PLACES_H

#include <pthread.h>

#include "cluster/cluster.h"
#include "store/hdf5/placed_write.h"
#include "store/schema/store_file.h"

typedef struct mgk_store_places {
    const char *path;                        /* in messages */
    uint64_t *addresses[STORE_VALUES + 1];   /* [S, L, chunks] by object; NULL: not stored */
    size_t layers, chunks[STORE_VALUES + 1]; /* L; chunks of a block */
    mgk_placed file;
    bool is_open;
    int error;            /* errno of the first failed write, or 0 */
    pthread_mutex_t lock; /* guards the file */
} mgk_store_places;

/* Allocates the places of such a store; close them with mgk_places_close, whatever this returns. */
mgk_status mgk_places_open(const char *path, const mgk_store_description *description,
                           mgk_store_places *out);

/* Rank 0: reserves the places. */
mgk_status mgk_places_reserve(mgk_store_places *places, mgk_store_file *file);

/* Collective: all processes take the places of rank 0 and open its file, `actual` [PATH_MAX] there.
 * STATUS_IO in all if one process cannot. */
mgk_status mgk_places_share(mgk_store_places *places, mgk_cluster *cluster,
                            const mgk_store_description *description, char *actual);

/* Writes an encoded chunk, as mgk_store_target; `places` is an mgk_store_places. */
mgk_status mgk_places_put_chunk(void *places, const mgk_store_chunk *chunk);

/* Waits until what this process wrote is on the disk. */
mgk_status mgk_places_finish(mgk_store_places *places);

/* Releases them; zeroed ones are accepted. */
void mgk_places_close(mgk_store_places *places);

#endif
