/* SPDX-License-Identifier: MIT */
/*
 * safetensors, the toolkit's own model format (https://github.com/huggingface/safetensors):
 *
 *   8 bytes   header length n, little-endian; at most 100,000,000
 *   n bytes   JSON object: name -> {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]},
 *             and optionally "__metadata__" -> {key: string}; padded with spaces
 *   the rest  the tensors, row-major, little-endian; offsets count from here, and the tensors cover
 *             it without overlaps and gaps
 */
#ifndef MGK_MODEL_SAFETENSORS_H
#define MGK_MODEL_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "model/containers/tensor_dtype.h"
#include "model/containers/tensors.h"

/* An open file. */
typedef struct mgk_safetensors mgk_safetensors;

/*
 * Opens a file and checks sizes, types, names and the layout of the data, but not values.
 * STATUS_FORMAT and STATUS_UNSUPPORTED (types such as F8, more than MGK_MAX_AXES axes) name the
 * file and the tensor. Release with mgk_safetensors_close.
 */
mgk_status mgk_safetensors_open(const char *path, mgk_safetensors **out);
void mgk_safetensors_close(mgk_safetensors *file); /* NULL is accepted */

/* The number of tensors, and tensor `index` in the order of their data. */
size_t mgk_safetensors_count(const mgk_safetensors *file);
const mgk_tensor_info *mgk_safetensors_at(const mgk_safetensors *file, size_t index);

/*
 * A metadata entry. When writing, one value may be NULL: it becomes the SHA-256 of all other bytes
 * of the file.
 */
typedef struct mgk_metadata {
    const char *key, *value;
} mgk_metadata;

/*
 * Whether the first MiB of the file has the SHA-256 of its other bytes under `key`. STATUS_FORMAT:
 * it has one that is wrong.
 */
mgk_status mgk_safetensors_check_seal(const char *path, const char *key, bool *sealed);

/* All metadata [*count], owned by the file. */
const mgk_metadata *mgk_safetensors_all_metadata(const mgk_safetensors *file, size_t *count);

/*
 * Copies bytes first ... first + count - 1 of a tensor's elements to `bytes`. STATUS_FORMAT: out of
 * range, or the file has become shorter.
 */
mgk_status mgk_safetensors_read_bytes(const mgk_safetensors *file, const mgk_tensor_info *tensor,
                                      size_t first, size_t count, void *bytes);

/* A tensor to be written; owns nothing. */
typedef struct mgk_tensor_view {
    const char *name;
    mgk_dtype storage; /* a real type */
    int axes;
    size_t shape[MGK_MAX_AXES];
    mgk_dtype source; /* MGK_DTYPE_F32 or MGK_DTYPE_F64 */
    const void *data; /* float or double, the product of the shape */
} mgk_tensor_view;

/*
 * Writes the tensors in the given order; equal input gives equal bytes. The file is written
 * completely or not at all; see base/file.h for `force`. STATUS_NUMERIC: a value is not finite or
 * does not fit its storage type; STATUS_FORMAT: a name that mgk_safetensors_open would reject.
 */
mgk_status mgk_safetensors_write(const char *path, bool force, const mgk_tensor_view *tensors,
                                 size_t count, const mgk_metadata *metadata, size_t metadata_count);

#endif
