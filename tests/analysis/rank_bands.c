/* SPDX-License-Identifier: MIT */
/* Spectra in two steps; the CPU stands for a device with little memory, a few matrices per batch.
 * Copies to the host happen only when the host waits for them. */
#include "test.h"

#include <string.h>

#include "analysis/matrices.h"
#include "analysis/run/run.h"
#include "analysis/source.h"
#include "base/memory.h"
#include "kernels/blas.h"
#include "kernels/cpu/variant.h"

enum { LARGEST = 70, N_MAX = LARGEST + 1, BATCH = 4, MATRICES = 18 };

static const size_t sizes[] = {33, 0, 70, 1, 32, 65, 2};
static const double published = 1e-6;

/* The source, and the requests to the device. */
static struct {
    size_t failing, huge; /* index of an unreadable matrix; index of a matrix with overflowing
                             singular values */
    size_t done, reduced, batches;
    bool ahead; /* at each reduction, the previous batch was still unfinished */
    volatile sig_atomic_t cancel;
    size_t cancel_at;
} run;

static size_t order_of(const void *context, size_t i)
{
    (void)context;
    return sizes[i % (sizeof sizes / sizeof *sizes)];
}

static void fill(const void *context, size_t i, size_t n, double *data)
{
    (void)context;
    test_matrix_softmax(i, n, 2, i % 3 == 1, data);
    for (size_t k = 0; i == run.huge && k < n * n; k++)
        data[k] = (k + k / n) % 2 ? -1.7e308 : 1.7e308;
}

static void watch(void *state, size_t done, size_t count)
{
    (void)state;
    (void)count;
    run.done = done;
    if (done == run.cancel_at)
        run.cancel = 1;
}

/* Four matrices take a quarter of the free memory. */
static mgk_status little_memory(mgk_device *self, size_t *left, size_t *total)
{
    (void)self;
    *left = *total = (size_t)4 * BATCH * N_MAX * N_MAX * sizeof(double);
    return STATUS_OK;
}

/* Computes the band of one matrix by the host's first step. */
static void reduce_one(size_t n, const double *matrix, double *band)
{
    const size_t width = MGK_BAND_WIDTH, stride = mgk_band_stride(width);
    mgk_cpu_variant variant;
    double *copy, *wide, *work;
    assert_ok(mgk_blas_open());
    assert_ok(mgk_cpu_choose_variant(&variant));
    assert_ok(mgk_alloc(LARGEST * LARGEST, sizeof(double), &copy));
    assert_ok(mgk_alloc(mgk_band_size(LARGEST, width), sizeof(double), &wide));
    assert_ok(mgk_alloc(mgk_band_work(LARGEST, width), sizeof(double), &work));
    memcpy(copy, matrix, n * n * sizeof *copy);
    variant.reductions->dense_to_band(n, width, copy, n, wide, work);
    for (size_t r = 0; r < n; r++)
        for (size_t d = 0; d <= width; d++)
            band[r * (width + 1) + d] = r + d < n ? wide[2 * width + r + (r + d) * stride] : 0;
    mgk_free(copy);
    mgk_free(wide);
    mgk_free(work);
}

static mgk_status reduce(mgk_device *self, size_t count, size_t n, const size_t *orders,
                         const double *matrices, double *bands)
{
    (void)self;
    assert_int_equal(n, N_MAX);
    assert_in_range(count, 1, BATCH);
    run.ahead = run.ahead && (run.reduced == 0 || run.done < run.reduced);
    run.reduced += count;
    run.batches++;
    for (size_t i = 0; i < count; i++)
        reduce_one(orders[i], matrices + i * n * n, bands + i * mgk_band_entries(n));
    return STATUS_OK;
}

static mgk_status mirror_open(mgk_device *self, size_t count, size_t bytes, mgk_mirror *out)
{
    (void)self;
    assert_int_equal(count, 1);
    *out = (mgk_mirror){.bytes = bytes};
    TRY(mgk_alloc(bytes, 1, &out->array));
    TRY(mgk_alloc(bytes, 1, &out->host));
    memset(out->host, 0xff, bytes); /* NaN */
    return STATUS_OK;
}

static mgk_status mirror_wait(mgk_device *self, const mgk_mirror *mirror)
{
    (void)self;
    memcpy(mirror->host, mirror->array, mirror->bytes);
    return STATUS_OK;
}

