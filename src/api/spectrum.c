/* mgk_singular_values: the solver for one matrix of the caller's. */
#include "kernels/spectral/spectrum.h"

#include <math.h>

#include "api/api.h"
#include "base/memory.h"
#include "run/arguments.h"

/* The solver wants rows packed, numbers finite, and its matrix for itself. */
static mgk_status copy_matrix(const double *matrix, size_t n, size_t stride, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double entry = matrix[i * stride + j];
            if (!isfinite(entry))
                return mgk_fail(STATUS_NUMERIC, "entry [%zu, %zu] is %g", i, j, entry);
            out[i * n + j] = entry;
        }
    return STATUS_OK;
}

static mgk_status compute(const double *matrix, size_t n, size_t stride, double *values)
{
    mgk_status status;
    mgk_spectrum *workspace = NULL;
    double *copy = NULL;
    size_t entries;
    TRY(mgk_check_array("entries", matrix, n));
    TRY(mgk_check_array("singular values", values, n));
    if (stride < n)
        return mgk_fail(STATUS_USAGE, "rows %zu apart: expected at least %zu", stride, n);
    CHECK(mgk_spectrum_open(n, &workspace));
    CHECK(mgk_multiply(n, n, &entries));
    CHECK(mgk_alloc(entries, sizeof(*copy), &copy));
    CHECK(copy_matrix(matrix, n, stride, copy));
    CHECK(mgk_spectrum_compute(workspace, n, copy, values));
out:
    mgk_free(copy);
    mgk_spectrum_close(workspace);
    return status;
}

mgk_result mgk_singular_values(const double *matrix, size_t n, size_t stride, double *values)
{
    return mgk_api_result(compute(matrix, n, stride, values));
}
