/* SPDX-License-Identifier: MIT */
#include <hdf5_hl.h>

#include "base/json.h"
#include "base/memory.h"
#include "store/hdf5/h5.h"

hid_t mgk_h5_text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
        return type;
    mgk_h5_close(type);
    return H5I_INVALID_HID;
}

static mgk_status put(const mgk_h5_file *file, hid_t object, const char *name, hid_t type,
                      const void *value)
{
    herr_t result = -1;
    hid_t attribute = H5I_INVALID_HID;
    hid_t space = H5Screate(H5S_SCALAR);
    if (type >= 0 && space >= 0)
        attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0)
        result = H5Awrite(attribute, type, value);
    mgk_status status = STATUS_OK;
    if (result < 0)
        status = mgk_h5_fail(STATUS_IO, file, "cannot write attribute \"%s\"", name);
    mgk_h5_close(attribute);
    mgk_h5_close(space);
    return status;
}

mgk_status mgk_h5_put_string(const mgk_h5_file *file, hid_t object, const char *name,
                             const char *text)
{
    hid_t type = mgk_h5_text_type();
    mgk_status status = put(file, object, name, type, &text);
    mgk_h5_close(type);
    return status;
}

mgk_status mgk_h5_put_warnings(const mgk_h5_file *file, const char *settings)
{
    char *lines;
    TRY(mgk_json_warnings(settings, &lines));
    mgk_status status = lines ? mgk_h5_put_string(file, file->id, "warnings", lines) : STATUS_OK;
    mgk_free(lines);
    return status;
}

mgk_status mgk_h5_put_integer(const mgk_h5_file *file, hid_t object, const char *name,
                              int32_t value)
{
    return put(file, object, name, H5T_NATIVE_INT32, &value);
}

mgk_status mgk_h5_put_integer64(const mgk_h5_file *file, hid_t object, const char *name,
                                int64_t value)
{
    return put(file, object, name, H5T_NATIVE_INT64, &value);
}

/* Opens the attribute if it exists, has the given class and one value. */
static hid_t open_single(hid_t object, const char *name, H5T_class_t class)
{
    if (H5Aexists(object, name) <= 0)
        return H5I_INVALID_HID;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    bool fits = H5Tget_class(type) == class && mgk_h5_is_usual(type) && space >= 0 &&
                H5Sget_simple_extent_npoints(space) == 1;
    mgk_h5_close(space);
    mgk_h5_close(type);
    if (fits)
        return attribute;
    mgk_h5_close(attribute);
    return H5I_INVALID_HID;
}

static mgk_status read_variable(const mgk_h5_file *file, const char *name, hid_t attribute,
                                hid_t type, char **out)
{
    char *text = NULL;
    if (H5Aread(attribute, type, &text) < 0)
        return mgk_h5_fail(STATUS_FORMAT, file, "cannot read attribute \"%s\"", name);
    mgk_status status = mgk_copy_string(text ? text : "", out);
    H5free_memory(text);
    return status;
}

static mgk_status read_fixed(const mgk_h5_file *file, const char *name, hid_t attribute, hid_t type,
                             char **out)
{
    const size_t longest = (size_t)1 << 24;
    size_t size = H5Tget_size(type);
    if (size > longest)
        return mgk_fail(STATUS_FORMAT, "%s: attribute \"%s\" is %zu bytes long", file->path, name,
                        size);
    TRY(mgk_alloc(size + 1, 1, out));
    if (H5Aread(attribute, type, *out) >= 0)
        return STATUS_OK;
    mgk_free(*out);
    *out = NULL;
    return mgk_h5_fail(STATUS_FORMAT, file, "cannot read attribute \"%s\"", name);
}

mgk_status mgk_h5_get_string(const mgk_h5_file *file, hid_t object, const char *name, char **out)
{
    *out = NULL;
    hid_t attribute = open_single(object, name, H5T_STRING);
    if (attribute < 0) {
        H5Eclear2(H5E_DEFAULT);
        return STATUS_OK;
    }
    hid_t type = H5Aget_type(attribute);
    mgk_status status = H5Tis_variable_str(type) > 0
                            ? read_variable(file, name, attribute, type, out)
                            : read_fixed(file, name, attribute, type, out);
    mgk_h5_close(type);
    mgk_h5_close(attribute);
    return status;
}

mgk_status mgk_h5_get_integer64(const mgk_h5_file *file, hid_t object, const char *name,
                                int64_t missing, int64_t *out)
{
    *out = missing;
    hid_t attribute = open_single(object, name, H5T_INTEGER);
    if (attribute < 0) {
        H5Eclear2(H5E_DEFAULT);
        return STATUS_OK;
    }
    mgk_status status = STATUS_OK;
    if (H5Aread(attribute, H5T_NATIVE_INT64, out) < 0) /* HDF5 clamps values beyond its range */
        status = mgk_h5_fail(STATUS_FORMAT, file, "cannot read attribute \"%s\"", name);
    mgk_h5_close(attribute);
    return status;
}

mgk_status mgk_h5_get_integer(const mgk_h5_file *file, hid_t object, const char *name, int32_t *out)
{
    int64_t value;
    TRY(mgk_h5_get_integer64(file, object, name, 0, &value));
    if (value < INT32_MIN || value > INT32_MAX)
        return mgk_fail(STATUS_FORMAT, "%s: attribute \"%s\" is beyond 32 bits", file->path, name);
    *out = (int32_t)value;
    return STATUS_OK;
}

/* Whether the dataset has one variable-length label for each of its axes. */
static bool has_labels(hid_t dataset, int rank)
{
    static const char name[] = "DIMENSION_LABELS";
    if (H5Aexists(dataset, name) <= 0)
        return false;
    hid_t attribute = H5Aopen(dataset, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    bool fits = H5Tis_variable_str(type) > 0 && H5Sget_simple_extent_npoints(space) == rank;
    mgk_h5_close(space);
    mgk_h5_close(type);
    mgk_h5_close(attribute);
    return fits;
}

void mgk_h5_get_label(hid_t dataset, int rank, int axis, char *text, size_t size)
{
    if (!has_labels(dataset, rank) || H5DSget_label(dataset, (unsigned)axis, text, size) < 0)
        text[0] = '\0';
    H5Eclear2(H5E_DEFAULT);
}
