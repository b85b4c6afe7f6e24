/* SPDX-License-Identifier: MIT */
/* Shared by the reader and the writer of safetensors. */
#ifndef MGK_MODEL_SAFETENSORS_PRIVATE_H
#define MGK_MODEL_SAFETENSORS_PRIVATE_H

#include <stddef.h>

#include "base/status.h"
#include "model/containers/tensor_dtype.h"

#define MGK_SAFETENSORS_METADATA "__metadata__"
#define MGK_SAFETENSORS_MAX_HEADER 100000000

/*
 * STATUS_FORMAT if a tensor's name is reserved, or contains characters that would break a message's
 * single line.
 */
mgk_status mgk_safetensors_check_name(const char *name);

/*
 * Computes the elements and bytes of a tensor of this shape. STATUS_FORMAT: they do not fit size_t.
 */
mgk_status mgk_safetensors_measure(const char *name, mgk_dtype dtype, int axes, const size_t *shape,
                                   size_t *count, size_t *bytes);

/*
 * Writes the digest of the file to its place under `key` in the header [size], which includes the
 * length; see mgk_metadata. Messages do not name the file.
 */
mgk_status mgk_safetensors_seal(const char *path, const char *header, size_t size, const char *key);

#endif
