/* SPDX-License-Identifier: MIT */
/*
 * Files: read or mapped; written under a temporary name and renamed, so that they appear completely
 * or not at all.
 */
#ifndef MGK_BASE_FILE_H
#define MGK_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* The last component of a path, a pointer into it. */
const char *mgk_file_name(const char *path);

/* Whether it is the name of a file in a folder, not a path that may lead out of it. */
bool mgk_is_file_name(const char *name);

/* The folder of the path's last component, "." if it names none; release with mgk_free. */
mgk_status mgk_folder_of(const char *path, char **out);

/* Whether anything exists at this path, even a broken link. */
bool mgk_exists(const char *path);

/* Whether both paths refer to the same existing file. */
bool mgk_is_same_file(const char *a, const char *b);

/* Whether the path refers to a regular file. */
bool mgk_is_file(const char *path);

/* Whether the path refers to a folder. */
bool mgk_is_folder(const char *path);

/* "folder/name"; release with mgk_free. */
mgk_status mgk_join_path(const char *folder, const char *name, char **out);

/* A file mapped read-only. */
typedef struct mgk_mapping {
    const unsigned char *data; /* [size]; NULL when the file is empty */
    size_t size;
} mgk_mapping;

/*
 * Maps a regular file; release with mgk_unmap_file. STATUS_IO and STATUS_MEMORY name the path and
 * the reason.
 */
mgk_status mgk_map_file(const char *path, mgk_mapping *out);

/*
 * The same for a file that is read completely, and is never larger than `most` bytes. STATUS_FORMAT
 * if it is: a sparse file may claim terabytes.
 */
mgk_status mgk_map_limited(const char *path, size_t most, mgk_mapping *out);

/* Unmaps; a zeroed mapping is accepted. */
void mgk_unmap_file(mgk_mapping *mapping);

/*
 * A regular file for reads at any offset. Reads are copies: pages of a large file do not stay in
 * this process's memory as mapped ones do, and a file that shrinks is an error.
 */
typedef struct mgk_file {
    char *path;
    int descriptor;
    size_t size; /* bytes */
} mgk_file;

/* Opens a file; close with mgk_file_close. STATUS_IO names the path and the reason. */
mgk_status mgk_file_open(const char *path, mgk_file *out);

/* A zeroed file is accepted. */
void mgk_file_close(mgk_file *file);

/*
 * Reads bytes first ... first + count - 1 to `bytes`. STATUS_FORMAT: the file ends earlier;
 * STATUS_IO: it cannot be read.
 */
mgk_status mgk_file_read(const mgk_file *file, size_t first, size_t count, void *bytes);

/* Opens a file and reads its first bytes, at most `most`: *size says how many. Errors as above. */
mgk_status mgk_file_read_beginning(const char *path, size_t most, void *bytes, size_t *size);

/*
 * Returns STATUS_IO with a message that writing `path` failed for the reason, an errno; names a
 * full disk as such.
 */
mgk_status mgk_fail_write(const char *path, int reason);

/*
 * Closes a stream whose content belongs to `path`. Fails like mgk_fail_write if not all was
 * written.
 */
mgk_status mgk_close_written(FILE *file, const char *path);

/*
 * An output file during writing: content goes to `temporary`, in the same folder; only
 * mgk_output_commit moves it to `path`.
 */
typedef struct mgk_output {
    char *path;
    char *temporary; /* path.mgk-XXXXXX.part, with six random letters or digits */
    int descriptor;  /* of the temporary file, locked (flock) during writing */
    int folder;      /* a descriptor, too */
    bool force;
} mgk_output;

/* Whether `ending`, what follows the output's name, is ".mgk-XXXXXX.part". */
bool mgk_is_part_ending(const char *ending);

/* Closes a stream of open_memstream; false if memory was insufficient for its content. */
bool mgk_close_text(FILE *stream);

/*
 * Creates the empty temporary file; end with mgk_output_commit or mgk_output_discard.
 * STATUS_EXISTS: `path` exists, even as a broken link, and `force` is false; with `force` a link is
 * replaced, not its target. STATUS_IO: the folder cannot be read and written, or `path` refers to
 * something other than a regular file.
 */
mgk_status mgk_output_open(const char *path, bool force, mgk_output *out);

/* Fails as mgk_output_open, and leaves no file: for a check before long work. */
mgk_status mgk_output_check(const char *path, bool force);

/*
 * fsync, rename to `path`, fsync of the folder; the caller must have closed its handles of the
 * temporary file. Releases the object in any case. STATUS_OK: `path` is the output; if the folder
 * cannot be synced, a loss of power may still undo that. A failure leaves what was at `path`, and
 * nothing else. STATUS_EXISTS: without `force`, `path` has been created in the meantime.
 */
mgk_status mgk_output_commit(mgk_output *output);

/* Removes the temporary file and releases the object; a zeroed or committed one is accepted. */
void mgk_output_discard(mgk_output *output);

/* Writes `size` bytes (data may be NULL when 0) to `path` with the three functions above. */
mgk_status mgk_write_file(const char *path, bool force, const void *data, size_t size);

#endif
