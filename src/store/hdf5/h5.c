/* SPDX-License-Identifier: MIT */
#include "store/hdf5/h5.h"

#include <errno.h>
#include <hdf5_hl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "store/hdf5/quarantine/h5_probe.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static H5E_auto2_t saved_printer;
static void *saved_printer_data;

void mgk_h5_enter(void)
{
    pthread_mutex_lock(&lock);
    H5Eget_auto2(H5E_DEFAULT, &saved_printer, &saved_printer_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void mgk_h5_leave(void)
{
    H5Eset_auto2(H5E_DEFAULT, saved_printer, saved_printer_data);
    pthread_mutex_unlock(&lock);
}

enum { REASON_SIZE = 256 };

static herr_t copy_first_description(unsigned depth, const H5E_error2_t *error, void *context)
{
    if (depth == 0 && error->desc)
        snprintf(context, REASON_SIZE, "%s", error->desc);
    return 0;
}

/* The innermost entry of HDF5's error stack, control characters blanked. */
static void innermost_reason(char reason[REASON_SIZE])
{
    reason[0] = '\0';
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, copy_first_description, reason);
    for (char *c = reason; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

mgk_status mgk_h5_fail(mgk_status status, const mgk_h5_file *file, const char *format, ...)
{
    char what[512], reason[REASON_SIZE];
    innermost_reason(reason);
    H5Eclear2(H5E_DEFAULT);
    /* The library may fail to release a damaged file, and would print that when the
     * process exits. */
    if (status == STATUS_FORMAT)
        saved_printer = NULL;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return mgk_fail(status, "%s: %s%s%s", file->path, what, reason[0] ? ": " : "", reason);
}

void mgk_h5_close(hid_t id)
{
    if (id >= 0)
        H5Idec_ref(id);
}

mgk_status mgk_h5_create(const char *actual, const char *path, mgk_h5_file *out)
{
    *out = (mgk_h5_file){.id = H5I_INVALID_HID, .path = path};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && mgk_set_output_driver(access, &out->output) >= 0 &&
        H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        out->id = H5Fcreate(actual, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    mgk_status reason = out->output.error == ENOMEM ? STATUS_MEMORY : STATUS_IO;
    mgk_status status = out->id < 0 ? mgk_h5_fail(reason, out, "cannot create") : STATUS_OK;
    mgk_h5_close(access);
    return status;
}

mgk_status mgk_h5_check_written(const mgk_h5_file *file)
{
    return file->output.error ? mgk_fail_write(file->path, file->output.error) : STATUS_OK;
}

/* Writing the chunk as it is makes HDF5 allocate it and pass it to the driver at once. Asking for
 * addresses afterwards (H5Dget_chunk_info_by_coord) walks through all chunks each time. */
mgk_status mgk_h5_reserve_chunk(mgk_h5_file *file, const char *name, hid_t dataset,
                                const hsize_t *offset, size_t size, const void *any,
                                uint64_t *address)
{
    file->output.unwritten = any;
    const herr_t result = H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset, size, any);
    const bool kept = !file->output.unwritten;
    file->output.unwritten = NULL;
    *address = file->output.address;
    return result >= 0 && kept
               ? STATUS_OK
               : mgk_h5_fail(STATUS_IO, file, "cannot reserve space for \"%s\"", name);
}

mgk_status mgk_h5_finish(mgk_h5_file *file)
{
    hid_t id = file->id;
    file->id = H5I_INVALID_HID;
    if (H5Fclose(id) < 0)
        return mgk_h5_fail(STATUS_IO, file, "cannot close");
    return mgk_h5_check_written(file);
}

/* A file that the process has open elsewhere, too, stays open as long as its objects do. */
static void close_objects(hid_t file)
{
    enum { SOME = 64 };
    const unsigned all = H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_DATATYPE | H5F_OBJ_ATTR;
    hid_t ids[SOME];
    ssize_t count = H5Fget_obj_ids(file, all | H5F_OBJ_LOCAL, SOME, ids);
    while (count > 0) {
        for (ssize_t i = 0; i < count; i++)
            if (H5Idec_ref(ids[i]) < 0)
                return;
        count = H5Fget_obj_ids(file, all | H5F_OBJ_LOCAL, SOME, ids);
    }
}

void mgk_h5_abandon(mgk_h5_file *file)
{
    if (file->id < 0)
        return;
    if (file->output.error == 0)
        file->output.error = ECANCELED;
    if (file->shared)
        close_objects(file->id);
    H5Fclose(file->id);
    H5Eclear2(H5E_DEFAULT);
    file->id = H5I_INVALID_HID;
}

/* Cut-off files come from downloads and copies, so they get a plain message. */
static mgk_status fail_open(const mgk_h5_file *file)
{
    char reason[REASON_SIZE];
    struct stat info;
    innermost_reason(reason);
    if (strncmp(reason, "truncated file", strlen("truncated file")) != 0 ||
        stat(file->path, &info) != 0)
        return mgk_h5_fail(STATUS_FORMAT, file, "cannot open as HDF5");
    H5Eclear2(H5E_DEFAULT);
    saved_printer = NULL;
    return mgk_fail(STATUS_FORMAT,
                    "%s: is cut off: only the first %lld bytes of an HDF5 file are there",
                    file->path, (long long)info.st_size);
}

/* Whether the file could not be opened because the process has it open already, as h5py and
 * netCDF do, to be closed in another way. */
static bool is_open_otherwise(void)
{
    char reason[REASON_SIZE];
    innermost_reason(reason);
    return strstr(reason, "close degree") != NULL;
}

mgk_status mgk_h5_open_trusted(const char *path, mgk_h5_file *out)
{
    static const H5F_close_degree_t degrees[] = {H5F_CLOSE_STRONG, H5F_CLOSE_WEAK, H5F_CLOSE_SEMI};
    *out = (mgk_h5_file){.id = H5I_INVALID_HID, .path = path};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    /* A chunk that does not fit into the cache, of 0 bytes, is read as its shape says. Into a cache
     * HDF5 would read as many bytes as the file says of it. */
    bool ready = access >= 0 && H5Pset_cache(access, 0, 0, 0, 0) >= 0;
    for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]) && ready; i++) {
        if (H5Pset_fclose_degree(access, degrees[i]) >= 0)
            out->id = H5Fopen(path, H5F_ACC_RDONLY, access);
        out->shared = i > 0;
        ready = out->id < 0 && is_open_otherwise();
    }
    mgk_status status = out->id < 0 ? fail_open(out) : STATUS_OK;
    mgk_h5_close(access);
    return status;
}

