/* SPDX-License-Identifier: MIT */
/* The HDF5 file of an attention store that is being written. */
#ifndef MGK_STORE_STORE_FILE_H
#define MGK_STORE_STORE_FILE_H

#include "store/schema/create.h"
#include "store/schema/target.h"

/* It must not move while it is open. */
typedef struct mgk_store_file {
    mgk_h5_file file;
    mgk_store_description description; /* of its pointers only the text of tokens is used */
    mgk_store_datasets datasets;
    mgk_store_real incoming; /* element type of the objects that are written at once */
} mgk_store_file;

/* Creates the file `actual`, called `path` in messages, as mgk_store_fill_file fills it. End with
 * mgk_store_file_finish or mgk_store_file_abandon. */
mgk_status mgk_store_file_create(const char *actual, const char *path,
                                 const mgk_store_description *description, mgk_store_real incoming,
                                 const mgk_store_storage *storage, mgk_store_file *out);

/* The functions of mgk_store_target; `file` is an mgk_store_file. */
mgk_status mgk_store_file_put_tokens(void *file, const mgk_store_block *block);
mgk_status mgk_store_file_put_chunk(void *file, const mgk_store_chunk *chunk);

/* Writes an object that is written at once. */
mgk_status mgk_store_file_put_whole(mgk_store_file *file, mgk_store_object object,
                                    const void *data);

/* Reserves the place of every chunk of an object: addresses [S, L, chunks], see
 * mgk_h5_reserve_chunk. */
mgk_status mgk_store_file_reserve(mgk_store_file *file, mgk_store_object object,
                                  uint64_t *addresses);

/* Closes it; STATUS_IO: some write has failed. */
mgk_status mgk_store_file_finish(mgk_store_file *file);

/* Closes it without a result; one whose file.id is negative is accepted. */
void mgk_store_file_abandon(mgk_store_file *file);

#endif
