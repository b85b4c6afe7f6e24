/* SPDX-License-Identifier: MIT */
/*
 * Large matrices of a device, counted by several threads; the CPU stands for the device, and
 * matrices are small.
 */
#include "test.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

#include "analysis/matrices.h"
#include "analysis/run/counters.h"
#include "analysis/run/run.h"
#include "analysis/source.h"
#include "base/hash.h"
#include "base/memory.h"
#include "kernels/spectral/inertia.h"
#include "kernels/spectral/residual.h"

enum { N_MAX = MGK_BISECTION_ORDER + 1, MATRICES = 14, MOST = 4 };

static const size_t sizes[] = {60, 0, 70, 1, 48, 65, 2};
static const double published = 1e-6;
static const size_t gigabyte = (size_t)1 << 30;

/* The source, and the device. */
static struct {
    size_t failing;           /* index of an unreadable matrix */
    size_t faulty;            /* order of the matrices that the device cannot count */
    size_t memory, used;      /* bytes of the device */
    int opened, closed;       /* times */
    mgk_device *seen[MOST];   /* the devices that have counted */
    mgk_device *busy[MOST];   /* by thread */
    int expected, seen_count; /* devices */
    bool shared;              /* two threads used a device at the same time */
} run;

static const mgk_operations *own;
static mgk_operations able;
static mgk_spectral_operations spectral;

static size_t order_of(const void *context, size_t i)
{
    (void)context;
    return sizes[i % (sizeof sizes / sizeof *sizes)];
}

static void fill(const void *context, size_t i, size_t n, double *data)
{
    (void)context;
    test_matrix_softmax(i, n, 2, i % 3 == 1, data);
}

static mgk_status open_again(mgk_device *self, mgk_device **out)
{
    (void)self;
    TRY(mgk_device_open("cpu", MGK_DOUBLE, 1, out));
    (*out)->op = &able;
    run.opened++;
    return STATUS_OK;
}

static void close_device(mgk_device *self)
{
    run.closed++;
    own->close(self);
}

static mgk_status allocate(mgk_device *self, size_t bytes, void *out)
{
    run.used += bytes;
    return own->allocate(self, bytes, out);
}

static mgk_status memory(mgk_device *self, size_t *left, size_t *total)
{
    (void)self;
    *total = run.memory;
    *left = run.used < run.memory ? run.memory - run.used : 0;
    return STATUS_OK;
}

/* ‖ |A|ᵀ|A| ‖₂ <= ‖A‖² (Frobenius) */
static mgk_status bound_square(mgk_device *self, size_t n, size_t stride, const double *a,
                               double *bound)
{
    (void)self;
    *bound = 0;
    for (size_t i = 0; i < n; i++)
        *bound += cblas_ddot((int)n, a + i * stride, 1, a + i * stride, 1);
    *bound *= 1 + 0x1p-30;
    return STATUS_OK;
}

/* Remembers that this device counts. Each waits for the others before its first count. */
static void enter(mgk_device *self)
{
    bool first = true, all;
#pragma omp critical(counters)
    {
        for (int t = 0; t < MOST; t++)
            run.shared |= t != omp_get_thread_num() && run.busy[t] == self;
        for (int d = 0; d < run.seen_count; d++)
            first &= run.seen[d] != self;
        if (first && run.seen_count < MOST)
            run.seen[run.seen_count++] = self;
        run.busy[omp_get_thread_num()] = self;
    }
    const double start = omp_get_wtime();
    do {
#pragma omp critical(counters)
        all = run.seen_count >= run.expected;
    } while (first && !all && omp_get_wtime() < start + 30);
}

static mgk_status shifted_inertia(mgk_device *self, size_t n, const double *product,
                                  const double *b, double x, double scale, double *work,
                                  size_t *positive, double *growth)
{
    mgk_inertia_work *inertia;
    enter(self);
    if (n == run.faulty || n + 1 == run.faulty)
        return mgk_fail(STATUS_DEVICE, "order %zu", run.faulty);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            work[i * n + j] = product[i * n + j] - (b ? scale * b[i] * b[j] : 0) - (i == j ? x : 0);
    TRY(mgk_inertia_open(n, &inertia));
    const mgk_inertia found = mgk_inertia_count(inertia, n, work, n);
    mgk_inertia_close(inertia);
    *positive = found.positive;
    *growth = found.growth;
#pragma omp critical(counters)
    run.busy[omp_get_thread_num()] = NULL;
    return STATUS_OK;
}

static mgk_status solve_factored(mgk_device *self, size_t n, const double *work, size_t count,
                                 double *rows)
{
    const int order = (int)n, many = (int)count;
    (void)self;
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, many, order, 1, work,
                order, rows, order);
    for (size_t e = 0; e < count * n; e++)
        rows[e] /= work[e % n * (n + 1)];
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasUnit, many, order, 1,
                work, order, rows, order);
    return STATUS_OK;
}

/* E w, or C w, of each row, by the host's functions. */
static mgk_status images(void (*apply)(mgk_residual_arrays *, const mgk_residual *, double *),
                         const mgk_residual *r, size_t count, double *rows)
{
    const size_t n = r->n, pitch = mgk_reduction_pitch(n);
    mgk_residual_arrays *arrays;
    double *w;
    TRY(mgk_residual_open(n, &arrays));
    TRY(mgk_alloc(MGK_RESIDUAL_VECTORS * pitch, sizeof *w, &w));
    for (size_t k = 0; k < count; k++) {
        memset(w, 0, MGK_RESIDUAL_VECTORS * pitch * sizeof *w);
        memcpy(w, rows + k * n, n * sizeof *w);
        apply(arrays, r, w);
        memcpy(rows + k * n, w, n * sizeof *w);
    }
    mgk_free(w);
    mgk_residual_close(arrays);
    return STATUS_OK;
}

