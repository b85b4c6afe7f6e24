#include <string.h>

#include "base/memory.h"
#include "store/rank_columns.h"

static mgk_status read_column(const mgk_h5_file *file, const mgk_rank_column *column,
                              mgk_rank_file *ranks)
{
    mgk_status status = STATUS_OK;
    const hsize_t start = 0;
    hsize_t count;
    int rank;
    hid_t dataset, type = mgk_rank_column_type(column);
    void **values = mgk_rank_column_of(ranks, column);
    TRY(mgk_h5_open_dataset(file, column->name, column->real ? H5T_FLOAT : H5T_INTEGER, 1, &dataset,
                            &rank, &count));
    if (ranks->rows == 0)
        ranks->rows = count;
    if (ranks->rows != count) {
        status = mgk_fail(STATUS_SHAPE, "%s: \"%s\" has %llu rows, expected %zu", file->path,
                          column->name, (unsigned long long)count, ranks->rows);
        goto out;
    }
    CHECK(mgk_alloc(count, H5Tget_size(type), values));
    CHECK(mgk_h5_read_box(file, column->name, dataset, 1, &start, &count, type, *values));
out:
    mgk_h5_close(dataset);
    return status;
}

/* The shape follows from the columns, but for the length of the spectra. */
static mgk_status check_grid(const mgk_h5_file *file, mgk_spectrum_grid *grid, int rank,
                             const hsize_t *shape)
{
    bool same = rank == SPECTRUM_RANK;
    for (int i = 0; same && i < SPECTRUM_INDEX; i++)
        same = shape[i] == grid->count[i];
    if (same)
        return STATUS_OK;
    char text[200];
    mgk_h5_shape_text(rank, shape, text, sizeof(text));
    return mgk_fail(STATUS_SHAPE, "%s: \"singular_values\" is %s, expected [%zu, %zu, %zu, index]",
                    file->path, text, grid->count[0], grid->count[1], grid->count[2]);
}

static mgk_status read_spectra(const mgk_h5_file *file, mgk_rank_file *ranks)
{
    mgk_status status = STATUS_OK;
    mgk_spectrum_grid grid = {0};
    hid_t dataset;
    int rank;
    hsize_t shape[SPECTRUM_RANK], start[SPECTRUM_RANK], count[SPECTRUM_RANK] = {1, 1, 1};
    size_t values;
    TRY(mgk_h5_open_dataset(file, "singular_values", H5T_FLOAT, SPECTRUM_RANK, &dataset, &rank,
                            shape));
    CHECK(mgk_spectrum_grid_open(ranks, &grid));
    CHECK(check_grid(file, &grid, rank, shape));
    count[SPECTRUM_INDEX] = ranks->spectrum_length = shape[SPECTRUM_INDEX];
    size_t matrices = ranks->rows / ranks->thresholds;
    CHECK(mgk_multiply(matrices, ranks->spectrum_length, &values));
    CHECK(mgk_alloc(values, sizeof(double), &ranks->singular_values));
    for (size_t matrix = 0; matrix < matrices; matrix++) {
        mgk_spectrum_place(&grid, ranks, matrix * ranks->thresholds, start);
        CHECK(mgk_h5_read_box(file, "singular_values", dataset, SPECTRUM_RANK, start, count,
                              H5T_NATIVE_DOUBLE,
                              ranks->singular_values + matrix * ranks->spectrum_length));
    }
out:
    mgk_spectrum_grid_close(&grid);
    mgk_h5_close(dataset);
    return status;
}

static mgk_status check_format(const mgk_h5_file *file)
{
    char *format;
    int32_t version;
    TRY(mgk_h5_get_string(file, file->id, "format", &format));
    bool known = format && strcmp(format, MGK_RANK_FORMAT) == 0;
    mgk_free(format);
    if (!known)
        return mgk_fail(STATUS_FORMAT, "%s: not a rank file", file->path);
    TRY(mgk_h5_get_integer(file, file->id, "format_version", 0, &version));
    if (version != MGK_RANK_VERSION)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: format_version is %d, expected %d", file->path,
                        version, MGK_RANK_VERSION);
    return STATUS_OK;
}

static mgk_status read_file(const mgk_h5_file *file, bool spectra, mgk_rank_file *out)
{
    int32_t thresholds;
    TRY(check_format(file));
    TRY(mgk_h5_get_string(file, file->id, "settings", &out->settings));
    for (int i = 0; i < RANK_COLUMNS; i++) {
        const mgk_rank_column *column = &mgk_rank_columns[i];
        if (!column->optional || mgk_h5_has_dataset(file, column->name))
            TRY(read_column(file, column, out));
    }
    TRY(mgk_h5_get_integer(file, file->id, "thresholds", 1, &thresholds));
    if (thresholds < 1 || out->rows % (size_t)thresholds != 0)
        return mgk_fail(STATUS_SHAPE, "%s: %zu rows for %d thresholds", file->path, out->rows,
                        thresholds);
    out->thresholds = (size_t)thresholds;
    spectra = spectra && mgk_h5_has_dataset(file, "singular_values");
    return spectra ? read_spectra(file, out) : STATUS_OK;
}

static mgk_status read_path(const char *path, bool spectra, mgk_rank_file *out)
{
    mgk_h5_file file;
    *out = (mgk_rank_file){0};
    mgk_h5_enter();
    mgk_status status = mgk_h5_open(path, &file);
    if (status == STATUS_OK)
        status = read_file(&file, spectra, out);
    mgk_h5_abandon(&file);
    mgk_h5_leave();
    if (status != STATUS_OK)
        mgk_rank_file_free(out);
    return status;
}

mgk_status mgk_rank_file_read(const char *path, mgk_rank_file *out)
{
    return read_path(path, true, out);
}

mgk_status mgk_rank_file_read_columns(const char *path, mgk_rank_file *out)
{
    return read_path(path, false, out);
}

void mgk_rank_file_free(mgk_rank_file *ranks)
{
    for (int i = 0; i < RANK_COLUMNS; i++)
        mgk_free(*mgk_rank_column_of(ranks, &mgk_rank_columns[i]));
    mgk_free(ranks->singular_values);
    mgk_free(ranks->settings);
    *ranks = (mgk_rank_file){0};
}
