/*
 * The SHA-256 by which results name a model: of its file, or of the list of the digests of its
 * files, config.json last, a line each. Large models take a while: a thread computes it beside
 * other work.
 */
#ifndef MGK_MODEL_MODEL_HASH_H
#define MGK_MODEL_MODEL_HASH_H

#include "base/sha256.h"

typedef struct mgk_model_hash mgk_model_hash;

/* Begins to hash the model. Fails where its files are not found. Released with mgk_model_hash_free.
 */
mgk_status mgk_model_hash_begin(const char *path, mgk_model_hash **out);

/* Waits for the digest. STATUS_IO: a file cannot be read. */
mgk_status mgk_model_hash_end(mgk_model_hash *hash, char hex[MGK_SHA256_HEX_SIZE]);

void mgk_model_hash_free(mgk_model_hash *hash); /* waits, too; NULL is accepted */

/* Begin and end in one. */
mgk_status mgk_model_sha256(const char *path, char hex[MGK_SHA256_HEX_SIZE]);

/* Appends the digest of a model to a list of them, unless it is "" or there already. */
void mgk_model_hash_list(const char *sha256, char *list, size_t size);

#endif
