/*
 * ZIP archives that others made, read with libzip. What an archive says of itself is checked
 * before it is believed, so that no archive can ask for much more memory or time than its own size
 * (deflate multiplies by at most 1032).
 */
#ifndef MGK_BASE_ZIP_H
#define MGK_BASE_ZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct mgk_zip_entry {
    const char *name; /* UTF-8, owned by the archive; any text but a zero byte */
    size_t size;      /* bytes when read, at most 1032 times what the archive holds for them */
    bool deflated;    /* otherwise any place in it is read at once */
} mgk_zip_entry;

/* An open archive. To be used by one thread at a time. */
typedef struct mgk_zip mgk_zip;

/* Whether a file that begins with these bytes may be an archive. */
bool mgk_is_zip(const unsigned char *bytes, size_t size);

/*
 * Opens an archive and checks its directory; released with mgk_zip_close. Messages name the file
 * and the entry. STATUS_IO: the file cannot be read; STATUS_FORMAT: no archive, damaged, a name
 * that stands twice, entries that overlap, sizes that no compression gives, more than 2^18
 * entries; STATUS_UNSUPPORTED: encryption, or a compression other than deflate.
 */
mgk_status mgk_zip_open(const char *path, mgk_zip **out);
void mgk_zip_close(mgk_zip *zip); /* NULL is accepted */

/* The number of entries, folders included, and entry `index` in the order of the directory. */
size_t mgk_zip_count(const mgk_zip *zip);
const mgk_zip_entry *mgk_zip_at(const mgk_zip *zip, size_t index);

/* The entry of this name; NULL where there is none. Not linear. */
const mgk_zip_entry *mgk_zip_find(const mgk_zip *zip, const char *name);

/*
 * Bytes first ... first + count - 1 of an entry into `bytes`. What is stored is read from its
 * place; what is deflated is inflated from the last position on, or anew to go back: to spare that,
 * entries are then kept, 2^27 bytes of them. STATUS_FORMAT: the range leaves the entry, or the
 * entry is damaged: a wrong checksum is found where the entry is read from its beginning to its
 * end. STATUS_UNSUPPORTED: so often out of order that far more would be inflated than the archive
 * holds.
 */
mgk_status mgk_zip_read(mgk_zip *zip, const mgk_zip_entry *entry, size_t first, size_t count,
                        void *bytes);

/*
 * A whole entry, released with mgk_free: [entry->size], and a zero behind. STATUS_FORMAT: it is
 * damaged, or larger than `limit` bytes.
 */
mgk_status mgk_zip_read_all(mgk_zip *zip, const mgk_zip_entry *entry, size_t limit,
                            unsigned char **bytes);

#endif
