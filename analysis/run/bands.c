/* SPDX-License-Identifier: MIT */
#include "analysis/run/bands.h"

#include <math.h>

#include "base/memory.h"
#include "kernels/spectral/spectrum.h"

struct mgk_bands {
    int threads;
    mgk_spectrum **workspaces; /* [threads] */
};

void mgk_bands_close(mgk_bands *bands)
{
    if (!bands)
        return;
    for (int i = 0; i < bands->threads; i++)
        mgk_spectrum_close(bands->workspaces[i]);
    mgk_free(bands->workspaces);
    mgk_free(bands);
}

mgk_status mgk_bands_open(int threads, size_t n_max, mgk_bands **out)
{
    mgk_status status = STATUS_OK;
    mgk_bands *bands;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*bands), &bands));
    CHECK(mgk_alloc((size_t)threads, sizeof(mgk_spectrum *), &bands->workspaces));
    for (; bands->threads < threads; bands->threads++)
        CHECK(mgk_spectrum_open_for_bands(n_max, &bands->workspaces[bands->threads]));
    *out = bands;
    bands = NULL;
out:
    mgk_bands_close(bands);
    return status;
}

int mgk_bands_threads(const mgk_bands *bands)
{
    return bands->threads;
}

void mgk_bands_solve(mgk_bands *bands, int thread, size_t order, const double *band, double *sigma)
{
    mgk_status status = mgk_spectrum_compute_band(bands->workspaces[thread], order, band, sigma);
    for (size_t k = 0; k < order && status != STATUS_OK; k++)
        sigma[k] = (double)NAN;
}
