/* SPDX-License-Identifier: MIT */
#include "base/numpy.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/zip.h"

struct mgk_numpy {
    char *path;
    mgk_file file;       /* a .npy file, */
    mgk_mapping mapping; /* which is mapped for mgk_numpy_map alone, */
    mgk_zip *zip;        /* or an archive */
    size_t count;
    mgk_numpy_array *arrays;       /* [count] */
    const mgk_zip_entry **entries; /* [count]; NULL without an archive */
};

static const char ending[] = ".npy";

enum { LOCAL_HEADER = 30, NAME_SIZE = 26 }; /* of a ZIP entry: size, offset of the name's length */

/* The length of the array's name within an entry's name; 0 if the entry is not an array. */
static size_t name_length(const char *entry, size_t length)
{
    const size_t tail = sizeof(ending) - 1;
    bool array = length > tail && memcmp(entry + length - tail, ending, tail) == 0;
    return array ? length - tail : 0;
}

bool mgk_is_numpy(const unsigned char *bytes, size_t size)
{
    if (mgk_is_npy(bytes, size))
        return true;
    if (!mgk_is_zip(bytes, size) || size < LOCAL_HEADER)
        return false;
    size_t length = bytes[NAME_SIZE] | (size_t)bytes[NAME_SIZE + 1] << 8;
    return length <= size - LOCAL_HEADER &&
           name_length((const char *)bytes + LOCAL_HEADER, length) > 0;
}

mgk_status mgk_recognise_numpy(const char *path, bool *out)
{
    unsigned char start[LOCAL_HEADER + UINT16_MAX]; /* + the longest name of an entry */
    mgk_file file;
    TRY(mgk_file_open(path, &file));
    size_t size = file.size < sizeof(start) ? file.size : sizeof(start);
    mgk_status status = mgk_file_read(&file, 0, size, start);
    *out = status == STATUS_OK && mgk_is_numpy(start, size);
    mgk_file_close(&file);
    return status;
}

static mgk_status open_single(mgk_numpy *file)
{
    unsigned char start[MGK_NPY_START];
    const size_t size = file->file.size, available = size < sizeof(start) ? size : sizeof(start);
    TRY(mgk_alloc(1, sizeof(*file->arrays), &file->arrays));
    file->count = 1;
    TRY(mgk_copy_string("", &file->arrays[0].name));
    TRY(mgk_file_read(&file->file, 0, available, start));
    mgk_status status = mgk_npy_parse(start, available, size, &file->arrays[0].header);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, file->path);
}

static mgk_status read_header(mgk_numpy *file, const mgk_zip_entry *entry, mgk_numpy_array *out)
{
    unsigned char start[MGK_NPY_START];
    size_t length = name_length(entry->name, strlen(entry->name));
    size_t available = entry->size < sizeof(start) ? entry->size : sizeof(start);
    TRY(mgk_zip_read(file->zip, entry, 0, available, start));
    mgk_status status = mgk_npy_parse(start, available, entry->size, &out->header);
    if (status != STATUS_OK)
        return mgk_fail(status, "%s: \"%.200s\": %s", file->path, entry->name, mgk_fail_message());
    TRY(mgk_alloc(length + 1, 1, &out->name));
    memcpy(out->name, entry->name, length);
    return STATUS_OK;
}

static mgk_status open_archive(mgk_numpy *file)
{
    TRY(mgk_zip_open(file->path, &file->zip));
    size_t entries = mgk_zip_count(file->zip);
    TRY(mgk_alloc(entries, sizeof(*file->arrays), &file->arrays));
    TRY(mgk_alloc(entries, sizeof(const mgk_zip_entry *), &file->entries));
    for (size_t i = 0; i < entries; i++) {
        const mgk_zip_entry *entry = mgk_zip_at(file->zip, i);
        if (name_length(entry->name, strlen(entry->name)) == 0)
            continue;
        file->entries[file->count] = entry;
        TRY(read_header(file, entry, &file->arrays[file->count]));
        file->count++;
    }
    return STATUS_OK;
}

mgk_status mgk_numpy_open(const char *path, mgk_numpy **out)
{
    mgk_status status;
    unsigned char begin[4]; /* of an archive */
    mgk_numpy *file;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*file), &file));
    CHECK(mgk_copy_string(path, &file->path));
    CHECK(mgk_file_open(path, &file->file));
    const size_t size = file->file.size < sizeof(begin) ? file->file.size : sizeof(begin);
    CHECK(mgk_file_read(&file->file, 0, size, begin));
    CHECK(mgk_is_zip(begin, size) ? open_archive(file) : open_single(file));
    *out = file;
out:
    if (status != STATUS_OK)
        mgk_numpy_close(file);
    return status;
}

void mgk_numpy_close(mgk_numpy *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->count; i++)
        mgk_free(file->arrays[i].name);
    mgk_free(file->entries);
    mgk_free(file->arrays);
    mgk_zip_close(file->zip);
    mgk_unmap_file(&file->mapping);
    mgk_file_close(&file->file);
    mgk_free(file->path);
    mgk_free(file);
}

size_t mgk_numpy_count(const mgk_numpy *file)
{
    return file->count;
}

const mgk_numpy_array *mgk_numpy_at(const mgk_numpy *file, size_t index)
{
    return &file->arrays[index];
}

mgk_status mgk_numpy_map(mgk_numpy *file, size_t index, const unsigned char **out)
{
    unsigned char last;
    if (file->zip)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: an archive, whose arrays cannot be mapped",
                        file->path);
    if (!file->mapping.data)
        TRY(mgk_map_file(file->path, &file->mapping));
    if (file->mapping.size != file->file.size)
        return mgk_fail(STATUS_IO, "%s: was replaced while it was read", file->path);
    TRY(mgk_file_read(&file->file, file->file.size - 1, 1, &last));
    *out = file->mapping.data + file->arrays[index].header.start;
    return STATUS_OK;
}

mgk_status mgk_numpy_read(mgk_numpy *file, size_t index, size_t first, size_t count, void *out)
{
    const mgk_npy *header = &file->arrays[index].header;
    size_t size = header->count * header->element_size;
    if (first > size || count > size - first)
        return mgk_fail(STATUS_FORMAT, "%s: bytes %zu to %zu of an array of %zu", file->path, first,
                        first + count, size);
    if (file->zip)
        return mgk_zip_read(file->zip, file->entries[index], header->start + first, count, out);
    return mgk_file_read(&file->file, header->start + first, count, out);
}
