/* SPDX-License-Identifier: MIT */
/* The digest that a safetensors file holds of itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "model/containers/safetensors.h"
#include "model/containers/safetensors_private.h"

enum {
    DIGITS = MGK_SHA256_HEX_SIZE - 1,
    BEGINNING = 1 << 20 /* bytes that are searched for the digest */
};

/* Finds the digest in the first bytes of a file: between "key":" and a quote. */
static bool find_digits(const char *bytes, size_t size, const char *key, size_t *at)
{
    char mark[128];
    int length = snprintf(mark, sizeof(mark), "\"%s\":\"", key);
    const char *found = memmem(bytes, size, mark, (size_t)length);
    if (!found)
        return false;
    *at = (size_t)(found - bytes) + (size_t)length;
    return size - *at > DIGITS && bytes[*at + DIGITS] == '"';
}

static mgk_status put_digits(const char *path, const char hex[MGK_SHA256_HEX_SIZE], size_t at)
{
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return mgk_fail(STATUS_IO, "%s", strerror(errno));
    errno = EIO; /* which a write of fewer bytes leaves as it is */
    int reason = pwrite(descriptor, hex, DIGITS, (off_t)at) == DIGITS ? 0 : errno;
    if (close(descriptor) != 0 && reason == 0)
        reason = errno;
    return reason == 0 ? STATUS_OK : mgk_fail(STATUS_IO, "%s", strerror(reason));
}

mgk_status mgk_safetensors_seal(const char *path, const char *header, size_t size, const char *key)
{
    char hex[MGK_SHA256_HEX_SIZE];
    size_t at;
    if (!find_digits(header, size < BEGINNING ? size : BEGINNING, key, &at))
        return mgk_fail(STATUS_FORMAT, "no place for \"%s\" in the header", key);
    TRY(mgk_sha256_file_around(path, at, DIGITS, hex));
    return put_digits(path, hex, at);
}

static mgk_status check(const mgk_file *file, char *bytes, size_t size, const char *key,
                        bool *sealed)
{
    size_t at;
    char hex[MGK_SHA256_HEX_SIZE];
    TRY(mgk_file_read(file, 0, size, bytes));
    *sealed = find_digits(bytes, size, key, &at);
    if (!*sealed)
        return STATUS_OK;
    TRY(mgk_sha256_file_around(file->path, at, DIGITS, hex));
    if (memcmp(hex, bytes + at, DIGITS) == 0)
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "%s: damaged: it is not what was saved, by its checksum",
                    file->path);
}

mgk_status mgk_safetensors_check_seal(const char *path, const char *key, bool *sealed)
{
    mgk_file file;
    char *bytes;
    *sealed = false;
    TRY(mgk_file_open(path, &file));
    const size_t size = file.size < BEGINNING ? file.size : BEGINNING;
    mgk_status status = mgk_alloc(size, 1, &bytes);
    if (status == STATUS_OK && size > 0)
        status = check(&file, bytes, size, key, sealed);
    mgk_free(bytes);
    mgk_file_close(&file);
    return status;
}