static void mirror_close(mgk_device *self, size_t count, mgk_mirror *mirror)
{
    (void)self;
    (void)count;
    mgk_free(mirror->array);
    mgk_free(mirror->host);
    *mirror = (mgk_mirror){0};
}

/* The source has larger ones. */
static mgk_status bisection_order(mgk_device *device, size_t *order)
{
    (void)device;
    *order = LARGEST;
    return STATUS_OK;
}

/* Ranks in two steps, or entirely on the host's threads. */
static mgk_status rank(bool two_steps, int threads, mgk_rank_table *table)
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
    mgk_rank_run_options options = {.threshold_count = 1,
                                    .thresholds = &published,
                                    .threads = threads,
                                    .bisection = two_steps,
                                    .progress = watch,
                                    .cancel = &run.cancel};
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    mgk_operations able = *device->op;
    mgk_spectral_operations spectral = *device->op->spectral;
    spectral.bisected_values = spectral.singular_values;
    spectral.bisection_order = bisection_order;
    spectral.reduce_to_bands = reduce;
    able.spectral = &spectral;
    able.memory = little_memory;
    able.mirror_open = mirror_open;
    able.mirror_wait = mirror_wait;
    able.mirror_close = mirror_close;
    const mgk_operations *own = device->op;
    device->op = &able;
    device->accelerator = true;
    options.device = two_steps ? device : NULL;
    run.done = run.reduced = run.batches = 0;
    run.cancel = 0;
    run.ahead = true;
    mgk_status status = mgk_rank_run(&source, &options, table);
    device->op = own;
    mgk_device_close(device);
    assert_false(synthetic.misused);
    return status;
}

static int nothing_wrong(void **state)
{
    (void)state;
    run.failing = run.huge = run.cancel_at = SIZE_MAX;
    return 0;
}

static void ranks_are_the_same(void **state)
{
    (void)state;
    mgk_rank_table plain, stepwise;
    assert_ok(rank(false, 1, &plain));
    for (int threads = 1; threads <= 3; threads++) {
        assert_ok(rank(true, threads, &stepwise));
        assert_int_equal(stepwise.row_count, MATRICES);
        assert_string_equal(stepwise.settings.method, "bisection");
        for (size_t r = 0; r < MATRICES; r++) {
            const mgk_rank_row *row = &stepwise.rows[r];
            assert_int_equal(row->sample, r);
            assert_int_equal(row->n, plain.rows[r].n);
            assert_int_equal(row->method, MGK_METHOD_BISECTION);
            assert_int_equal(stepwise.counts[r].rank, plain.counts[r].rank);
            if (row->n > 0)
                assert_close(row->sigma_min, plain.rows[r].sigma_min, 1e-14, 0);
        }
        mgk_rank_table_free(&stepwise);
    }
    mgk_rank_table_free(&plain);
}

/* Each batch is reduced before the previous one is finished. */
static void the_device_is_ahead(void **state)
{
    (void)state;
    mgk_rank_table table;
    assert_ok(rank(true, 2, &table));
    assert_int_equal(run.batches, (MATRICES + BATCH - 1) / BATCH);
    assert_int_equal(run.reduced, MATRICES);
    assert_true(run.ahead);
    mgk_rank_table_free(&table);
}

/* The singular values of the previous batch fail after the source has failed. */
static void the_earliest_failure_is_reported(void **state)
{
    (void)state;
    mgk_rank_table table;
    run.huge = 2;
    run.failing = BATCH + 1;
    assert_fails(rank(true, 2, &table), STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "sample 2, layer 0, head 0: "));
    run.huge = BATCH + 1;
    run.failing = BATCH;
    assert_fails(rank(true, 2, &table), STATUS_IO);
}

static void cancelling_stops_soon(void **state)
{
    (void)state;
    mgk_rank_table table;
    run.cancel_at = BATCH;
    assert_fails(rank(true, 2, &table), STATUS_INTERRUPTED);
    assert_int_equal(run.done, BATCH);
    assert_int_equal(run.reduced, 2 * BATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ranks_are_the_same, nothing_wrong),
        cmocka_unit_test_setup(the_device_is_ahead, nothing_wrong),
        cmocka_unit_test_setup(the_earliest_failure_is_reported, nothing_wrong),
        cmocka_unit_test_setup(cancelling_stops_soon, nothing_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
