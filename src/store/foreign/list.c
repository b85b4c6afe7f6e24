/* SPDX-License-Identifier: MIT */
#include "store/foreign/list.h"

#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/numpy.h"
#include "store/hdf5/h5_virtual.h"

enum { TEXT_SIZE = 512 };

/* Context of HDF5's callbacks. */
typedef struct listing {
    mgk_h5_file file;
    mgk_store_visit visit;
    void *context;
    bool arrays_alone;      /* no attributes and labels */
    mgk_status status;      /* why the listing ended */
    char object[TEXT_SIZE]; /* path of the object being listed */
} listing;

static void type_text(hid_t type, char text[TEXT_SIZE])
{
    size_t bits = 8 * H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        snprintf(text, TEXT_SIZE, "float%zu", bits);
        break;
    case H5T_INTEGER:
        snprintf(text, TEXT_SIZE, "%s%zu", H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int",
                 bits);
        break;
    case H5T_STRING:
        snprintf(text, TEXT_SIZE, "string");
        break;
    default:
        snprintf(text, TEXT_SIZE, "other");
    }
}

/* Writes a number as text; leaves `text` unchanged if the attribute is not a single usual
 * number. */
static void number_text(hid_t attribute, hid_t type, char text[TEXT_SIZE])
{
    long long integer;
    double real;
    hid_t space = H5Aget_space(attribute);
    bool single = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    mgk_h5_close(space);
    if (!single || !mgk_h5_is_usual(type))
        return;
    if (H5Tget_class(type) == H5T_INTEGER && H5Aread(attribute, H5T_NATIVE_LLONG, &integer) >= 0)
        snprintf(text, TEXT_SIZE, "%lld", integer);
    if (H5Tget_class(type) == H5T_FLOAT && H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) >= 0)
        snprintf(text, TEXT_SIZE, "%.17g", real);
}

static bool marks_axes(const char *name)
{
    static const char *const names[] = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST",
                                        "DIMENSION_LABELS"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static herr_t list_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)info;
    listing *list = context;
    char type_name[TEXT_SIZE], number[TEXT_SIZE] = "";
    char *string = NULL;
    if (marks_axes(name))
        return 0;
    list->status = mgk_h5_get_string(&list->file, object, name, &string);
    if (list->status != STATUS_OK)
        return 1;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    type_text(type, type_name);
    number_text(attribute, type, number);
    mgk_h5_close(type);
    mgk_h5_close(attribute);
    mgk_store_entry entry = {.object = list->object,
                             .name = "",
                             .attribute = name,
                             .type = type_name,
                             .axes = "",
                             .value = string ? string : number};
    list->status = list->visit(list->context, &entry);
    mgk_free(string);
    return list->status == STATUS_OK ? 0 : 1;
}

/* "sample, layer"; "" unless every axis has a label. */
static void axes_text(hid_t dataset, int rank, char text[TEXT_SIZE])
{
    text[0] = '\0';
    for (int i = 0; i < rank; i++) {
        char label[64];
        mgk_h5_get_label(dataset, rank, i, label, sizeof(label));
        if (!label[0]) {
            text[0] = '\0';
            return;
        }
        mgk_append(text, TEXT_SIZE, "%s%s", i ? ", " : "", label);
    }
}

/* The shape of a virtual dataset is known if it is in shards; else it is in another file: 0. */
static int rank_of_virtual(const listing *list, hid_t dataset, hsize_t dims[H5S_MAX_RANK])
{
    mgk_h5_source *sources;
    size_t count;
    int rank;
    if (mgk_h5_read_sources(&list->file, list->object, dataset, H5S_MAX_RANK, &rank, dims, &sources,
                            &count) != STATUS_OK)
        return 0;
    mgk_free(sources);
    return rank;
}

