#include "run/rank_table.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "run/recognise.h"
#include "store/rank_file.h"

/* Row i of the file, the first of a matrix. */
static mgk_status add_matrix(const mgk_rank_file *file, size_t i, mgk_rank_table *out)
{
    const int32_t numbers[] = {file->input[i], file->sample[i], file->layer[i], file->head[i],
                               file->n[i]};
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
        if (numbers[k] < 0)
            return mgk_fail(STATUS_FORMAT, "row %zu: %d, expected 0 or more", i, numbers[k]);
    size_t inputs = mgk_rank_table_inputs(out), input = (size_t)file->input[i];
    if (input != inputs && input + 1 != inputs)
        return mgk_fail(STATUS_FORMAT, "row %zu: input %zu, expected them in order from 0", i,
                        input);
    TRY(mgk_rank_table_append(out));
    mgk_rank_row *row = &out->rows[out->row_count - 1];
    mgk_rank_forget_spectrum(row);
    row->input = input;
    row->sample = (size_t)file->sample[i];
    row->layer = (size_t)file->layer[i];
    row->head = (size_t)file->head[i];
    row->n = (size_t)file->n[i];
    row->sigma_max = file->sigma_max[i];
    row->noise_floor = file->noise_floor ? file->noise_floor[i] : NAN;
    for (size_t t = 0; t < file->thresholds; t++) {
        double threshold = file->threshold[i + t];
        int32_t rank = file->rank[i + t];
        if (threshold != out->thresholds[t] && !(isnan(threshold) && isnan(out->thresholds[t])))
            return mgk_fail(STATUS_FORMAT, "row %zu: threshold %g, expected %g", i + t, threshold,
                            out->thresholds[t]);
        if (rank < 0 || rank > file->n[i])
            return mgk_fail(STATUS_FORMAT, "row %zu: rank %d, expected 0 to n = %d", i + t, rank,
                            file->n[i]);
        mgk_rank_count *count = &out->counts[(out->row_count - 1) * file->thresholds + t];
        count->rank = (size_t)rank;
        count->undecided = file->undecided[i + t] == 1;
    }
    return STATUS_OK;
}

/* The spectra of a file belong to its table from here on. */
static mgk_status take_spectra(mgk_rank_file *file, mgk_rank_table *out)
{
    size_t length = file->spectrum_length;
    for (size_t r = 0; r < out->row_count; r++) {
        const double *sigma = file->singular_values + r * length;
        double limit = INFINITY;
        if (out->rows[r].n > length)
            return mgk_fail(STATUS_SHAPE, "matrix %zu: n = %zu, but %zu singular values", r,
                            out->rows[r].n, length);
        for (size_t i = 0; i < out->rows[r].n; limit = sigma[i++])
            if (!(sigma[i] >= 0 && sigma[i] <= limit && isfinite(sigma[i])))
                return mgk_fail(STATUS_FORMAT,
                                "matrix %zu: its singular values are not all there, descending", r);
    }
    out->spectra = file->singular_values;
    out->n_max = length;
    file->singular_values = NULL;
    return STATUS_OK;
}

static mgk_status convert(mgk_rank_file *file, mgk_rank_table *out)
{
    TRY(mgk_rank_table_make(file->thresholds, file->threshold, 0, out));
    for (size_t i = 0; i < file->rows; i += file->thresholds)
        TRY(add_matrix(file, i, out));
    /* Files of other makers may have none. */
    mgk_status status =
        file->settings ? mgk_rank_settings_parse(file->settings, &out->settings) : STATUS_OK;
    if (status == STATUS_MEMORY)
        return status;
    if (status != STATUS_OK)
        mgk_rank_settings_free(&out->settings);
    return file->singular_values ? take_spectra(file, out) : STATUS_OK;
}

static mgk_status read_hdf5(const char *path, bool spectra, mgk_rank_table *out)
{
    mgk_rank_file file;
    TRY(spectra ? mgk_rank_file_read(path, &file) : mgk_rank_file_read_columns(path, &file));
    mgk_status status = convert(&file, out);
    mgk_rank_file_free(&file);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

mgk_status mgk_rank_table_read_any(const char *path, bool spectra, mgk_rank_table *out)
{
    mgk_status status;
    mgk_file_kind kind;
    *out = (mgk_rank_table){0};
    TRY(mgk_recognise(path, &kind));
    if (kind == MGK_FILE_ARRAYS)
        return mgk_fail(STATUS_FORMAT, "%s: arrays, but not rank results as mgk-rank writes them",
                        path);
    status = kind == MGK_FILE_RANKS_HDF5 ? read_hdf5(path, spectra, out)
                                         : mgk_rank_table_read(path, out);
    if (status == STATUS_OK && out->row_count == 0)
        status = mgk_fail(STATUS_FORMAT, "%s: no matrices", path);
    if (status != STATUS_OK)
        mgk_rank_table_free(out);
    return status;
}
