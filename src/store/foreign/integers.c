/* SPDX-License-Identifier: MIT */
#include "store/foreign/integers.h"

#include <string.h>

#include "base/memory.h"
#include "store/foreign/list.h"
#include "store/hdf5/h5_box.h"

/* Result of the listing; a known name takes precedence. */
typedef struct found {
    char *name;
    bool named;
    size_t integers; /* number of integer datasets */
} found;

static mgk_status visit(void *context, const mgk_store_entry *entry)
{
    found *f = context;
    bool ids = strcmp(entry->name, "input_ids") == 0;
    bool named = ids || strcmp(entry->name, "tokens") == 0;
    if (strncmp(entry->type, "int", 3) != 0 && strncmp(entry->type, "uint", 4) != 0)
        return STATUS_OK;
    f->integers++;
    if (f->name && !ids && (f->named || !named))
        return STATUS_OK;
    mgk_free(f->name);
    f->named = named;
    return mgk_copy_string(entry->name, &f->name);
}

static mgk_status find(const char *path, found *f)
{
    TRY(mgk_store_list_arrays(path, visit, f));
    if (f->integers == 0)
        return mgk_fail(STATUS_FORMAT, "%s: no dataset of integers", path);
    if (f->integers > 1 && !f->named)
        return mgk_fail(STATUS_SHAPE,
                        "%s: %zu datasets of integers, expected one of them or one named "
                        "\"input_ids\" or \"tokens\"",
                        path, f->integers);
    return STATUS_OK;
}

static bool is_unsigned(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset);
    bool without_sign = H5Tget_sign(type) == H5T_SGN_NONE;
    mgk_h5_close(type);
    return without_sign;
}

static mgk_status read_dataset(const mgk_h5_file *file, const char *name, size_t most,
                               mgk_store_integers *out)
{
    enum { MOST_AXES = 2 };
    const hsize_t start[MOST_AXES] = {0};
    hsize_t shape[MOST_AXES];
    hid_t dataset;
    int rank;
    TRY(mgk_h5_open_dataset(file, name, H5T_INTEGER, MOST_AXES, &dataset, &rank, shape));
    out->rows = rank == MOST_AXES ? shape[0] : 1;
    out->columns = shape[rank - 1];
    out->flat = rank == 1;
    out->is_unsigned = is_unsigned(dataset);
    mgk_status status = STATUS_OK;
    if (out->columns > 0 && out->rows > most / out->columns)
        status =
            mgk_h5_fail(STATUS_SHAPE, file, "\"%s\" is %zu x %zu, expected at most %zu integers",
                        name, out->rows, out->columns, most);
    if (status == STATUS_OK)
        status = mgk_alloc(out->rows * out->columns, sizeof(*out->values), &out->values);
    if (status == STATUS_OK)
        status =
            mgk_h5_read_box(file, name, dataset, rank, start, shape,
                            out->is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, out->values);
    mgk_h5_close(dataset);
    return status;
}

mgk_status mgk_store_read_integers(const char *path, size_t most, mgk_store_integers *out)
{
    found f = {.name = NULL};
    mgk_h5_file file;
    *out = (mgk_store_integers){.values = NULL};
    mgk_status status = find(path, &f);
    if (status == STATUS_OK) {
        mgk_h5_enter();
        status = mgk_h5_open(path, &file);
        if (status == STATUS_OK)
            status = read_dataset(&file, f.name, most, out);
        mgk_h5_abandon(&file);
        mgk_h5_leave();
    }
    mgk_free(f.name);
    if (status != STATUS_OK) {
        mgk_free(out->values);
        out->values = NULL;
    }
    return status;
}
