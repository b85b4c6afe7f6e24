/* Files: read whole or mapped; written beside and renamed, so that they appear complete or not at
 * all. */
#ifndef MGK_BASE_FILE_H
#define MGK_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* The last component of a path, within it. */
const char *mgk_file_name(const char *path);

/* The folder that a path leads through last, "." if it names none; released with mgk_free. */
mgk_status mgk_folder_of(const char *path, char **out);

/* Whether something has this name, be it a link that leads nowhere. */
bool mgk_exists(const char *path);

/* Whether both paths lead to one file that exists. */
bool mgk_is_same_file(const char *a, const char *b);

/* Whether the path leads to a folder. */
bool mgk_is_folder(const char *path);

/* "folder/name", released with mgk_free. */
mgk_status mgk_join_path(const char *folder, const char *name, char **out);

/* A file mapped read-only. */
typedef struct mgk_mapping {
    const unsigned char *data; /* [size]; NULL when the file is empty */
    size_t size;
} mgk_mapping;

/* Maps a regular file. STATUS_IO and STATUS_MEMORY name the path and the reason. */
mgk_status mgk_map_file(const char *path, mgk_mapping *out);

/*
 * As above, of a file that is read whole and that nobody makes larger than `most` bytes. One that
 * is larger is STATUS_FORMAT: a file may claim terabytes and hold nothing.
 */
mgk_status mgk_map_limited(const char *path, size_t most, mgk_mapping *out);

/* Unmaps; a zeroed mapping is accepted. */
void mgk_unmap_file(mgk_mapping *mapping);

/*
 * A regular file read at any place. What is read is copied, so that pages of a large file do not
 * stay in this process's memory as those of a mapping do, and a file that shrinks is an error.
 */
typedef struct mgk_file {
    char *path;
    int descriptor;
    size_t size; /* bytes */
} mgk_file;

/* STATUS_IO names the path and the reason. */
mgk_status mgk_file_open(const char *path, mgk_file *out);

/* A zeroed one is accepted. */
void mgk_file_close(mgk_file *file);

/*
 * Bytes first ... first + count - 1 into `bytes`. STATUS_FORMAT: the file ends before;
 * STATUS_IO: it cannot be read.
 */
mgk_status mgk_file_read(const mgk_file *file, size_t first, size_t count, void *bytes);

/*
 * STATUS_IO: what belongs to `path` could not be written, for the reason, an errno. A full disk is
 * called so.
 */
mgk_status mgk_fail_write(const char *path, int reason);

/* Closes a stream whose content belongs to `path`. Fails as above where not all was written. */
mgk_status mgk_close_written(FILE *file, const char *path);

/*
 * An output file being written: content goes to `temporary`, a name in the
 * same folder, and reaches `path` only by mgk_output_commit.
 */
typedef struct mgk_output {
    char *path;
    char *temporary; /* path.mgk-XXXXXX.part, six letters or digits drawn at random */
    int descriptor;  /* of the temporary file, which is locked (flock) while it is written */
    bool force;
} mgk_output;

/* Whether a name ends so behind that of its output: ".mgk-XXXXXX.part". */
bool mgk_is_part_ending(const char *ending);

/* Closes a stream of open_memstream; false: there was too little memory for what was written. */
bool mgk_close_text(FILE *stream);

/*
 * Chooses and creates the temporary file (empty). STATUS_EXISTS when `path`
 * exists and `force` is false, also as a link that leads nowhere; with `force` a
 * link is replaced, not what it leads to. STATUS_IO when the folder cannot be
 * written, or `path` leads to what is not a regular file.
 */
mgk_status mgk_output_open(const char *path, bool force, mgk_output *out);

/* Fails as mgk_output_open does, and leaves nothing: before long work is begun. */
mgk_status mgk_output_check(const char *path, bool force);

/*
 * fsync, rename onto `path`, fsync of the folder; the caller has closed every
 * handle of its own. Releases the object either way; on failure nothing is left.
 * STATUS_EXISTS: without `force`, something has taken the name meanwhile.
 */
mgk_status mgk_output_commit(mgk_output *output);

/* Removes the temporary file and releases the object; a zeroed or committed one is accepted. */
void mgk_output_discard(mgk_output *output);

/* Writes `size` bytes (data may be NULL when 0) to `path` by way of the three functions above. */
mgk_status mgk_write_file(const char *path, bool force, const void *data, size_t size);

#endif