mgk_status mgk_h5_open(const char *path, mgk_h5_file *out)
{
    struct stat info;
    *out = (mgk_h5_file){.id = H5I_INVALID_HID, .path = path};
    if (stat(path, &info) != 0)
        return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return mgk_fail(STATUS_IO, "%s: not a regular file", path);
    htri_t recognised = H5Fis_hdf5(path);
    if (recognised < 0)
        return mgk_h5_fail(STATUS_IO, out, "cannot open");
    if (recognised == 0)
        return mgk_fail(STATUS_FORMAT, "%s: not an HDF5 file", path);
    TRY(mgk_h5_probe(path));
    return mgk_h5_open_trusted(path, out);
}

/* A copy of the properties of a dataset, without the time of its creation: the same run writes the
 * same bytes. */
static hid_t without_times(hid_t properties)
{
    hid_t copy = properties == H5P_DEFAULT ? H5Pcreate(H5P_DATASET_CREATE) : H5Pcopy(properties);
    if (copy >= 0)
        H5Pset_obj_track_times(copy, false);
    return copy;
}

mgk_status mgk_h5_create_dataset(const mgk_h5_file *file, const char *name, hid_t type, int rank,
                                 const hsize_t *shape, hid_t properties, hid_t *out)
{
    *out = H5I_INVALID_HID;
    hid_t space = H5Screate_simple(rank, shape, NULL), creation = without_times(properties);
    if (space >= 0 && creation >= 0)
        *out = H5Dcreate2(file->id, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    mgk_status status =
        *out < 0 ? mgk_h5_fail(STATUS_IO, file, "cannot create \"%s\"", name) : STATUS_OK;
    mgk_h5_close(creation);
    mgk_h5_close(space);
    return status;
}

mgk_status mgk_h5_create_scale(const mgk_h5_file *file, const char *name, const char *label,
                               size_t count, const int32_t *values, hid_t *out)
{
    mgk_status status = STATUS_OK;
    int32_t *numbers = NULL;
    *out = H5I_INVALID_HID;
    if (!values) {
        CHECK(mgk_alloc(count, sizeof(*numbers), &numbers));
        for (size_t i = 0; i < count; i++)
            numbers[i] = (int32_t)i;
        values = numbers;
    }
    hsize_t shape = count;
    CHECK(mgk_h5_create_dataset(file, name, H5T_NATIVE_INT32, 1, &shape, H5P_DEFAULT, out));
    if (H5Dwrite(*out, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0 ||
        H5DSset_scale(*out, label) < 0)
        status = mgk_h5_fail(STATUS_IO, file, "cannot write \"%s\"", name);
out:
    mgk_free(numbers);
    return status;
}

mgk_status mgk_h5_link(const mgk_h5_file *file, const char *name, const char *other)
{
    if (H5Lcreate_hard(file->id, name, file->id, other, H5P_DEFAULT, H5P_DEFAULT) < 0)
        return mgk_h5_fail(STATUS_IO, file, "cannot link \"%s\" as \"%s\"", name, other);
    return STATUS_OK;
}

mgk_status mgk_h5_set_axis(const mgk_h5_file *file, hid_t dataset, unsigned axis, const char *label,
                           hid_t scale)
{
    if (H5DSset_label(dataset, axis, label) < 0 || H5DSattach_scale(dataset, scale, axis) < 0)
        return mgk_h5_fail(STATUS_IO, file, "cannot attach dimension scale \"%s\"", label);
    return STATUS_OK;
}

void mgk_h5_shape_text(int rank, const hsize_t *shape, char *text, size_t size)
{
    size_t sizes[H5S_MAX_RANK];
    for (int i = 0; i < rank; i++)
        sizes[i] = shape[i];
    mgk_shape_text(rank, sizes, text, size);
}
