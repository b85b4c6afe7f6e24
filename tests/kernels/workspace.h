/* SPDX-License-Identifier: MIT */
/* Device arrays that are filled and read as double and released together after a test. */
#ifndef MGK_TESTS_KERNELS_WORKSPACE_H
#define MGK_TESTS_KERNELS_WORKSPACE_H

#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "devices.h"
#include "test.h"

enum { WORKSPACE_ARRAYS = 256 };

typedef struct workspace {
    mgk_device *device;
    double tolerance; /* of an operation against the reference in double */
    uint64_t stream;  /* of the next random values */
    int host_count, device_count;
    void *host[WORKSPACE_ARRAYS], *on_device[WORKSPACE_ARRAYS];
} workspace;

static inline void workspace_release(workspace *space)
{
    for (int i = 0; i < space->host_count; i++)
        mgk_free(space->host[i]);
    for (int i = 0; i < space->device_count; i++)
        space->device->op->release(space->device, space->on_device[i]);
    space->host_count = space->device_count = 0;
}

static inline void *host_bytes(workspace *space, size_t count, size_t size)
{
    void *array;
    assert_in_range(space->host_count, 0, WORKSPACE_ARRAYS - 1);
    assert_ok(mgk_alloc(count, size, &array));
    return space->host[space->host_count++] = array;
}

static inline double *host_array(workspace *space, size_t count)
{
    return host_bytes(space, count, sizeof(double));
}

static inline void *upload_bytes(workspace *space, size_t bytes, const void *source)
{
    void *array;
    assert_in_range(space->device_count, 0, WORKSPACE_ARRAYS - 1);
    assert_ok(space->device->op->allocate(space->device, bytes, &array));
    assert_ok(space->device->op->upload(space->device, array, source, bytes));
    return space->on_device[space->device_count++] = array;
}

/* The values of host [count], rounded to real, on the device. */
static inline void *upload(workspace *space, size_t count, const double *host)
{
    void *staged = host_bytes(space, count, space->device->real_size);
    for (size_t i = 0; i < count; i++) {
        if (space->device->precision == MGK_DOUBLE)
            ((double *)staged)[i] = host[i];
        else
            ((float *)staged)[i] = (float)host[i];
    }
    return upload_bytes(space, count * space->device->real_size, staged);
}

static inline double *download(workspace *space, size_t count, const void *array)
{
    mgk_device *device = space->device;
    double *host = host_array(space, count);
    void *staged = host_bytes(space, count, device->real_size);
    assert_ok(device->op->download(device, staged, array, count * device->real_size));
    for (size_t i = 0; i < count; i++)
        host[i] =
            device->precision == MGK_DOUBLE ? ((double *)staged)[i] : (double)((float *)staged)[i];
    return host;
}

/* Numbers that both precisions represent, different ones at every call: sums of four uniform ones,
 * of mean 0 and variance 1, which take less time than normal ones. */
static inline double *random_values(workspace *space, size_t count)
{
    double *host = host_array(space, count);
    for (size_t i = 0; i < count; i++) {
        const mgk_random4 block = mgk_random_block(1, space->stream, i);
        double sum = -2;
        for (int k = 0; k < 4; k++)
            sum += block.word[k] * 0x1p-32;
        host[i] = (double)(float)(sqrt(3) * sum);
    }
    space->stream++;
    return host;
}

/* Integers in [−1, bound); −1 stands for padding or no target. */
static inline int32_t *random_ids(workspace *space, size_t count, int32_t bound)
{
    int32_t *ids = host_bytes(space, count, sizeof *ids);
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)mgk_random_below(1, space->stream, i, (uint64_t)bound + 1) - 1;
    space->stream++;
    return ids;
}

/* The largest error so far, as a share of what was tolerated. Weak: a test's files share it. */
__attribute__((weak)) double workspace_largest_error;

