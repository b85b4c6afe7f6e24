/*
 * Gathering a batch. What a file holds is read and measured by the threads of the host and then
 * brought to the device as a whole; what is computed on a device stays there and is measured there.
 */
#include "analysis/run/batch.h"
#include "base/memory.h"

/* Fetches a matrix into place *i of the batch; false when it is full, or there are no more. */
static bool pull(mgk_rank_batch *batch, mgk_matrix *matrix, size_t *i)
{
    double *matrices = batch->host ? batch->host : batch->matrices;
    omp_set_lock(&batch->work->lock);
    *i = batch->count;
    bool got = *i < batch->capacity;
    if (got) {
        matrix->data = matrices + *i * batch->n_max * batch->n_max;
        got = mgk_rank_work_pull(batch->work, matrix, &batch->places[*i]);
    }
    if (got)
        batch->orders[batch->count++] = matrix->n;
    omp_unset_lock(&batch->work->lock);
    return got;
}

/* Under no lock: tells how far things are, or what has failed. */
static void report(mgk_rank_batch *batch, size_t i, mgk_status status)
{
    omp_set_lock(&batch->work->lock);
    if (status == STATUS_OK)
        mgk_rank_work_tell(batch->work);
    else
        mgk_rank_work_record(batch->work, batch->places[i], status);
    omp_unset_lock(&batch->work->lock);
}

/* One thread of the host: matrices until the batch is full. */
static void read_matrices(mgk_rank_batch *batch)
{
    mgk_matrix matrix;
    size_t i;
    while (pull(batch, &matrix, &i)) {
        double *scratch = batch->sigma + i * batch->n_max;
        report(batch, i, mgk_rank_work_measure(batch->work, &matrix, scratch, &batch->rows[i]));
    }
}

static mgk_status bring(const mgk_rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    const size_t bytes = batch->count * batch->n_max * batch->n_max * sizeof(double);
    return device->op->upload(device, batch->matrices, batch->host, bytes);
}

/* What the device cannot say of matrix i: the host measures a copy. */
static mgk_status look_closer(const mgk_rank_batch *batch, size_t i)
{
    mgk_device *device = batch->work->options->device;
    const size_t n = batch->orders[i], entries = batch->n_max * batch->n_max;
    mgk_rank_row *row = &batch->rows[i];
    mgk_matrix matrix = {.sample = row->sample, .layer = row->layer, .head = row->head, .n = n};
    TRY(mgk_alloc(n * n, sizeof(*matrix.data), &matrix.data));
    mgk_status status = device->op->download(device, matrix.data, batch->matrices + i * entries,
                                             n * n * sizeof(*matrix.data));
    if (status == STATUS_OK)
        status = mgk_rank_work_measure(batch->work, &matrix, batch->sigma, row);
    mgk_free(matrix.data);
    return status;
}

/* The sum of a row of zeros is 1 from what it should be. */
static bool may_have_zero_rows(const mgk_rank_batch *batch, size_t i)
{
    return batch->rows[i].row_sum_error >= 1 && !batch->work->options->allow_zero_rows;
}

static mgk_status measure(mgk_rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    const mgk_source *source = batch->work->source;
    TRY(source->device->op->synchronize(source->device));
    TRY(device->op->measure_entries(device, batch->count, batch->n_max, batch->orders,
                                    batch->matrices, batch->entries));
    for (size_t i = 0; i < batch->count; i++)
        if (!mgk_rank_describe_entries(batch->orders[i], &batch->entries[i], source->grid,
                                       &batch->rows[i]) ||
            may_have_zero_rows(batch, i))
            report(batch, i, look_closer(batch, i));
    return STATUS_OK;
}

/* The source computes them in turn, on the device. */
static mgk_status compute_matrices(mgk_rank_batch *batch)
{
    mgk_matrix matrix;
    size_t i;
    while (pull(batch, &matrix, &i)) {
        batch->rows[i] = mgk_rank_work_row(&matrix);
        report(batch, i, STATUS_OK);
    }
    return batch->count > 0 ? measure(batch) : STATUS_OK;
}

void mgk_rank_batch_gather(mgk_rank_batch *batch)
{
    mgk_status status;
    batch->count = 0;
    if (batch->host) {
#pragma omp parallel num_threads(batch->work->threads)
        read_matrices(batch);
        status = batch->count > 0 ? bring(batch) : STATUS_OK;
    } else {
        status = compute_matrices(batch);
    }
    if (status != STATUS_OK)
        mgk_rank_work_record(batch->work, batch->count > 0 ? batch->places[0] : 0, status);
}