static mgk_status list_dataset(listing *list, hid_t dataset)
{
    char type_name[TEXT_SIZE], axes[TEXT_SIZE] = "";
    hsize_t dims[H5S_MAX_RANK];
    uint64_t shape[H5S_MAX_RANK];
    hid_t type = H5Dget_type(dataset), space = H5I_INVALID_HID;
    int rank = 0;
    if (mgk_h5_is_virtual(dataset)) {
        rank = list->arrays_alone ? 0 : rank_of_virtual(list, dataset, dims);
    } else {
        space = H5Dget_space(dataset);
        rank = H5Sget_simple_extent_dims(space, dims, NULL);
    }
    type_text(type, type_name);
    mgk_h5_close(space);
    mgk_h5_close(type);
    if (rank < 0)
        return mgk_h5_fail(STATUS_FORMAT, &list->file, "cannot read the shape of \"%s\"",
                           list->object);
    for (int i = 0; i < rank; i++)
        shape[i] = dims[i];
    if (!list->arrays_alone)
        axes_text(dataset, rank, axes);
    mgk_store_entry entry = {.object = list->object,
                             .name = list->object + strlen("/"),
                             .type = type_name,
                             .axes = axes,
                             .value = "",
                             .rank = rank,
                             .shape = shape};
    return list->visit(list->context, &entry);
}

static herr_t list_object(hid_t root, const char *name, const H5O_info_t *info, void *context)
{
    listing *list = context;
    bool is_root = strcmp(name, ".") == 0;
    if (!is_root && info->type != H5O_TYPE_DATASET && info->type != H5O_TYPE_GROUP)
        return 0;
    const int length = snprintf(list->object, sizeof(list->object), "/%s", is_root ? "" : name);
    if (length >= (int)sizeof(list->object)) {
        list->status = mgk_fail(STATUS_UNSUPPORTED, "%s: a name of %d bytes, expected at most %zu",
                                list->file.path, length, sizeof(list->object) - 1);
        return 1;
    }
    hid_t object = H5Oopen(root, name, H5P_DEFAULT);
    if (object < 0)
        list->status = mgk_h5_fail(STATUS_FORMAT, &list->file, "cannot open \"%s\"", list->object);
    else if (info->type == H5O_TYPE_DATASET)
        list->status = list_dataset(list, object);
    if (list->status == STATUS_OK && !list->arrays_alone &&
        H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, list_attribute, list) < 0)
        list->status = mgk_h5_fail(STATUS_FORMAT, &list->file, "cannot read the attributes of %s",
                                   list->object);
    mgk_h5_close(object);
    return list->status == STATUS_OK ? 0 : 1;
}

static mgk_status list_hdf5(const char *path, bool arrays_alone, mgk_store_visit visit,
                            void *context)
{
    mgk_status status = STATUS_OK;
    listing list = {.visit = visit, .context = context, .arrays_alone = arrays_alone};
    mgk_h5_enter();
    CHECK(mgk_h5_open(path, &list.file));
    if (H5Ovisit(list.file.id, H5_INDEX_NAME, H5_ITER_INC, list_object, &list) < 0)
        list.status = mgk_h5_fail(STATUS_FORMAT, &list.file, "cannot list the contents");
    status = list.status;
out:
    mgk_h5_abandon(&list.file);
    mgk_h5_leave();
    return status;
}

static mgk_status list_numpy_array(const mgk_numpy_array *array, mgk_store_visit visit,
                                   void *context)
{
    char type[MGK_NPY_TYPE];
    uint64_t shape[MGK_NPY_AXES];
    mgk_npy_type(&array->header, type);
    for (int i = 0; i < array->header.rank; i++)
        shape[i] = array->header.shape[i];
    const mgk_store_entry entry = {.object = array->name,
                                   .name = array->name,
                                   .type = type,
                                   .axes = "",
                                   .value = "",
                                   .rank = array->header.rank,
                                   .shape = shape};
    return visit(context, &entry);
}

static mgk_status list_numpy(const char *path, mgk_store_visit visit, void *context)
{
    mgk_status status = STATUS_OK;
    mgk_numpy *file;
    TRY(mgk_numpy_open(path, &file));
    for (size_t i = 0; status == STATUS_OK && i < mgk_numpy_count(file); i++)
        status = list_numpy_array(mgk_numpy_at(file, i), visit, context);
    mgk_numpy_close(file);
    return status;
}

static mgk_status list_file(const char *path, bool arrays_alone, mgk_store_visit visit,
                            void *context)
{
    bool numpy;
    TRY(mgk_recognise_numpy(path, &numpy));
    return numpy ? list_numpy(path, visit, context) : list_hdf5(path, arrays_alone, visit, context);
}

mgk_status mgk_store_list(const char *path, mgk_store_visit visit, void *context)
{
    return list_file(path, false, visit, context);
}

mgk_status mgk_store_list_arrays(const char *path, mgk_store_visit visit, void *context)
{
    return list_file(path, true, visit, context);
}