/* For each row, |actual − expected| <= tolerance max(1, largest |expected| of the row). */
static inline void assert_rows_close(size_t rows, size_t cols, const double *actual,
                                     const double *expected, double tolerance)
{
    for (size_t i = 0; i < rows; i++) {
        double magnitude = 1;
        for (size_t c = 0; c < cols; c++)
            magnitude = fmax(magnitude, fabs(expected[i * cols + c]));
        for (size_t c = 0; c < cols; c++) {
            double a = actual[i * cols + c], b = expected[i * cols + c];
            if (!isfinite(a) || !isfinite(b) || !(fabs(a - b) <= tolerance * magnitude))
                fail_msg("[%zu, %zu] of [%zu, %zu]: %.17g, expected %.17g", i, c, rows, cols, a, b);
            workspace_largest_error =
                fmax(workspace_largest_error, fabs(a - b) / (tolerance * magnitude));
        }
    }
}

/* Prints the largest error, and starts anew. */
static inline void tell_largest_error(const mgk_device *device)
{
    if (workspace_largest_error > 0)
        print_message("%s: largest error %.2f of the tolerance in float%zu\n", device->name,
                      workspace_largest_error, 8 * device->real_size);
    workspace_largest_error = 0;
}

/* The same for an array on the device. */
static inline void assert_device_close(workspace *space, size_t rows, size_t cols,
                                       const void *actual, const double *expected)
{
    assert_rows_close(rows, cols, download(space, rows * cols, actual), expected, space->tolerance);
}

/* Calls cross_entropy, which adds to *loss. */
static inline void add_loss(workspace *space, size_t rows, size_t classes, const void *logits,
                            const int32_t *targets, double scale, void *dlogits, mgk_loss *loss)
{
    mgk_device *device = space->device;
    mgk_loss *on_device = upload_bytes(space, sizeof *loss, loss);
    assert_ok(device->op->cross_entropy(device, rows, classes, logits, targets, scale, dlogits,
                                        on_device));
    assert_ok(device->op->download(device, loss, on_device, sizeof *loss));
}

/* One check, run for every pair of odd sizes. */
typedef struct check {
    const char *name;
    void (*run)(workspace *, size_t rows, size_t cols);
    workspace *space;
} check;

static inline void run_check(void **state)
{
    static const size_t sizes[] = {MGK_TEST_SIZES};
    const size_t count = sizeof sizes / sizeof *sizes;
    const check *subject = *state;
    for (size_t i = 0; i < count * count; i++) {
        subject->run(subject->space, sizes[i / count], sizes[i % count]);
        workspace_release(subject->space);
    }
}

/* Runs the checks on one device; returns the number of failures. */
static inline int run_checks_on(workspace *space, size_t count, check *checks)
{
    struct CMUnitTest *tests = host_bytes(space, count, sizeof *tests);
    space->host_count = 0; /* is used after a check's release */
    for (size_t i = 0; i < count; i++) {
        checks[i].space = space;
        tests[i] = (struct CMUnitTest){
            .name = checks[i].name, .test_func = run_check, .initial_state = &checks[i]};
    }
    int failures = _cmocka_run_group_tests(space->device->name, tests, count, NULL, NULL);
    tell_largest_error(space->device);
    mgk_free(tests);
    return failures;
}

/* Runs the checks on every device, from precision `first` to `last`, on 1 thread and on more. */
static inline int run_checks(mgk_precision first, mgk_precision last, size_t count, check *checks)
{
    int failures = 0;
    for (mgk_precision precision = first; precision <= last; precision++)
        for (int threads = 1; threads <= most_threads(); threads += 2) {
            workspace space = {.tolerance = precision == MGK_DOUBLE ? 1e-12 : 1e-5};
            for (int index = 0; (space.device = open_next_device(&index, precision, threads));) {
                failures += run_checks_on(&space, count, checks);
                mgk_device_close(space.device);
            }
        }
    return failures;
}

/* Calls body on all devices and levels that run every kind, in precisions from `first` on, with one
 * and with up to `most` threads. */
static inline void on_whole_devices(mgk_precision first, int most, void (*body)(workspace *))
{
    for (mgk_precision precision = first; precision <= MGK_DOUBLE; precision++)
        for (int threads = 1; threads <= most; threads += 2) {
            workspace space = {.tolerance = precision == MGK_DOUBLE ? 1e-12 : 1e-5};
            for (int index = 0; (space.device = open_next_device(&index, precision, threads));) {
                if (space.device->all_parts)
                    body(&space);
                workspace_release(&space);
                mgk_device_close(space.device);
            }
        }
}

#endif
