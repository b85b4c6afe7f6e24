/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), which identifies the model in results. */
#ifndef MGK_BASE_SHA256_H
#define MGK_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define MGK_SHA256_HEX_SIZE 65 /* 64 digits and the terminator */

/*
 * The digest of a regular file in lower-case hexadecimal. Errors as mgk_file_open and
 * mgk_file_read.
 */
mgk_status mgk_sha256_file(const char *path, char hex[MGK_SHA256_HEX_SIZE]);

/* The same of all bytes except first ... first + count - 1, the place of the digest itself. */
mgk_status mgk_sha256_file_around(const char *path, size_t first, size_t count,
                                  char hex[MGK_SHA256_HEX_SIZE]);

/* The digest of bytes [count] in memory. */
mgk_status mgk_sha256_bytes(const void *bytes, size_t count, char hex[MGK_SHA256_HEX_SIZE]);

/* Whether the text is a digest in this form. */
bool mgk_sha256_is_hex(const char *text);

#endif
