/* SPDX-License-Identifier: MIT */
/*
 * The files of the shards of a store, beside it: "b.shard-0.h5", "b.shard-1.h5", … of "b.h5". Where
 * these names are taken, by the store that is replaced, new shards are a set of their own:
 * "b.shard-0.1.h5", and so on. So the old store stays whole until the new "b.h5" takes its name.
 * Who calls these functions holds the lock of the store.
 */
#ifndef MGK_STORE_SHARD_FILES_H
#define MGK_STORE_SHARD_FILES_H

#include <stdbool.h>

#include "base/output_lock.h"
#include "base/status.h"

/* The path of a shard; release with mgk_free. */
mgk_status mgk_shard_path(const char *store, int set, int number, char **out);

/* The first set of which there is no file. STATUS_EXISTS without `force` if there are shards of any
 * set; STATUS_IO: the folder cannot be read. */
mgk_status mgk_shards_choose(const char *store, bool force, int *set);

/* Removes a file in the folder of the store if it has the name of one of its shards, of another set
 * than this one; −1: of any set. What cannot be removed stays. */
void mgk_shard_remove_other(const char *store, const char *path, int set);

/* Removes what killed runs have left of shards, as mgk_output_clean. */
mgk_status mgk_shards_clean(const char *store, mgk_output_tell tell, void *context);

#endif
