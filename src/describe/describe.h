/* SPDX-License-Identifier: MIT */
/* A description: a tree of names and values, printed as JSON or as lines for people. */
#ifndef MGK_DESCRIBE_H
#define MGK_DESCRIBE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/status.h"
#include "mgk.h"

/* Adds an item to an object, which owns it even on failure; an item NULL means lack of memory. */
mgk_status mgk_describe_add(cJSON *object, const char *name, cJSON *item);

/* Adds an item to an array in the same way. */
mgk_status mgk_describe_append(cJSON *array, cJSON *item);

/* Adds the description of a model, or of any HDF5 or NumPy file, to `tree`. */
mgk_status mgk_describe_model(const char *path, const mgk_job *job, cJSON *tree);
mgk_status mgk_describe_arrays(const char *path, cJSON *tree);

/* Adds "shards", the files of a store in shards and whether they are there, and "missing_shards" if
 * one is not. Of another store, or a damaged one, it adds nothing. */
mgk_status mgk_describe_shards(const char *path, cJSON *tree);

/* Adds the description of rank results in CSV or JSON. STATUS_FORMAT: not rank results; nothing is
 * added. */
mgk_status mgk_describe_ranks(const char *path, cJSON *tree);

/* The same for rank results in HDF5, with their arrays; a malformed table is described by its
 * arrays only. */
mgk_status mgk_describe_rank_arrays(const char *path, cJSON *tree);

/* Adds the description of measures of diversity in any format: inputs, measures and their ranges.
 */
mgk_status mgk_describe_diversity(const char *path, cJSON *tree);

/* Adds the description of a file or folder of tensors in any container: the model, or why it is not
 * one, and the contents of the container. */
mgk_status mgk_describe_checkpoint(const char *path, const mgk_job *job, cJSON *tree);

/*
 * Adds the description of any file that is neither arrays nor ranks: tensors, as above, a training
 * log, a PNG picture or text. STATUS_FORMAT: none of these, or an incomplete download.
 */
mgk_status mgk_describe_other(const char *path, const mgk_job *job, cJSON *tree);

/* Adds the machine: processor, kernels, memory, devices. */
mgk_status mgk_describe_host(cJSON *tree);

/* Formats the tree as JSON or as indented lines "name  value", always valid UTF-8; release *text
 * with mgk_free. */
mgk_status mgk_describe_print(const cJSON *tree, bool json, char **text);

#endif
