/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

enum { PIECE = 1 << 16 }; /* bytes read at a time */

/* OpenSSL has no SHA-256, or could not compute it. */
static mgk_status fail_digest(void)
{
    return mgk_fail(STATUS_UNSUPPORTED, "this system's OpenSSL has no SHA-256");
}

/* The digits of a finished digest. */
static mgk_status finish(EVP_MD_CTX *context, char hex[MGK_SHA256_HEX_SIZE])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    if (EVP_DigestFinal_ex(context, bytes, NULL) != 1)
        return fail_digest();
    for (size_t i = 0; i < MGK_SHA256_HEX_SIZE / 2; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    return STATUS_OK;
}

static mgk_status begin(EVP_MD_CTX **out)
{
    *out = EVP_MD_CTX_new();
    return *out && EVP_DigestInit_ex(*out, EVP_sha256(), NULL) == 1 ? STATUS_OK : fail_digest();
}

static mgk_status add(const void *bytes, size_t count, EVP_MD_CTX *context)
{
    return EVP_DigestUpdate(context, bytes, count) == 1 ? STATUS_OK : fail_digest();
}

/* Adds bytes first ... end - 1 of the file. */
static mgk_status add_range(const mgk_file *file, size_t first, size_t end, unsigned char *piece,
                            EVP_MD_CTX *context)
{
    for (size_t count; first < end; first += count) {
        count = end - first < PIECE ? end - first : PIECE;
        TRY(mgk_file_read(file, first, count, piece));
        TRY(add(piece, count, context));
    }
    return STATUS_OK;
}

static mgk_status digest(const mgk_file *file, size_t hole, size_t behind, unsigned char *piece,
                         char hex[MGK_SHA256_HEX_SIZE])
{
    EVP_MD_CTX *context;
    mgk_status status = begin(&context);
    if (status == STATUS_OK)
        status = add_range(file, 0, hole, piece, context);
    if (status == STATUS_OK)
        status = add_range(file, behind, file->size, piece, context);
    if (status == STATUS_OK)
        status = finish(context, hex);
    EVP_MD_CTX_free(context);
    return status;
}

mgk_status mgk_sha256_file_around(const char *path, size_t first, size_t count,
                                  char hex[MGK_SHA256_HEX_SIZE])
{
    mgk_file file;
    unsigned char *piece;
    TRY(mgk_file_open(path, &file));
    mgk_status status = mgk_alloc(PIECE, 1, &piece);
    if (status == STATUS_OK)
        status = digest(&file, first, first + count, piece, hex);
    mgk_free(piece);
    mgk_file_close(&file);
    return status;
}

mgk_status mgk_sha256_file(const char *path, char hex[MGK_SHA256_HEX_SIZE])
{
    return mgk_sha256_file_around(path, 0, 0, hex);
}

mgk_status mgk_sha256_bytes(const void *bytes, size_t count, char hex[MGK_SHA256_HEX_SIZE])
{
    EVP_MD_CTX *context;
    mgk_status status = begin(&context);
    if (status == STATUS_OK)
        status = add(bytes, count, context);
    if (status == STATUS_OK)
        status = finish(context, hex);
    EVP_MD_CTX_free(context);
    return status;
}

bool mgk_sha256_is_hex(const char *text)
{
    return strlen(text) == MGK_SHA256_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == MGK_SHA256_HEX_SIZE - 1;
}
