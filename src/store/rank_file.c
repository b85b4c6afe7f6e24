#include "store/rank_file.h"

#include <math.h>

#include "base/file.h"
#include "base/memory.h"
#include "store/rank_columns.h"

static mgk_status write_columns(const mgk_h5_file *file, const mgk_rank_file *ranks)
{
    const hsize_t start = 0, count = ranks->rows;
    mgk_rank_file columns = *ranks;
    hid_t scale, dataset;
    TRY(mgk_h5_create_scale(file, "row", "row", ranks->rows, NULL, &scale));
    for (int i = 0; i < RANK_COLUMNS; i++) {
        const mgk_rank_column *column = &mgk_rank_columns[i];
        const void *values = *mgk_rank_column_of(&columns, column);
        hid_t type = mgk_rank_column_type(column);
        if (column->optional && !values)
            continue;
        TRY(mgk_h5_create_dataset(file, column->name, type, 1, &count, H5P_DEFAULT, &dataset));
        TRY(mgk_h5_write_box(file, column->name, dataset, 1, &start, &count, type, values));
        TRY(mgk_h5_set_axis(file, dataset, 0, "row", scale));
        if (column->codes)
            TRY(mgk_h5_put_string(file, dataset, "codes", column->codes));
    }
    return STATUS_OK;
}

/* One spectrum a chunk: what is not in the ranks takes no room. */
static mgk_status create_spectra(const mgk_h5_file *file, const mgk_spectrum_grid *grid, hid_t *out)
{
    const double missing = NAN;
    hsize_t shape[SPECTRUM_RANK], chunk[SPECTRUM_RANK] = {1, 1, 1, grid->count[SPECTRUM_INDEX]};
    mgk_status status = STATUS_OK;
    for (int i = 0; i < SPECTRUM_RANK; i++)
        shape[i] = grid->count[i];
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (properties < 0 || H5Pset_chunk(properties, SPECTRUM_RANK, chunk) < 0 ||
        H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &missing) < 0) {
        status = mgk_h5_fail(STATUS_UNSUPPORTED, file, "cannot chunk \"singular_values\"");
        goto out;
    }
    CHECK(mgk_h5_create_dataset(file, "singular_values", H5T_NATIVE_DOUBLE, SPECTRUM_RANK, shape,
                                properties, out));
    for (int i = 0; i < SPECTRUM_RANK; i++) {
        hid_t scale;
        CHECK(mgk_h5_create_scale(file, mgk_spectrum_scales[i], mgk_spectrum_labels[i],
                                  grid->count[i], i < SPECTRUM_INDEX ? grid->values[i] : NULL,
                                  &scale));
        CHECK(mgk_h5_set_axis(file, *out, (unsigned)i, mgk_spectrum_labels[i], scale));
    }
out:
    mgk_h5_close(properties);
    return status;
}

static mgk_status write_spectra(const mgk_h5_file *file, const mgk_rank_file *ranks)
{
    mgk_status status = STATUS_OK;
    mgk_spectrum_grid grid;
    hid_t dataset;
    hsize_t start[SPECTRUM_RANK];
    const hsize_t count[SPECTRUM_RANK] = {1, 1, 1, ranks->spectrum_length};
    TRY(mgk_spectrum_grid_open(ranks, &grid));
    CHECK(create_spectra(file, &grid, &dataset));
    for (size_t matrix = 0; matrix < ranks->rows / ranks->thresholds; matrix++) {
        mgk_spectrum_place(&grid, ranks, matrix * ranks->thresholds, start);
        CHECK(mgk_h5_write_box(file, "singular_values", dataset, SPECTRUM_RANK, start, count,
                               H5T_NATIVE_DOUBLE,
                               ranks->singular_values + matrix * ranks->spectrum_length));
    }
out:
    mgk_spectrum_grid_close(&grid);
    return status;
}

static mgk_status fill(mgk_h5_file *file, const mgk_rank_file *ranks)
{
    TRY(mgk_h5_put_string(file, file->id, "format", MGK_RANK_FORMAT));
    TRY(mgk_h5_put_integer(file, file->id, "format_version", MGK_RANK_VERSION));
    TRY(mgk_h5_put_string(file, file->id, "settings", ranks->settings ? ranks->settings : "{}"));
    TRY(mgk_h5_put_integer(file, file->id, "thresholds", (int32_t)ranks->thresholds));
    TRY(write_columns(file, ranks));
    if (ranks->singular_values)
        TRY(write_spectra(file, ranks));
    return mgk_h5_finish(file);
}

mgk_status mgk_rank_file_write(const char *path, bool force, const mgk_rank_file *ranks)
{
    mgk_output output;
    mgk_h5_file file;
    if (ranks->rows == 0 || ranks->rows > INT32_MAX || ranks->thresholds == 0 ||
        ranks->rows % ranks->thresholds != 0)
        return mgk_fail(STATUS_USAGE, "%s: %zu rows of ranks for %zu thresholds", path, ranks->rows,
                        ranks->thresholds);
    TRY(mgk_output_open(path, force, &output));
    mgk_h5_enter();
    mgk_status status = mgk_h5_create(output.temporary, path, &file);
    if (status == STATUS_OK)
        status = fill(&file, ranks);
    mgk_h5_abandon(&file);
    mgk_h5_leave();
    if (status == STATUS_OK)
        status = mgk_output_commit(&output);
    mgk_output_discard(&output);
    return status;
}
