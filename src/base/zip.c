/* SPDX-License-Identifier: MIT */
#include "base/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/memory.h"
#include "base/number.h"

/* An open archive. */
struct mgk_zip {
    char *path;
    zip_t *archive;
    size_t count;
    mgk_zip_entry *entries; /* [count] */
    unsigned char **kept;   /* [count], NULL or the whole inflated entry */
    size_t keepable;        /* bytes that may still be kept */
    size_t skippable;       /* bytes that may still be skipped */
    /* The entry of the last read, and the position in it. */
    zip_file_t *current;
    const mgk_zip_entry *current_entry;
    size_t position;
};

enum {
    MAX_ENTRIES = 1 << 18,
    MAX_RATIO = 1032,  /* of deflate: 258 bytes from two bits */
    MAX_KEPT = 1 << 27 /* bytes of all kept entries */
};

/* Bytes that may be inflated only to skip them: a constant plus a multiple of the file's size. */
static const size_t MAX_SKIPPED = (size_t)1 << 29, MAX_SKIPPED_RATIO = 128;

bool mgk_is_zip(const unsigned char *bytes, size_t size)
{
    return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* libzip's message, except if it finds no directory at the end. */
static mgk_status fail_open(const char *path, int code)
{
    if (code == ZIP_ER_NOZIP)
        return mgk_fail(STATUS_FORMAT, "%s: a ZIP archive that is cut short or damaged", path);
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    mgk_status status = mgk_fail(code == ZIP_ER_MEMORY ? STATUS_MEMORY : STATUS_FORMAT,
                                 "%s: as a ZIP archive: %s", path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
}

/* Opens a regular file; opening a pipe must not wait. */
static mgk_status open_archive(const char *path, zip_t **archive, size_t *size)
{
    struct stat info;
    int code = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(descriptor);
        return mgk_fail(STATUS_IO, "%s: not a regular file", path);
    }
    *size = (size_t)info.st_size;
    *archive = zip_fdopen(descriptor, 0, &code);
    if (*archive)
        return STATUS_OK; /* it has closed the descriptor */
    close(descriptor);
    return fail_open(path, code);
}

static mgk_status read_entry(const mgk_zip *zip, size_t index, size_t *stored, mgk_zip_entry *entry)
{
    enum { NEEDED = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD };
    zip_stat_t info;
    if (zip_stat_index(zip->archive, index, 0, &info) != 0 || (info.valid & NEEDED) != NEEDED)
        return mgk_fail(STATUS_FORMAT, "%s: entry %zu has no name or size", zip->path, index);
    if ((info.valid & ZIP_STAT_ENCRYPTION_METHOD) && info.encryption_method != ZIP_EM_NONE)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: entry \"%.200s\" is encrypted", zip->path,
                        info.name);
    if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: entry \"%.200s\" is compressed by method %d, expected deflate or none",
                        zip->path, info.name, info.comp_method);
    if (zip_name_locate(zip->archive, info.name, 0) != (zip_int64_t)index)
        return mgk_fail(STATUS_FORMAT, "%s: entry \"%.200s\" stands twice", zip->path, info.name);
    bool possible = info.comp_method == ZIP_CM_STORE ? info.size == info.comp_size
                                                     : info.size / MAX_RATIO <= info.comp_size;
    if (!possible)
        return mgk_fail(STATUS_FORMAT,
                        "%s: entry \"%.200s\" claims to hold %llu bytes in %llu, which cannot be",
                        zip->path, info.name, (unsigned long long)info.size,
                        (unsigned long long)info.comp_size);
    *entry = (mgk_zip_entry){
        .name = info.name, .size = info.size, .deflated = info.comp_method == ZIP_CM_DEFLATE};
    *stored = info.comp_size;
    return STATUS_OK;
}

