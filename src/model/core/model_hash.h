/* SPDX-License-Identifier: MIT */
/*
 * The SHA-256 that identifies a model in results: of its file, or of the list of the digests of its
 * files, one per line, config.json last. Large models take long: a separate thread computes it.
 */
#ifndef MGK_MODEL_MODEL_HASH_H
#define MGK_MODEL_MODEL_HASH_H

#include "base/sha256.h"

typedef struct mgk_model_hash mgk_model_hash;

/* Starts to hash the model. Fails if its files are not found. Release with mgk_model_hash_free. */
mgk_status mgk_model_hash_begin(const char *path, mgk_model_hash **out);

/* Waits for the digest. STATUS_IO: a file cannot be read. */
mgk_status mgk_model_hash_end(mgk_model_hash *hash, char hex[MGK_SHA256_HEX_SIZE]);

void mgk_model_hash_free(mgk_model_hash *hash); /* waits for the thread; NULL is accepted */

/* mgk_model_hash_begin and mgk_model_hash_end in one call. */
mgk_status mgk_model_sha256(const char *path, char hex[MGK_SHA256_HEX_SIZE]);

/* Appends the digest of a model to a list [size], unless it is "" or in the list. */
void mgk_model_hash_list(const char *sha256, char *list, size_t size);

#endif
