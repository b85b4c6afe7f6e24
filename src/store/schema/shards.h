/* SPDX-License-Identifier: MIT */
/*
 * A store in shards: files in one folder, each a store of some of the samples, and one file that
 * joins them. In this one the objects that are written in blocks are virtual datasets of HDF5 1.10:
 * samples first to first + count - 1 of "attention" are the whole "attention" of the shard, which
 * is named relative to the folder. The rest of it is like any store. Where a shard is missing,
 * other software reads NaN.
 */
#ifndef MGK_STORE_SHARDS_H
#define MGK_STORE_SHARDS_H

#include "store/schema/create.h"

/* Lets the new file have virtual datasets, which HDF5 1.8 cannot read. */
mgk_status mgk_shards_allow(const mgk_h5_file *file);

/* Makes `properties` those of an object whose values are in the shards of the storage. */
mgk_status mgk_shards_set(const mgk_h5_file *file, const mgk_store_description *description,
                          mgk_store_object object, const mgk_store_storage *storage,
                          hid_t properties);

#endif