/* Rejects entries that share bytes: together they could be many times larger than the file. */
static mgk_status read_directory(mgk_zip *zip, size_t file_size)
{
    size_t stored = 0, left = file_size;
    zip->keepable = MAX_KEPT;
    zip->skippable = MAX_SKIPPED + MAX_SKIPPED_RATIO * file_size;
    zip_int64_t count = zip_get_num_entries(zip->archive, 0);
    if (count < 0 || count > MAX_ENTRIES)
        return mgk_fail(STATUS_FORMAT, "%s: %lld entries, expected at most %d", zip->path,
                        (long long)count, MAX_ENTRIES);
    zip->count = (size_t)count;
    TRY(mgk_alloc(zip->count, sizeof(*zip->entries), &zip->entries));
    TRY(mgk_alloc(zip->count, sizeof(*zip->kept), &zip->kept));
    for (size_t i = 0; i < zip->count; i++) {
        TRY(read_entry(zip, i, &stored, &zip->entries[i]));
        if (stored > left)
            return mgk_fail(STATUS_FORMAT, "%s: entries overlap: together they exceed the file",
                            zip->path);
        left -= stored;
        zip->skippable += zip->entries[i].size;
    }
    return STATUS_OK;
}

mgk_status mgk_zip_open(const char *path, mgk_zip **out)
{
    mgk_status status;
    mgk_zip *zip = NULL;
    size_t size = 0;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*zip), &zip));
    CHECK(mgk_copy_string(path, &zip->path));
    CHECK(open_archive(path, &zip->archive, &size));
    CHECK(read_directory(zip, size));
out:
    if (status == STATUS_OK)
        *out = zip;
    else
        mgk_zip_close(zip);
    return status;
}

static void close_current(mgk_zip *zip)
{
    if (zip->current)
        zip_fclose(zip->current);
    zip->current = NULL;
    zip->current_entry = NULL;
}

void mgk_zip_close(mgk_zip *zip)
{
    if (!zip)
        return;
    close_current(zip);
    if (zip->archive)
        zip_discard(zip->archive);
    for (size_t i = 0; zip->kept && i < zip->count; i++)
        mgk_free(zip->kept[i]);
    mgk_free(zip->kept);
    mgk_free(zip->entries);
    mgk_free(zip->path);
    mgk_free(zip);
}

size_t mgk_zip_count(const mgk_zip *zip)
{
    return zip->count;
}

const mgk_zip_entry *mgk_zip_at(const mgk_zip *zip, size_t index)
{
    return &zip->entries[index];
}

const mgk_zip_entry *mgk_zip_find(const mgk_zip *zip, const char *name)
{
    zip_int64_t index = zip_name_locate(zip->archive, name, 0);
    return index < 0 ? NULL : &zip->entries[index];
}

enum { SKIP_SIZE = 1 << 16 };

static mgk_status fail_read(const mgk_zip *zip, const mgk_zip_entry *entry, const char *reason)
{
    return mgk_fail(STATUS_FORMAT, "%s: entry \"%.200s\" is damaged: %s", zip->path, entry->name,
                    reason);
}

/* Reads exactly `count` bytes from the current position. */
static mgk_status read_on(mgk_zip *zip, size_t count, void *bytes)
{
    for (unsigned char *next = bytes; count > 0;) {
        zip_int64_t got = zip_fread(zip->current, next, count);
        if (got <= 0) {
            const char *reason =
                got == 0 ? "shorter than it claims" : zip_file_strerror(zip->current);
            return fail_read(zip, zip->current_entry, reason);
        }
        next += got;
        count -= (size_t)got;
        zip->position += (size_t)got;
    }
    return STATUS_OK;
}

/* libzip compares the checksum when it reads at the end. */
static mgk_status expect_end(mgk_zip *zip)
{
    unsigned char more;
    zip_int64_t got = zip_fread(zip->current, &more, 1);
    if (got == 0)
        return STATUS_OK;
    return fail_read(zip, zip->current_entry,
                     got > 0 ? "longer than it claims" : zip_file_strerror(zip->current));
}

