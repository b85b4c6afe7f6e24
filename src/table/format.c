/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "table/files.h"

mgk_status mgk_table_format_of(const char *path, mgk_table_format *out)
{
    if (mgk_ends_with(path, ".csv"))
        *out = MGK_TABLE_CSV;
    else if (mgk_ends_with(path, ".json"))
        *out = MGK_TABLE_JSON;
    else if (mgk_ends_with(path, ".h5") || mgk_ends_with(path, ".hdf5"))
        *out = MGK_TABLE_HDF5;
    else
        return mgk_fail(STATUS_USAGE, "%s: expected an ending .csv, .json or .h5", path);
    return STATUS_OK;
}
