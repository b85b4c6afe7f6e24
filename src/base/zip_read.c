/* Entries are read: from their place, from a stream that inflates them, or as they were kept. */
#include <string.h>

#include "base/memory.h"
#include "base/zip_private.h"

enum { SKIP_SIZE = 1 << 16 };

void mgk_zip_close_current(mgk_zip *zip)
{
    if (zip->current)
        zip_fclose(zip->current);
    zip->current = NULL;
    zip->current_entry = NULL;
}

static mgk_status fail_read(const mgk_zip *zip, const mgk_zip_entry *entry, const char *reason)
{
    return mgk_fail(STATUS_FORMAT, "%s: entry \"%.200s\" is damaged: %s", zip->path, entry->name,
                    reason);
}

/* Exactly `count` bytes from the current position. */
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

/* libzip compares the checksum when it is asked for more than there is. */
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

/* The next byte to be read is byte `first` of the entry. */
static mgk_status move_to(mgk_zip *zip, const mgk_zip_entry *entry, size_t first)
{
    if (zip->current_entry == entry && zip->position == first)
        return STATUS_OK;
    if (zip->current_entry != entry || zip->position > first) {
        mgk_zip_close_current(zip);
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

/* From its place or the stream; *zip has no stream where this fails. */
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
        mgk_zip_close_current(zip);
    return status;
}

/* Whether what lies before byte `first` would be inflated again, which is worth memory. */
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
    mgk_zip_close_current(zip);
    return STATUS_OK;
}

mgk_status mgk_zip_read(mgk_zip *zip, const mgk_zip_entry *entry, size_t first, size_t count,
                        void *bytes)
{
    if (first > entry->size || count > entry->size - first)
        return mgk_fail(STATUS_FORMAT, "%s: entry \"%.200s\" of %zu bytes is too short", zip->path,
                        entry->name, entry->size);
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
