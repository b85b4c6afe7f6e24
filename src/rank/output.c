/* The files of a rank table: CSV, JSON, HDF5. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "rank/rank.h"
#include "store/rank_file.h"

typedef mgk_status (*table_writer)(const mgk_rank_table *table, const char *path, bool force);

static mgk_status allocate_columns(const mgk_rank_table *table, mgk_rank_file *file)
{
    size_t rows = file->rows;
    int32_t **integers[] = {&file->input,     &file->sample, &file->layer,
                            &file->head,      &file->n,      &file->rank,
                            &file->undecided, &file->method, &file->certificate};
    double **reals[] = {&file->threshold,      &file->sigma_max,   &file->sigma_min,
                        &file->effective_rank, &file->stable_rank, &file->sigma_ratio,
                        &file->energy_1,       &file->energy_4,    &file->energy_16,
                        &file->energy_64,      &file->noise_floor};
    for (size_t i = 0; i < sizeof(integers) / sizeof(*integers); i++)
        TRY(mgk_alloc(rows, sizeof(int32_t), integers[i]));
    for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
        TRY(mgk_alloc(rows, sizeof(double), reals[i]));
    return mgk_rank_table_settings(table, &file->settings);
}

static void fill_columns(const mgk_rank_table *table, mgk_rank_file *file)
{
    for (size_t i = 0; i < file->rows; i++) {
        const mgk_rank_row *row = &table->rows[i / file->thresholds];
        const mgk_rank_count *count = &table->counts[i];
        file->input[i] = (int32_t)row->input;
        file->sample[i] = (int32_t)row->sample;
        file->layer[i] = (int32_t)row->layer;
        file->head[i] = (int32_t)row->head;
        file->n[i] = (int32_t)row->n;
        file->rank[i] = (int32_t)count->rank;
        file->undecided[i] = count->undecided;
        file->threshold[i] = table->thresholds[i % file->thresholds];
        file->sigma_max[i] = row->sigma_max;
        file->sigma_min[i] = row->sigma_min;
        file->effective_rank[i] = row->effective_rank;
        file->stable_rank[i] = row->stable_rank;
        file->method[i] = (int32_t)row->method;
        file->certificate[i] = (int32_t)count->certificate;
        file->sigma_ratio[i] = row->sigma_ratio;
        file->energy_1[i] = row->energy[0];
        file->energy_4[i] = row->energy[1];
        file->energy_16[i] = row->energy[2];
        file->energy_64[i] = row->energy[3];
        file->noise_floor[i] = row->noise_floor;
    }
}

static mgk_status write_hdf5(const mgk_rank_table *table, const char *path, bool force)
{
    mgk_rank_file file = {.rows = table->row_count * table->threshold_count,
                          .thresholds = table->threshold_count};
    mgk_status status = allocate_columns(table, &file);
    if (status == STATUS_OK) {
        fill_columns(table, &file);
        file.spectrum_length = table->n_max;
        file.singular_values = table->spectra;
        status = mgk_rank_file_write(path, force, &file);
        file.singular_values = NULL; /* the table's */
    }
    mgk_rank_file_free(&file);
    return status;
}

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

static table_writer writer_of(const char *path)
{
    static const struct {
        const char *ending;
        table_writer write;
    } rows[] = {
        {".csv", mgk_rank_table_write_csv},
        {".json", mgk_rank_table_write_json},
        {".h5", write_hdf5},
        {".hdf5", write_hdf5},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (ends_with(path, rows[i].ending))
            return rows[i].write;
    return NULL;
}

mgk_status mgk_rank_check_endings(const mgk_rank_options *o)
{
    table_writer write = o->output ? writer_of(o->output) : NULL;
    if (o->output && !write)
        return mgk_fail(STATUS_USAGE, "%s: expected an ending .csv, .json or .h5", o->output);
    if (o->spectrum && write != write_hdf5)
        return mgk_fail(STATUS_USAGE, "a spectrum needs an HDF5 output (.h5)");
    if (o->png && !ends_with(o->png, ".png"))
        return mgk_fail(STATUS_USAGE, "%s: expected the ending .png", o->png);
    return STATUS_OK;
}

mgk_status mgk_rank_check_outputs(const mgk_rank_options *o)
{
    if (o->output)
        TRY(mgk_output_check(o->output, o->job.force));
    return o->png ? mgk_output_check(o->png, o->job.force) : STATUS_OK;
}

mgk_status mgk_rank_write_outputs(const mgk_rank_options *o, const mgk_rank_table *table)
{
    /* The numbers first: a picture that cannot be drawn must not take them along. */
    if (o->output)
        TRY(writer_of(o->output)(table, o->output, o->job.force));
    return o->png ? mgk_rank_draw(o, table) : STATUS_OK;
}
