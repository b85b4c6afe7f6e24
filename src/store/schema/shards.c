/* SPDX-License-Identifier: MIT */
#include "store/schema/shards.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

mgk_status mgk_shards_allow(const mgk_h5_file *file)
{
    if (H5Fset_libver_bounds(file->id, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110) < 0)
        return mgk_h5_fail(STATUS_UNSUPPORTED, file, "cannot have virtual datasets");
    return STATUS_OK;
}

/* Maps the samples of a shard to the shard's own object; `shape` is that of all samples. */
static bool map(const mgk_store_shard *shard, const char *object, int rank, const hsize_t *shape,
                hid_t properties)
{
    const hsize_t start[STORE_MAX_RANK] = {(hsize_t)shard->first}, origin[STORE_MAX_RANK] = {0};
    hsize_t count[STORE_MAX_RANK];
    for (int i = 0; i < rank; i++)
        count[i] = i == 0 ? (hsize_t)shard->count : shape[i];
    hid_t all = H5Screate_simple(rank, shape, NULL), own = H5Screate_simple(rank, count, NULL);
    const bool mapped = all >= 0 && own >= 0 &&
                        H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                        /* without a box HDF5 forgets the shape */
                        H5Sselect_hyperslab(own, H5S_SELECT_SET, origin, NULL, count, NULL) >= 0 &&
                        H5Pset_virtual(properties, all, shard->name, object, own) >= 0;
    mgk_h5_close(own);
    mgk_h5_close(all);
    return mapped;
}

mgk_status mgk_shards_set(const mgk_h5_file *file, const mgk_store_description *description,
                          mgk_store_object object, const mgk_store_storage *storage,
                          hid_t properties)
{
    const mgk_object_layout layout = mgk_layout_of(object, description);
    const double missing = (double)NAN;
    hsize_t shape[STORE_MAX_RANK];
    size_t sizes[STORE_AXES];
    mgk_axis_sizes(description, sizes);
    for (int i = 0; i < layout.rank; i++)
        shape[i] = sizes[layout.axes[i]];
    bool mapped = H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &missing) >= 0;
    for (size_t i = 0; mapped && i < storage->shard_count; i++)
        mapped = map(&storage->shards[i], layout.name, layout.rank, shape, properties);
    return mapped ? STATUS_OK
                  : mgk_h5_fail(STATUS_UNSUPPORTED, file, "cannot join the shards of \"%s\"",
                                layout.name);
}
