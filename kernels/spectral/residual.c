/* SPDX-License-Identifier: MIT */
#include "kernels/spectral/residual.h"

#include <math.h>

#include "base/memory.h"
#include "kernels/cpu/variant.h"
#include "kernels/spectral/rounding.h"

struct mgk_residual_arrays {
    const mgk_reductions *reductions;
    double *work;
};

mgk_status mgk_residual_open(size_t n_max, mgk_residual_arrays **out)
{
    mgk_status status;
    mgk_residual_arrays *arrays = NULL;
    mgk_cpu_variant variant;
    *out = NULL;
    TRY(mgk_cpu_choose_variant(&variant));
    CHECK(mgk_alloc(1, sizeof(*arrays), &arrays));
    arrays->reductions = variant.reductions;
    CHECK(mgk_alloc(mgk_residual_work(n_max), sizeof(double), &arrays->work));
    *out = arrays;
    arrays = NULL;
out:
    mgk_residual_close(arrays);
    return status;
}

void mgk_residual_close(mgk_residual_arrays *arrays)
{
    if (!arrays)
        return;
    mgk_free(arrays->work);
    mgk_free(arrays);
}

void mgk_residual_apply(mgk_residual_arrays *arrays, const mgk_residual *r, double *w)
{
    arrays->reductions->residual(r, w, arrays->work);
}

double mgk_residual_noise(const mgk_residual *r)
{
    const double terms = mgk_gamma((double)(r->n + 2));
    const double size = r->norm + r->factor * r->b_squares + r->growth + r->x;
    return 16 * sqrt((double)r->n) * terms * terms * size;
}

void mgk_residual_multiply(mgk_residual_arrays *arrays, const mgk_residual *r, double *w)
{
    arrays->reductions->multiply_exactly(r, w, arrays->work);
}

double mgk_residual_multiply_noise(size_t n, double norm)
{
    const double terms = mgk_gamma((double)(n + 2));
    return 8 * sqrt((double)n) * terms * terms * norm;
}
