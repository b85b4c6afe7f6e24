/* SPDX-License-Identifier: MIT */
/* NumPy's files: an array (.npy), or named arrays in a ZIP archive (.npz). */
#ifndef MGK_BASE_NUMPY_H
#define MGK_BASE_NUMPY_H

#include "base/npy.h"

typedef struct mgk_numpy_array {
    char *name; /* "attention" for attention.npy in an archive; "" for a single array */
    mgk_npy header;
} mgk_numpy_array;

/* An open file, for one thread at a time. */
typedef struct mgk_numpy mgk_numpy;

/*
 * Whether a file that begins with these bytes is a NumPy file: an array, or an archive whose first
 * entry is an array.
 */
bool mgk_is_numpy(const unsigned char *bytes, size_t size);

/* The same for a file, by its content. STATUS_IO: it cannot be read. */
mgk_status mgk_recognise_numpy(const char *path, bool *out);

/*
 * Opens a file and reads the headers of its arrays; release with mgk_numpy_close. Ignores other
 * entries of an archive. STATUS_IO: it cannot be read; otherwise as mgk_npy_parse and mgk_zip_open,
 * with the file's name.
 */
mgk_status mgk_numpy_open(const char *path, mgk_numpy **out);
void mgk_numpy_close(mgk_numpy *file); /* NULL is accepted */

/* The arrays, in the order of the file. */
size_t mgk_numpy_count(const mgk_numpy *file);
const mgk_numpy_array *mgk_numpy_at(const mgk_numpy *file, size_t index);

/*
 * Maps the elements of a single array, for those whose reader needs them in another order than that
 * of the file; *out may be unaligned, and is valid until the file is closed. Call it anew before
 * elements are read: it notices if the file has become shorter since. STATUS_UNSUPPORTED: an
 * archive.
 */
mgk_status mgk_numpy_map(mgk_numpy *file, size_t index, const unsigned char **out);

/*
 * Reads bytes first ... first + count - 1 of an array's elements to `out`. Compressed entries are
 * inflated from the last position on. STATUS_FORMAT: out of range, or damaged, or the file has
 * become shorter.
 */
mgk_status mgk_numpy_read(mgk_numpy *file, size_t index, size_t first, size_t count, void *out);

#endif
