/* SHA-256 (FIPS 180-4), by which results name the model they come from. */
#ifndef MGK_BASE_SHA256_H
#define MGK_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define MGK_SHA256_HEX_SIZE 65 /* 64 digits and the terminator */

/* The digest of a regular file in lower-case hexadecimal. Fails as mgk_file_open and mgk_file_read
 * do. */
mgk_status mgk_sha256_file(const char *path, char hex[MGK_SHA256_HEX_SIZE]);

/* The same of all bytes but first ... first + count - 1, where the digest itself may stand. */
mgk_status mgk_sha256_file_around(const char *path, size_t first, size_t count,
                                  char hex[MGK_SHA256_HEX_SIZE]);

/* The digest of bytes [count] in memory. */
mgk_status mgk_sha256_bytes(const void *bytes, size_t count, char hex[MGK_SHA256_HEX_SIZE]);

/* Whether the text is such a digest. */
bool mgk_sha256_is_hex(const char *text);

#endif
