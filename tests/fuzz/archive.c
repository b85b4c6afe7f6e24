/* SPDX-License-Identifier: MIT */
#include "fuzz/archive.h"

#include <stdlib.h>
#include <zip.h>

#include "base/zip.h"
#include "fuzz/fuzz.h"

static void add(zip_t *archive, const char *name, const void *bytes, size_t size)
{
    zip_source_t *source = zip_source_buffer(archive, bytes, size, 0);
    zip_int64_t index = source ? zip_file_add(archive, name, source, 0) : -1;
    if (index < 0 || zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0)
        abort();
}

/* The archive as bytes [*size] in a buffer of libzip. */
static zip_source_t *wrap(const uint8_t *bytes, size_t size)
{
    static const float storage[] = {1, 2, 3, 4, 5, 6, 7, 8};
    zip_error_t error;
    zip_source_t *buffer = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_t *archive =
        buffer ? zip_open_from_source(buffer, ZIP_CREATE | ZIP_TRUNCATE, &error) : NULL;
    if (!archive)
        abort();
    zip_source_keep(buffer);
    add(archive, "a/data.pkl", bytes, size);
    add(archive, "a/data/0", storage, sizeof(storage));
    add(archive, "a/data/1", storage, sizeof(storage) / 2);
    if (zip_close(archive) != 0)
        abort();
    return buffer;
}

static int open_wrapped(const uint8_t *bytes, size_t size, char path[FUZZ_PATH])
{
    static uint8_t archive[1 << 20];
    zip_source_t *buffer = wrap(bytes, size);
    if (zip_source_open(buffer) != 0)
        abort();
    zip_int64_t length = zip_source_read(buffer, archive, sizeof(archive));
    if (length < 0)
        abort();
    zip_source_close(buffer);
    zip_source_free(buffer);
    return fuzz_file_open(archive, (size_t)length, path);
}

int fuzz_archive_open(const uint8_t *bytes, size_t size, char path[FUZZ_PATH])
{
    return mgk_is_zip(bytes, size) ? fuzz_file_open(bytes, size, path)
                                   : open_wrapped(bytes, size, path);
}
