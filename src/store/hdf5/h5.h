/*
 * HDF5 as stores and tables need it: one lock, one way to report failures, and the few calls that
 * their writers and readers share.
 *
 * The usual build of HDF5 is not thread-safe: whoever calls it, or a function
 * below (but enter itself), stands between mgk_h5_enter and mgk_h5_leave.
 */
#ifndef MGK_STORE_H5_H
#define MGK_STORE_H5_H

#include <stdint.h>

#include "base/status.h"
#include "store/hdf5/h5_library.h"
#include "store/schema/description.h"

/* An open file and the name that messages give it. */
typedef struct mgk_h5_file {
    hid_t id;
    const char *path;
    int write_error; /* errno of the first failed write; the file must stay where it is */
} mgk_h5_file;

/* Takes the process-wide lock and silences HDF5's own printing until mgk_h5_leave. */
void mgk_h5_enter(void);
void mgk_h5_leave(void);

/*
 * Records "path: what: reason" and returns `status`; `what` is a printf format, the
 * reason the innermost message of the HDF5 call that has just failed, if one did.
 */
mgk_status mgk_h5_fail(mgk_status status, const mgk_h5_file *file, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Closes an identifier of any kind; a negative one is accepted. */
void mgk_h5_close(hid_t id);

/*
 * Creates the file `actual`, called `path` in messages, in the format of HDF5 1.8.
 * Failed writes are known only by mgk_h5_check_written (see output_driver.h).
 */
mgk_status mgk_h5_create(const char *actual, const char *path, mgk_h5_file *out);

/* STATUS_IO where some write to the file has failed. */
mgk_status mgk_h5_check_written(const mgk_h5_file *file);

/* Writes out and closes a created file. */
mgk_status mgk_h5_finish(mgk_h5_file *file);

/* Closes a file, dropping what a created one has not written yet. A closed one is accepted. */
void mgk_h5_abandon(mgk_h5_file *file);

/*
 * Opens for reading. STATUS_IO: no such regular file; STATUS_FORMAT: not HDF5, or so damaged that
 * the library does not survive it; STATUS_IO also where that cannot be found out (see
 * quarantine/README.md).
 */
mgk_status mgk_h5_open(const char *path, mgk_h5_file *out);

/* Opens an HDF5 file for reading without finding out whether the library survives it. */
mgk_status mgk_h5_open_trusted(const char *path, mgk_h5_file *out);

/* A new element type for files and memory, closed by the caller: native byte order. */
hid_t mgk_h5_real_type(mgk_store_real real);

/*
 * Whether numbers of this type are those that every machine has: floating-point numbers of IEEE 754
 * of 2, 4 and 8 bytes, whole ones of 1 to 8, in either order of bytes. HDF5 can describe any other,
 * and a damaged description of usual ones makes other numbers of them. True for what is no number.
 */
bool mgk_h5_is_usual(hid_t type);

/* The type of variable-length UTF-8 strings, closed by the caller. */
hid_t mgk_h5_text_type(void);

/* Creates a dataset; `properties` may be H5P_DEFAULT. */
mgk_status mgk_h5_create_dataset(const mgk_h5_file *file, const char *name, hid_t type, int rank,
                                 const hsize_t *shape, hid_t properties, hid_t *out);

/* Creates the dimension scale `name` holding values [count], or 0, 1, 2, ... where NULL. */
mgk_status mgk_h5_create_scale(const mgk_h5_file *file, const char *name, const char *label,
                               size_t count, const int32_t *values, hid_t *out);

/* Gives an axis of the dataset its label and its dimension scale. */
mgk_status mgk_h5_set_axis(const mgk_h5_file *file, hid_t dataset, unsigned axis, const char *label,
                           hid_t scale);

/*
 * The label of an axis of a dataset with `rank` axes, or ""; cut where it does not fit. Labels that
 * are not one variable-length string an axis count as none: the library would read them into memory
 * for that many.
 */
void mgk_h5_get_label(hid_t dataset, int rank, int axis, char *text, size_t size);

/* Attributes of one value. */
mgk_status mgk_h5_put_string(const mgk_h5_file *file, hid_t object, const char *name,
                             const char *text);
mgk_status mgk_h5_put_integer(const mgk_h5_file *file, hid_t object, const char *name,
                              int32_t value);

/* The string attribute, released with mgk_free; NULL where there is no such string. */
mgk_status mgk_h5_get_string(const mgk_h5_file *file, hid_t object, const char *name, char **out);

/* The integer attribute, or `missing` where there is none. STATUS_FORMAT: beyond 32 bits. */
mgk_status mgk_h5_get_integer(const mgk_h5_file *file, hid_t object, const char *name,
                              int32_t missing, int32_t *out);

/* Whether the file holds a dataset of this name, or a link of this name to another file. */
bool mgk_h5_has_dataset(const mgk_h5_file *file, const char *name);

/* Whether the dataset is put together from others, which even asking for its shape would open. */
bool mgk_h5_is_virtual(hid_t dataset);

/*
 * Opens a dataset of the given class (H5T_FLOAT, H5T_INTEGER, H5T_STRING) with at most
 * `max_rank` axes, each 1 to 2^31 - 1 long. STATUS_FORMAT also where the shape claims
 * more than the stored bytes can hold, so that a small file cannot ask for much memory.
 * STATUS_UNSUPPORTED: the dataset or its values are in other files, which stay closed; numbers that
 * are not usual ones (mgk_h5_is_usual), or packed by other filters than deflate (gzip), shuffle and
 * fletcher32; strings in chunks.
 */
mgk_status mgk_h5_open_dataset(const mgk_h5_file *file, const char *name, H5T_class_t class,
                               int max_rank, hid_t *out, int *rank, hsize_t *shape);

/* The element type of an open dataset of floating-point numbers. */
mgk_store_real mgk_storage_of(hid_t dataset);

/*
 * Transfer properties for reading numbers as `type`, closed by the caller: a whole number that the
 * type cannot hold sets *overflow and ends the call, where the library would take the nearest one.
 */
hid_t mgk_h5_transfer(hid_t type, bool *overflow);

/* The failure of such a call: STATUS_FORMAT. */
mgk_status mgk_h5_overflow(const mgk_h5_file *file, const char *name, hid_t type);

/* "[2, 3, 4]" into text; cut where it does not fit. */
void mgk_h5_shape_text(int rank, const hsize_t *shape, char *text, size_t size);

#endif