static mgk_status residual_images(mgk_device *self, const mgk_residual *r, size_t count,
                                  double *rows)
{
    (void)self;
    return images(mgk_residual_apply, r, count, rows);
}

static mgk_status exact_images(mgk_device *self, const mgk_residual *r, size_t count, double *rows)
{
    (void)self;
    return images(mgk_residual_multiply, r, count, rows);
}

static mgk_status hash_entries(mgk_device *self, size_t rows, size_t columns, size_t stride,
                               const double *a, uint64_t *hash)
{
    (void)self;
    *hash = MGK_HASH_START;
    for (size_t i = 0; i < rows; i++)
        *hash = mgk_hash(*hash, a + i * stride, columns * sizeof *a);
    return STATUS_OK;
}

/* Counts on the device, or on the host's threads. */
static mgk_status rank(bool there, mgk_rank_run_options options, mgk_rank_table *table)
{
    mgk_device *device;
    test_source synthetic = {.count = MATRICES,
                             .heads = 1,
                             .layers = 1,
                             .n_max = N_MAX,
                             .order = order_of,
                             .fill = fill,
                             .failing = run.failing};
    const mgk_source source = test_source_of(&synthetic);
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    own = device->op;
    able = *own;
    spectral = *own->spectral;
    able.spectral = &spectral;
    able.open_again = open_again;
    able.close = close_device;
    able.allocate = allocate;
    able.memory = memory;
    spectral.bound_square = bound_square;
    spectral.shifted_inertia = shifted_inertia;
    spectral.solve_factored = solve_factored;
    spectral.residual_images = residual_images;
    spectral.exact_images = exact_images;
    spectral.hash_entries = hash_entries;
    device->op = &able;
    device->accelerator = true;
    options.threshold_count = 1;
    options.thresholds = &published;
    options.count_only = true;
    options.device = there ? device : NULL;
    run.used = 0;
    run.opened = run.closed = run.seen_count = 0;
    run.shared = false;
    memset(run.busy, 0, sizeof run.busy);
    mgk_status status = mgk_rank_run(&source, &options, table);
    device->op = own;
    mgk_device_close(device);
    assert_false(synthetic.misused);
    assert_false(run.shared);
    assert_int_equal(run.opened, run.closed);
    return status;
}

static int nothing_wrong(void **state)
{
    (void)state;
    run.failing = run.faulty = SIZE_MAX;
    run.memory = gigabyte;
    run.expected = 1;
    return 0;
}

static void ranks_are_the_same(void **state)
{
    (void)state;
    mgk_rank_table plain, there;
    assert_ok(rank(false, (mgk_rank_run_options){.threads = 1}, &plain));
    for (int threads = 1; threads <= MOST; threads++) {
        size_t counted = 0;
        run.expected = threads;
        assert_ok(rank(true, (mgk_rank_run_options){.threads = threads}, &there));
        assert_int_equal(run.seen_count, threads);
        assert_int_equal(run.opened, threads - 1);
        for (size_t r = 0; r < MATRICES; r++) {
            assert_int_equal(there.rows[r].sample, r);
            assert_int_equal(there.rows[r].n, plain.rows[r].n);
            assert_int_equal(there.counts[r].rank, plain.counts[r].rank);
            counted += there.rows[r].method == MGK_METHOD_GRAM;
        }
        assert_true(counted > 2 && counted < MATRICES);
        mgk_rank_table_free(&there);
    }
    mgk_rank_table_free(&plain);
}

/* A batch holds two matrices per thread, but no more than a quarter of the device's memory. */
static void little_memory_means_fewer_threads(void **state)
{
    (void)state;
    const size_t matrix = sizeof(double) * N_MAX * N_MAX;
    mgk_rank_table table;
    mgk_rank_run_options options = {.threads = MOST};
    run.memory = 40 * matrix; /* a quarter for the batch; half of the rest for counters */
    assert_ok(rank(true, options, &table));
    assert_in_range(run.opened + 1, MOST, MOST);
    mgk_rank_table_free(&table);
    run.memory = 14 * matrix;
    assert_ok(rank(true, options, &table));
    assert_in_range(run.opened + 1, 2, 2);
    mgk_rank_table_free(&table);
    run.memory = gigabyte;
    options.memory = 1; /* of the host: one counter works alone */
    assert_ok(rank(true, options, &table));
    assert_int_equal(run.opened, 0);
    mgk_rank_table_free(&table);
}

static void the_earliest_failure_is_reported(void **state)
{
    (void)state;
    mgk_rank_table table;
    run.faulty = 70;
    for (int threads = 1; threads <= 2; threads++) {
        assert_fails(rank(true, (mgk_rank_run_options){.threads = threads}, &table), STATUS_DEVICE);
        assert_non_null(strstr(mgk_fail_message(), "order 70"));
    }
    run.failing = 1;
    assert_fails(rank(true, (mgk_rank_run_options){.threads = 2}, &table), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ranks_are_the_same, nothing_wrong),
        cmocka_unit_test_setup(little_memory_means_fewer_threads, nothing_wrong),
        cmocka_unit_test_setup(the_earliest_failure_is_reported, nothing_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
