/* SPDX-License-Identifier: MIT */
/*
 * HDF5 for stores and tables: one lock, one way to report failures, and the calls that writers and
 * readers share.
 *
 * The usual build of HDF5 is not thread-safe: call it, and the functions below except enter itself,
 * only between mgk_h5_enter and mgk_h5_leave.
 */
#ifndef MGK_STORE_H5_H
#define MGK_STORE_H5_H

#include <stdint.h>

#include "base/status.h"
#include "store/hdf5/h5_library.h"
#include "store/hdf5/output_driver.h"
#include "store/schema/description.h"

/* An open file and its name in messages. */
typedef struct mgk_h5_file {
    hid_t id;
    const char *path;
    mgk_output_record output; /* of a created file; HDF5 keeps its address, so the structure must
                                 not move */
    bool shared; /* another part of the process has the file open, to be closed otherwise */
} mgk_h5_file;

/* Takes the process-wide lock and silences HDF5's own messages until mgk_h5_leave. */
void mgk_h5_enter(void);
void mgk_h5_leave(void);

/* Records "path: what: reason" and returns `status`. `what` is a printf format; the reason is the
 * innermost message of the HDF5 call that has just failed, if one has. */
mgk_status mgk_h5_fail(mgk_status status, const mgk_h5_file *file, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Closes an identifier of any kind; a negative one is accepted. */
void mgk_h5_close(hid_t id);

/* Creates the file `actual`, called `path` in messages, in the format of HDF5 1.8. Only
 * mgk_h5_check_written reports failed writes (see output_driver.h). */
mgk_status mgk_h5_create(const char *actual, const char *path, mgk_h5_file *out);

/* STATUS_IO if any write to the file has failed. */
mgk_status mgk_h5_check_written(const mgk_h5_file *file);

/*
 * Finds the place of a chunk of `size` bytes at `offset`, which is never filtered: whoever writes
 * `size` bytes at *address of the file writes the chunk. `any` [size] is an array, whose values do
 * not matter.
 */
mgk_status mgk_h5_reserve_chunk(mgk_h5_file *file, const char *name, hid_t dataset,
                                const hsize_t *offset, size_t size, const void *any,
                                uint64_t *address);

/* Flushes and closes a created file. */
mgk_status mgk_h5_finish(mgk_h5_file *file);

/* Closes a file and drops unwritten data of a created one. A closed one is accepted. */
void mgk_h5_abandon(mgk_h5_file *file);

/*
 * Opens a file for reading. STATUS_IO: no such regular file; STATUS_FORMAT: not HDF5, or so damaged
 * that the library would crash; STATUS_IO too if that check cannot run (see quarantine/README.md).
 */
mgk_status mgk_h5_open(const char *path, mgk_h5_file *out);

/* Opens an HDF5 file for reading without checking that the library survives it. */
mgk_status mgk_h5_open_trusted(const char *path, mgk_h5_file *out);

/* Creates an element type for files and memory, in native byte order; the caller closes it. */
hid_t mgk_h5_real_type(mgk_store_real real);

/*
 * Whether the type is one of the usual number types: IEEE 754 floats of 2, 4 and 8 bytes, integers
 * of 1 to 8 bytes, in either byte order. HDF5 can describe others, and damage turns the description
 * of a usual type into one of them. True for types that are not numbers.
 */
bool mgk_h5_is_usual(hid_t type);

/* Creates the type of variable-length UTF-8 strings; the caller closes it. */
hid_t mgk_h5_text_type(void);

/* Creates a dataset; `properties` may be H5P_DEFAULT. */
mgk_status mgk_h5_create_dataset(const mgk_h5_file *file, const char *name, hid_t type, int rank,
                                 const hsize_t *shape, hid_t properties, hid_t *out);

/* Creates the dimension scale `name` with values [count]; NULL: 0, 1, 2, ... */
mgk_status mgk_h5_create_scale(const mgk_h5_file *file, const char *name, const char *label,
                               size_t count, const int32_t *values, hid_t *out);

/* Gives an object a second name, a hard link. */
mgk_status mgk_h5_link(const mgk_h5_file *file, const char *name, const char *other);

/* Gives an axis of the dataset its label and its dimension scale. */
mgk_status mgk_h5_set_axis(const mgk_h5_file *file, hid_t dataset, unsigned axis, const char *label,
                           hid_t scale);

/*
 * Copies the label of an axis of a dataset with `rank` axes, or ""; truncates it to `size`. Labels
 * are ignored unless there is exactly one variable-length string per axis: the library would
 * otherwise write past the end of its memory.
 */
void mgk_h5_get_label(hid_t dataset, int rank, int axis, char *text, size_t size);

/* Attributes with one value. */
mgk_status mgk_h5_put_string(const mgk_h5_file *file, hid_t object, const char *name,
                             const char *text);
/* The warnings of settings (mgk_json_warnings) as the attribute `warnings` of the file, if there
 * are any; NULL: no settings. */
mgk_status mgk_h5_put_warnings(const mgk_h5_file *file, const char *settings);
mgk_status mgk_h5_put_integer(const mgk_h5_file *file, hid_t object, const char *name,
                              int32_t value);
mgk_status mgk_h5_put_integer64(const mgk_h5_file *file, hid_t object, const char *name,
                                int64_t value);

/* The string attribute, release with mgk_free; NULL: no such string. */
mgk_status mgk_h5_get_string(const mgk_h5_file *file, hid_t object, const char *name, char **out);

/* The integer attribute, or 0 if there is none. STATUS_FORMAT: beyond 32 bits. */
mgk_status mgk_h5_get_integer(const mgk_h5_file *file, hid_t object, const char *name,
                              int32_t *out);

/* The same of 64 bits, or `missing`; an integer beyond them is the nearest one. */
mgk_status mgk_h5_get_integer64(const mgk_h5_file *file, hid_t object, const char *name,
                                int64_t missing, int64_t *out);

/* Whether the file contains a dataset of this name, or a link of this name to another file. */
bool mgk_h5_has_dataset(const mgk_h5_file *file, const char *name);

/* Whether the dataset is virtual: even asking for its shape would open other files. */
bool mgk_h5_is_virtual(hid_t dataset);

/*
 * Opens a dataset of the given class (H5T_FLOAT, H5T_INTEGER, H5T_STRING) with at most `max_rank`
 * axes, each 1 to 2^31 - 1 long. STATUS_FORMAT includes a shape that claims more than the stored
 * bytes can hold, so that a small file cannot demand much memory. STATUS_UNSUPPORTED: the dataset
 * or its values are in other files, which stay closed; unusual number types (mgk_h5_is_usual);
 * filters other than deflate (gzip), shuffle and fletcher32; strings in chunks.
 */
mgk_status mgk_h5_open_dataset(const mgk_h5_file *file, const char *name, H5T_class_t class,
                               int max_rank, hid_t *out, int *rank, hsize_t *shape);

/* The element type of an open dataset of floating-point numbers. */
mgk_store_real mgk_storage_of(hid_t dataset);

/* Creates transfer properties for reading numbers as `type`; the caller closes them. An integer
 * beyond the type sets *overflow and ends the call, where the library alone would clamp it. */
hid_t mgk_h5_transfer(hid_t type, bool *overflow);

/* Reports such an overflow: STATUS_FORMAT. */
mgk_status mgk_h5_overflow(const mgk_h5_file *file, const char *name, hid_t type);

/* Writes "[2, 3, 4]" into text; truncates it to `size`. */
void mgk_h5_shape_text(int rank, const hsize_t *shape, char *text, size_t size);

#endif
