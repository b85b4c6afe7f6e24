#include "analysis/run/bands.h"

#include <math.h>

#include "base/memory.h"
#include "kernels/spectral/spectrum.h"

struct mgk_rank_bands {
    int threads;
    mgk_spectrum **workspaces; /* [threads] */
};

mgk_status mgk_rank_bands_open(int threads, size_t n_max, mgk_rank_bands **out)
{
    mgk_status status = STATUS_OK;
    mgk_rank_bands *bands;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*bands), &bands));
    CHECK(mgk_alloc((size_t)threads, sizeof(mgk_spectrum *), &bands->workspaces));
    for (; bands->threads < threads; bands->threads++)
        CHECK(mgk_spectrum_open_for_bands(n_max, &bands->workspaces[bands->threads]));
    *out = bands;
    bands = NULL;
out:
    mgk_rank_bands_close(bands);
    return status;
}

void mgk_rank_bands_close(mgk_rank_bands *bands)
{
    if (!bands)
        return;
    for (int i = 0; i < bands->threads; i++)
        mgk_spectrum_close(bands->workspaces[i]);
    mgk_free(bands->workspaces);
    mgk_free(bands);
}

static mgk_status reduce(const mgk_rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    TRY(device->op->reduce_to_bands(device, batch->left, batch->n_max, batch->orders,
                                    batch->matrices, batch->bands.array));
    return device->op->mirror_send(device, &batch->bands);
}

/* Until the bands have come, the device may read the matrices. */
static mgk_status wait(const mgk_rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    return device->op->mirror_wait(device, &batch->bands);
}

/* Messages belong to threads: whoever failed records it. */
static void record(mgk_rank_batch *batch, mgk_status status)
{
    if (status == STATUS_OK)
        return;
    omp_set_lock(&batch->work->lock);
    mgk_rank_work_record(batch->work, batch->places[0], status);
    omp_unset_lock(&batch->work->lock);
    batch->left = 0;
}

/* The singular values of band i. */
static void solve(mgk_spectrum *workspace, const mgk_rank_batch *batch, size_t i)
{
    const size_t order = batch->orders[i];
    const double *bands = batch->bands.host;
    double *sigma = batch->sigma + i * batch->n_max;
    mgk_status status = mgk_spectrum_compute_band(
        workspace, order, bands + i * mgk_band_entries(batch->n_max), sigma);
    for (size_t k = 0; k < order && status != STATUS_OK; k++)
        sigma[k] = (double)NAN;
}

/*
 * Calling the device takes a thread as long as its queue is full, so one of them does nothing else
 * until all is called. It joins the others then; what the device still does, it does beside them.
 */
void mgk_rank_bands_turn(mgk_rank_bands *bands, mgk_rank_batch *now, mgk_rank_batch *before)
{
#pragma omp parallel num_threads(bands->threads)
    {
#pragma omp single nowait
        if (now->left > 0)
            record(now, reduce(now));
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < before->left; i++)
            solve(bands->workspaces[omp_get_thread_num()], before, i);
    }
    if (now->left > 0)
        record(now, wait(now));
}
