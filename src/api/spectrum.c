/* SPDX-License-Identifier: MIT */
/* mgk_singular_values and mgk_rank_matrix: one matrix of the caller. */
#include "kernels/spectral/spectrum.h"

#include <math.h>

#include "analysis/run/run.h"
#include "api/api.h"
#include "base/memory.h"
#include "run/arguments.h"
#include "run/job.h"

/* The solvers need packed rows and finite entries. */
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

/* A source of one matrix. */
typedef struct single {
    const double *matrix; /* [n, n] in rows `stride` apart */
    size_t n, stride;
    bool named;
} single;

static mgk_status name_group(void *state, size_t most, mgk_group *group, bool *end)
{
    static const int32_t head = 0;
    single *s = state;
    (void)most;
    *end = s->named;
    if (!s->named)
        *group = (mgk_group){.heads = &head, .count = 1, .n = s->n};
    s->named = true;
    return STATUS_OK;
}

static mgk_status prepare_group(void *state, mgk_group *groups, size_t count, size_t *prepared)
{
    const single *s = state;
    for (size_t i = 0; i < count; i++)
        groups[i].n = s->n;
    *prepared = count;
    return STATUS_OK;
}

static mgk_status take_matrix(void *state, const mgk_group *group, size_t which, double *data)
{
    const single *s = state;
    (void)group;
    (void)which;
    return copy_matrix(s->matrix, s->n, s->stride, data);
}

static mgk_status count_single(single *s, double threshold, const mgk_job *job,
                               mgk_rank_table *table)
{
    mgk_device *device;
    const mgk_source source = {.n_max = s->n,
                               .count = 1,
                               .next = name_group,
                               .prepare = prepare_group,
                               .take = take_matrix,
                               .state = s};
    TRY(mgk_job_open_device(job, true, &device));
    const mgk_rank_run_options options = {.threshold_count = 1,
                                          .thresholds = &threshold,
                                          .count_only = true,
                                          .allow_zero_rows = true,
                                          .threads = job->threads,
                                          .device = device};
    mgk_status status = mgk_rank_run(&source, &options, table);
    mgk_device_close(device);
    return status;
}

static mgk_status count_rank(const double *matrix, size_t n, size_t stride, double threshold,
                             const mgk_job *job, mgk_matrix_rank *out)
{
    mgk_rank_table table;
    TRY(mgk_check_array("entries", matrix, n));
    TRY(mgk_check_place("place for the rank", out));
    if (stride < n)
        return mgk_fail(STATUS_USAGE, "rows %zu apart: expected at least %zu", stride, n);
    single s = {matrix, n, stride, false};
    TRY(count_single(&s, threshold, job, &table));
    *out = (mgk_matrix_rank){
        .rank = table.counts[0].rank,
        .rank_low = table.counts[0].rank_low,
        .rank_high = table.counts[0].rank_high,
        .undecided = table.counts[0].undecided,
        .certificate = mgk_certificate_names[table.counts[0].certificate],
        .method = mgk_rank_method_names[table.rows[0].method],
        .sigma_max = table.rows[0].sigma_max,
        .nearest = table.counts[0].nearest,
    };
    mgk_rank_table_free(&table);
    return STATUS_OK;
}

mgk_result mgk_rank_matrix(const double *matrix, size_t n, size_t stride, double threshold,
                           const mgk_job *job, mgk_matrix_rank *out)
{
    if (out)
        *out = (mgk_matrix_rank){0};
    return mgk_api_result(count_rank(matrix, n, stride, threshold, mgk_job_or_default(job), out));
}
