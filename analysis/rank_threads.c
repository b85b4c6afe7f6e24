/* Ranks on the host: one matrix a thread. */
#include <stdint.h>

#include "analysis/rank_work.h"
#include "base/memory.h"
#include "kernels/spectrum.h"

/* What one thread owns. */
typedef struct rank_worker {
    mgk_matrix matrix;
    size_t row_index; /* of the matrix, in the table */
    double *sigma;    /* [n_max] */
    mgk_spectrum *spectrum;
} rank_worker;

static bool pull(mgk_rank_work *work, rank_worker *worker)
{
    omp_set_lock(&work->lock);
    bool got = mgk_rank_work_pull(work, &worker->matrix, &worker->row_index);
    omp_unset_lock(&work->lock);
    return got;
}

/* Everything about the matrix that needs no lock. */
static mgk_status measure(const mgk_rank_work *work, rank_worker *worker, mgk_rank_row *row)
{
    const mgk_matrix *matrix = &worker->matrix;
    TRY(mgk_rank_work_measure(work, matrix, worker->sigma, row));
    mgk_status status =
        mgk_spectrum_compute(worker->spectrum, matrix->n, matrix->data, worker->sigma);
    if (status != STATUS_OK)
        return mgk_rank_work_fail(status, row);
    mgk_rank_measure_spectrum(matrix->n, worker->sigma, row);
    return STATUS_OK;
}

static mgk_status open_worker(size_t n_max, rank_worker *worker)
{
    size_t entries;
    TRY(mgk_multiply(n_max, n_max, &entries));
    TRY(mgk_spectrum_open(n_max, &worker->spectrum));
    TRY(mgk_alloc(n_max, sizeof(double), &worker->sigma));
    return mgk_alloc(entries, sizeof(double), &worker->matrix.data);
}

static void close_worker(rank_worker *worker)
{
    mgk_spectrum_close(worker->spectrum);
    mgk_free(worker->sigma);
    mgk_free(worker->matrix.data);
}

/* One thread: matrices until there are no more. */
static void run_thread(mgk_rank_work *work)
{
    rank_worker worker = {.row_index = SIZE_MAX};
    mgk_rank_row row;
    mgk_status status = open_worker(work->source->n_max, &worker);
    while (status == STATUS_OK && pull(work, &worker)) {
        status = measure(work, &worker, &row);
        if (status != STATUS_OK)
            break;
        omp_set_lock(&work->lock);
        mgk_rank_work_store(work, worker.row_index, &row, row.n, worker.sigma);
        omp_unset_lock(&work->lock);
    }
    if (status != STATUS_OK) {
        omp_set_lock(&work->lock);
        mgk_rank_work_record(work, worker.row_index, status);
        omp_unset_lock(&work->lock);
    }
    close_worker(&worker);
}

void mgk_rank_by_threads(mgk_rank_work *work)
{
#pragma omp parallel num_threads(work->threads)
    run_thread(work);
}
