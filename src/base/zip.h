/* SPDX-License-Identifier: MIT */
/*
 * Untrusted ZIP archives, read with libzip. All claims of an archive are checked, so that no
 * archive can request much more memory or time than its own size (deflate expands by at most 1032).
 */
#ifndef MGK_BASE_ZIP_H
#define MGK_BASE_ZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct mgk_zip_entry {
    const char *name; /* UTF-8, owned by the archive; any text without zero bytes */
    size_t size;      /* uncompressed bytes, at most 1032 times the compressed ones */
    bool deflated;    /* otherwise reads at any offset are immediate */
} mgk_zip_entry;

/* An open archive, for one thread at a time. */
typedef struct mgk_zip mgk_zip;

/* Whether a file that begins with these bytes may be an archive. */
bool mgk_is_zip(const unsigned char *bytes, size_t size);

/*
 * Opens an archive and checks its directory; release with mgk_zip_close. Messages name the file and
 * the entry. STATUS_IO: the file cannot be read; STATUS_FORMAT: not an archive, damaged, a repeated
 * name, overlapping entries, impossible compression ratios, more than 2^18 entries;
 * STATUS_UNSUPPORTED: encryption, or a compression other than deflate.
 */
mgk_status mgk_zip_open(const char *path, mgk_zip **out);
void mgk_zip_close(mgk_zip *zip); /* NULL is accepted */

/* The number of entries, folders included, and entry `index` in the order of the directory. */
size_t mgk_zip_count(const mgk_zip *zip);
const mgk_zip_entry *mgk_zip_at(const mgk_zip *zip, size_t index);

/* The entry of this name, without a linear search; NULL if there is none. */
const mgk_zip_entry *mgk_zip_find(const mgk_zip *zip, const char *name);

/*
 * Reads bytes first ... first + count - 1 of an entry to `bytes`. Stored entries are read directly.
 * Deflated entries are inflated from the last position on, or from the start to go back; to avoid
 * that, inflated entries are then kept, up to 2^27 bytes. STATUS_FORMAT: out of range, or the entry
 * is damaged; a wrong checksum is found when the entry is read from start to end.
 * STATUS_UNSUPPORTED: the order of reads would inflate far more than the archive holds.
 */
mgk_status mgk_zip_read(mgk_zip *zip, const mgk_zip_entry *entry, size_t first, size_t count,
                        void *bytes);

/*
 * Reads a whole entry, released with mgk_free: [entry->size], followed by a zero. STATUS_FORMAT: it
 * is damaged, or larger than `limit` bytes.
 */
mgk_status mgk_zip_read_all(mgk_zip *zip, const mgk_zip_entry *entry, size_t limit,
                            unsigned char **bytes);

#endif
