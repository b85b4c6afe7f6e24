/* SPDX-License-Identifier: MIT */
#include "store/hdf5/h5_virtual.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* The selected box of a space of a virtual dataset: its shape, where the box begins, and its size.
 * False: the space has no fixed shape, or something else than a box is selected. */
static bool read_box(hid_t space, int rank, hsize_t *shape, hsize_t *start, hsize_t *count)
{
    hsize_t most[H5S_MAX_RANK], last[H5S_MAX_RANK];
    size_t points = 1;
    if (H5Sget_simple_extent_type(space) != H5S_SIMPLE ||
        H5Sget_simple_extent_ndims(space) != rank ||
        H5Sget_simple_extent_dims(space, shape, most) != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 1 || shape[i] > INT32_MAX || most[i] != shape[i])
            return false;
    if (H5Sget_select_type(space) == H5S_SEL_NONE || H5Sget_select_bounds(space, start, last) < 0)
        return false;
    for (int i = 0; i < rank; i++) {
        if (start[i] > last[i] || last[i] >= shape[i])
            return false;
        count[i] = last[i] - start[i] + 1;
        if (mgk_multiply(points, count[i], &points) != STATUS_OK)
            return false;
    }
    return H5Sget_select_npoints(space) == (hssize_t)points;
}

static bool is_whole(int rank, const hsize_t *shape, const hsize_t *count)
{
    return memcmp(shape, count, (size_t)rank * sizeof(*shape)) == 0;
}

/* Whether number i of the sources is as described in the header, and begins at source->first. */
static bool read_spaces(hid_t properties, size_t i, int rank, hsize_t *shape, mgk_h5_source *source)
{
    hsize_t start[H5S_MAX_RANK], count[H5S_MAX_RANK];
    hsize_t own[H5S_MAX_RANK], own_start[H5S_MAX_RANK], own_count[H5S_MAX_RANK];
    hid_t all = H5Pget_virtual_vspace(properties, i), from = H5Pget_virtual_srcspace(properties, i);
    const bool read = all >= 0 && from >= 0 && read_box(all, rank, shape, start, count) &&
                      read_box(from, rank, own, own_start, own_count);
    mgk_h5_close(from);
    mgk_h5_close(all);
    if (!read || start[0] != source->first)
        return false;
    source->count = count[0];
    return is_whole(rank, own, own_count) && is_whole(rank, own, count) &&
           is_whole(rank - 1, shape + 1, count + 1);
}

static bool read_names(hid_t properties, size_t i, mgk_h5_source *source)
{
    const ssize_t file = H5Pget_virtual_filename(properties, i, source->file, sizeof(source->file));
    const ssize_t dataset =
        H5Pget_virtual_dsetname(properties, i, source->dataset, sizeof(source->dataset));
    return file > 0 && (size_t)file < sizeof(source->file) && dataset > 0 &&
           (size_t)dataset < sizeof(source->dataset) && mgk_is_file_name(source->file) &&
           !strchr(source->file, '%'); /* which makes a pattern of a name */
}

static bool read_rank(hid_t properties, int max_rank, int *rank)
{
    hid_t space = H5Pget_virtual_vspace(properties, 0);
    *rank = space < 0 ? 0 : H5Sget_simple_extent_ndims(space);
    mgk_h5_close(space);
    return *rank > 0 && *rank <= max_rank;
}

/* Whether all sources [count] are as described in the header, and follow one another. */
static bool read_all(hid_t properties, int rank, hsize_t *shape, mgk_h5_source *sources,
                     size_t count)
{
    hsize_t end = 0, first_shape[H5S_MAX_RANK];
    for (size_t i = 0; i < count; i++) {
        sources[i].first = end;
        if (!read_names(properties, i, &sources[i]) ||
            !read_spaces(properties, i, rank, shape, &sources[i]))
            return false;
        if (i == 0)
            memcpy(first_shape, shape, (size_t)rank * sizeof(*shape));
        if (!is_whole(rank, shape, first_shape))
            return false;
        end += sources[i].count;
    }
    return count > 0 && end == shape[0];
}

mgk_status mgk_h5_read_sources(const mgk_h5_file *file, const char *name, hid_t dataset,
                               int max_rank, int *rank, hsize_t *shape, mgk_h5_source **sources,
                               size_t *source_count)
{
    mgk_status status = STATUS_OK;
    hid_t properties = H5Dget_create_plist(dataset);
    size_t count = 0;
    *sources = NULL;
    *source_count = 0;
    if (properties >= 0 && H5Pget_layout(properties) == H5D_VIRTUAL &&
        H5Pget_virtual_count(properties, &count) >= 0 && count > 0)
        CHECK(mgk_alloc(count, sizeof(**sources), sources));
    if (*sources && read_rank(properties, max_rank, rank) &&
        read_all(properties, *rank, shape, *sources, count)) {
        *source_count = count;
        goto out;
    }
    mgk_free(*sources);
    *sources = NULL;
    H5Eclear2(H5E_DEFAULT);
    status = mgk_fail(STATUS_UNSUPPORTED,
                      "%s: the values of \"%s\" are in other files, but not in shards", file->path,
                      name);
out:
    mgk_h5_close(properties);
    return status;
}
