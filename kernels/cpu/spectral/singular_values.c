/* SPDX-License-Identifier: MIT */
/* Singular values of many matrices, one matrix per thread. */
#include "kernels/cpu/spectral/singular_values.h"

#include <math.h>
#include <omp.h>

#include "base/memory.h"
#include "kernels/spectral/spectrum.h"

static mgk_status open_workspaces(size_t count, size_t n, mgk_spectrum **workspaces)
{
    for (size_t i = 0; i < count; i++)
        TRY(mgk_spectrum_open(n, &workspaces[i]));
    return STATUS_OK;
}

/* One matrix: the first `order` of sigma [n] are its values. */
static void solve(mgk_spectrum *workspace, size_t n, size_t order, double *matrix, double *sigma)
{
    bool solved = mgk_spectrum_compute(workspace, order, matrix, sigma) == STATUS_OK;
    for (size_t k = solved ? order : 0; k < n; k++)
        sigma[k] = k < order ? (double)NAN : 0;
}

mgk_status mgk_cpu_singular_values(mgk_device *device, size_t count, size_t n, const size_t *orders,
                                   double *matrices, double *sigma)
{
    mgk_status status;
    size_t threads = (size_t)device->threads < count ? (size_t)device->threads : count;
    mgk_spectrum **workspaces;
    if (count == 0)
        return STATUS_OK;
    TRY(mgk_alloc(threads, sizeof(mgk_spectrum *), &workspaces));
    CHECK(open_workspaces(threads, n, workspaces));
#pragma omp parallel for schedule(dynamic) num_threads((int)threads)
    for (size_t i = 0; i < count; i++)
        solve(workspaces[omp_get_thread_num()], n, orders[i], matrices + i * n * n, sigma + i * n);
out:
    for (size_t i = 0; i < threads; i++)
        mgk_spectrum_close(workspaces[i]);
    mgk_free(workspaces);
    return status;
}
