/* SPDX-License-Identifier: MIT */
/* The open store, shared by the files that open it and read it. */
#ifndef MGK_STORE_READER_PRIVATE_H
#define MGK_STORE_READER_PRIVATE_H

#include <limits.h>
#include <pthread.h>

#include "store/foreign/mask.h"
#include "store/foreign/matrix_arrays.h"
#include "store/foreign/numpy_matrices.h"
#include "store/hdf5/h5.h"
#include "store/schema/reader.h"

/* The store that has samples first to first + count - 1. */
typedef struct mgk_reader_shard {
    char name[NAME_MAX + 1]; /* of its file, in the folder of the whole store */
    int32_t first, count;
    mgk_store_reader *reader;
} mgk_reader_shard;

struct mgk_store_reader {
    mgk_h5_file file;
    char *path;
    mgk_store_description description; /* arrays and strings are owned by the reader */
    mgk_stored_dataset tokens[STORE_SIDES], lengths[STORE_SIDES], token_text[STORE_SIDES];
    mgk_stored_dataset objects[STORE_OBJECTS];
    mgk_matrix_arrays matrices; /* the arrays that mgk_store_read_matrix reads */
    mgk_numpy_matrices numpy;   /* open if the file is a NumPy file */
    pthread_mutex_t numpy_lock; /* of its buffers */
    mgk_reader_shard *shards;   /* [shard_count], of a store in shards (shards.h); else 0 */
    size_t shard_count;
    mgk_mask mask; /* of an array of other software; zeroed: none */
};

/* Fills the description and opens every object of an attention store; of one in shards without
 * these. */
mgk_status mgk_open_native(mgk_store_reader *reader);

/* Opens a virtual object of a store in shards. STATUS_UNSUPPORTED: it is in other files than the
 * objects before. */
mgk_status mgk_open_virtual(mgk_store_reader *reader, mgk_store_object object,
                            mgk_stored_dataset *out);

/* Opens the shards of a store, if it is in shards, for reading `dataset` as of the whole store.
 * STATUS_SHAPE, STATUS_FORMAT: one is not that part of this store. */
mgk_status mgk_open_shards(mgk_store_reader *reader, const char *dataset);
void mgk_close_shards(mgk_store_reader *reader);

/* Opens a file as mgk_store_open_as does, but not its shards. */
mgk_status mgk_open_whole(const char *path, const char *dataset, const char *axes,
                          mgk_store_reader **out);

/* Opens a file that is no store in shards. */
mgk_status mgk_open_shard(const char *path, const char *dataset, mgk_store_reader **out);

/* The reader of an object's values: of a store in shards that of the shard with the sample, whose
 * place there replaces *sample; else this one. */
mgk_store_reader *mgk_reader_of(mgk_store_reader *reader, int32_t *sample);

#endif