static mgk_status skip(mgk_zip *zip, size_t count)
{
    unsigned char scrap[SKIP_SIZE];
    if (count > zip->skippable)
        return mgk_fail(
            STATUS_UNSUPPORTED,
            "%s: entry \"%.200s\" is compressed and read out of order, which would take "
            "too long; store it without compression",
            zip->path, zip->current_entry->name);
    zip->skippable -= count;
    while (count > 0) {
        size_t step = count < sizeof(scrap) ? count : sizeof(scrap);
        TRY(read_on(zip, step, scrap));
        count -= step;
    }
    return STATUS_OK;
}

/* Moves to byte `first` of the entry. */
static mgk_status move_to(mgk_zip *zip, const mgk_zip_entry *entry, size_t first)
{
    if (zip->current_entry == entry && zip->position == first)
        return STATUS_OK;
    if (zip->current_entry != entry || zip->position > first) {
        close_current(zip);
        zip->current = zip_fopen_index(zip->archive, (zip_uint64_t)(entry - zip->entries), 0);
        if (!zip->current)
            return fail_read(zip, entry, zip_strerror(zip->archive));
        zip->current_entry = entry;
        zip->position = 0;
    }
    if (entry->deflated)
        return skip(zip, first - zip->position);
    if (first > 0 && zip_fseek(zip->current, (zip_int64_t)first, SEEK_SET) != 0)
        return fail_read(zip, entry, zip_file_strerror(zip->current));
    zip->position = first;
    return STATUS_OK;
}

/* Reads directly or from the stream; on failure *zip has no stream. */
static mgk_status read_stream(mgk_zip *zip, const mgk_zip_entry *entry, size_t first, size_t count,
                              void *bytes)
{
    mgk_status status;
    CHECK(move_to(zip, entry, first));
    CHECK(read_on(zip, count, bytes));
    if (zip->position == entry->size)
        CHECK(expect_end(zip));
out:
    if (status != STATUS_OK)
        close_current(zip);
    return status;
}

/* Whether the bytes before `first` would be inflated again, which is worth memory. */
static bool is_worth_keeping(const mgk_zip *zip, const mgk_zip_entry *entry, size_t first)
{
    bool onwards = zip->current_entry == entry && zip->position <= first;
    return entry->deflated && !onwards && first > SKIP_SIZE && entry->size <= zip->keepable;
}

static mgk_status keep(mgk_zip *zip, const mgk_zip_entry *entry, unsigned char **kept)
{
    unsigned char *bytes;
    TRY(mgk_zip_read_all(zip, entry, entry->size, &bytes));
    *kept = bytes;
    zip->keepable -= entry->size;
    close_current(zip);
    return STATUS_OK;
}

mgk_status mgk_zip_read(mgk_zip *zip, const mgk_zip_entry *entry, size_t first, size_t count,
                        void *bytes)
{
    if (first > entry->size || count > entry->size - first)
        return mgk_fail(STATUS_FORMAT, "%s: entry \"%.200s\" of %zu %s is too short", zip->path,
                        entry->name, entry->size, MGK_NOUN(entry->size, "byte", "bytes"));
    unsigned char **kept = &zip->kept[entry - zip->entries];
    if (!*kept && is_worth_keeping(zip, entry, first))
        TRY(keep(zip, entry, kept));
    if (!*kept)
        return read_stream(zip, entry, first, count, bytes);
    if (count > 0)
        memcpy(bytes, *kept + first, count);
    return STATUS_OK;
}

mgk_status mgk_zip_read_all(mgk_zip *zip, const mgk_zip_entry *entry, size_t limit,
                            unsigned char **bytes)
{
    *bytes = NULL;
    if (entry->size > limit)
        return mgk_fail(STATUS_FORMAT, "%s: entry \"%.200s\" of %zu bytes, expected at most %zu",
                        zip->path, entry->name, entry->size, limit);
    TRY(mgk_alloc(entry->size + 1, 1, bytes));
    mgk_status status = mgk_zip_read(zip, entry, 0, entry->size, *bytes);
    if (status != STATUS_OK) {
        mgk_free(*bytes);
        *bytes = NULL;
    }
    return status;
}
