/* A description: a tree of names and values, printed as JSON or as lines for people. */
#ifndef MGK_DESCRIBE_H
#define MGK_DESCRIBE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/status.h"
#include "mgk.h"

/* Adds an item to an object, which takes it even on failure; NULL is lack of memory. */
mgk_status mgk_describe_add(cJSON *object, const char *name, cJSON *item);

/* Adds an item to an array in the same way. */
mgk_status mgk_describe_append(cJSON *array, cJSON *item);

/* Adds the description of a model, or of any HDF5 or NumPy file, to `tree`. */
mgk_status mgk_describe_model(const char *path, const mgk_job *job, cJSON *tree);
mgk_status mgk_describe_arrays(const char *path, cJSON *tree);

/* Adds the description of rank results in CSV or JSON. STATUS_FORMAT: they are none, and
 * nothing is added. */
mgk_status mgk_describe_ranks(const char *path, cJSON *tree);

/* The same of rank results in HDF5, and their arrays, which are all that is told of a bad table. */
mgk_status mgk_describe_rank_arrays(const char *path, cJSON *tree);

/*
 * Adds the description of a file or folder of tensors, whatever its container: as a model where it
 * is one, else why it is none; and the contents of the container.
 */
mgk_status mgk_describe_checkpoint(const char *path, const mgk_job *job, cJSON *tree);

/*
 * Adds the description of any file that is neither arrays nor ranks: tensors, as above, a training
 * log, a PNG picture or text. STATUS_FORMAT: none of these, or what a failed download left.
 */
mgk_status mgk_describe_other(const char *path, const mgk_job *job, cJSON *tree);

/* Adds what computes here: the processor, its kernels, memory, devices. */
mgk_status mgk_describe_host(cJSON *tree);

/* The tree as indented lines "name  value"; *text is released with mgk_free. */
mgk_status mgk_describe_text(const cJSON *tree, char **text);

/* The tree as JSON, or as those lines; in UTF-8 whatever its texts are. */
mgk_status mgk_describe_print(const cJSON *tree, bool json, char **text);

#endif
