/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "analysis/run/run.h"
#include "analysis/source.h"

enum { LARGEST = 65, HEADS = 3, LAYERS = 2, THIN = 768 };

static const double published = 1e-6;

/* All tests run without a device, with one that takes batches, and with one on which the source
 * computes matrices. */
static mgk_device *device;
static bool computed_there;
static const mgk_rank_run_options at_published = {.threshold_count = 1, .thresholds = &published};

static const size_t sizes[] = {0, 1, 2, 31, 33, 65};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

/* A source of softmax matrices with the sizes above: sample s has n = sizes[s % SIZES]. */
typedef struct synthetic {
    test_source source;
    size_t poisoned; /* index of the matrix with a NaN; SIZE_MAX: none */
    size_t oversize; /* index of the matrix that claims to be larger than n_max */
    size_t huge;     /* index of the matrix with finite entries and overflowing singular values */
    size_t hollow;   /* index of the matrix whose row 1 is zeros */
} synthetic;

static size_t order_of(const void *context, size_t i)
{
    const synthetic *s = context;
    const bool oversize = i / HEADS == s->oversize / HEADS;
    return oversize ? LARGEST + 1 : sizes[i / HEADS / LAYERS % SIZES];
}

static void fill(const void *context, size_t i, size_t n, double *data)
{
    const synthetic *s = context;
    test_matrix_softmax(i, n, 2, i % HEADS == 1, data);
    if (i == s->poisoned)
        data[0] = (double)NAN;
    for (size_t k = 0; i == s->hollow && k < n; k++)
        data[n + k] = 0;
    for (size_t k = 0; i == s->huge && k < n * n; k++)
        data[k] = (k + k / n) % 2 ? -1.7e308 : 1.7e308;
}

static synthetic healthy(size_t count)
{
    return (synthetic){.source = {.count = count,
                                  .heads = HEADS,
                                  .layers = LAYERS,
                                  .n_max = LARGEST,
                                  .order = order_of,
                                  .fill = fill,
                                  .failing = SIZE_MAX},
                       .poisoned = SIZE_MAX,
                       .oversize = SIZE_MAX,
                       .huge = SIZE_MAX,
                       .hollow = SIZE_MAX};
}

static mgk_status run_source(synthetic *s, const mgk_rank_run_options *options,
                             mgk_rank_table *table)
{
    s->source.context = s;
    mgk_source source = test_source_of(&s->source);
    mgk_rank_run_options here = *options;
    source.device = computed_there ? device : NULL;
    here.device = device;
    mgk_status status = mgk_rank_run(&source, &here, table);
    assert_false(s->source.misused);
    return status;
}

static mgk_status run(synthetic s, const mgk_rank_run_options *options, mgk_rank_table *table)
{
    return run_source(&s, options, table);
}

static void rows_match_the_second_driver(void **state)
{
    (void)state;
    const double thresholds[] = {1e-2, 1e-6, 1e-15};
    double a[LARGEST * LARGEST], sigma[LARGEST];
    mgk_rank_run_options options = {
        .threshold_count = 3, .thresholds = thresholds, .keep_spectra = true, .threads = 2};
    mgk_rank_table table;
    assert_ok(run(healthy(37), &options, &table));
    assert_int_equal(table.row_count, 37);
    assert_int_equal(table.n_max, LARGEST);
    for (size_t r = 0; r < 37; r++) {
        const mgk_rank_row *row = &table.rows[r];
        const double *spectrum = table.spectra + r * LARGEST;
        size_t n = sizes[r / HEADS / LAYERS % SIZES], above = 0;
        assert_int_equal(row->sample * HEADS * LAYERS + row->layer * HEADS + row->head, r);
        assert_int_equal(row->n, n);
        if (n == 0) {
            assert_int_equal(table.counts[r * 3].rank, 0);
            assert_true(isnan(row->sigma_max));
            continue;
        }
        test_matrix_softmax(r, n, 2, row->head == 1, a);
        test_reference_spectrum(n, a, sigma);
        for (size_t i = 0; i < n; i++) {
            assert_close(spectrum[i], sigma[i], 1e-13, 0);
            above += sigma[i] >= 1e-2;
        }
        assert_true(n == LARGEST || isnan(spectrum[n]));
        assert_int_equal(table.counts[r * 3].rank, above);
        assert_true(table.counts[r * 3 + 1].rank <= table.counts[r * 3 + 2].rank);
        assert_close(row->row_sum_error, 0, 1e-14, 0);
    }
    mgk_rank_table_free(&table);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table one, many;
    options.threads = 1;
    assert_ok(run(healthy(40), &options, &one));
    options.threads = 3;
    assert_ok(run(healthy(40), &options, &many));
    for (size_t r = 0; r < 40; r++) {
        if (one.rows[r].n == 0)
            continue; /* NaN */
        assert_int_equal(one.rows[r].n, many.rows[r].n);
        assert_true(one.rows[r].sigma_min == many.rows[r].sigma_min);
        assert_true(one.rows[r].effective_rank == many.rows[r].effective_rank);
        assert_int_equal(one.counts[r].rank, many.counts[r].rank);
    }
    mgk_rank_table_free(&one);
    mgk_rank_table_free(&many);
}

static void note_limit(void *state, int threads, int wanted)
{
    int *told = state;
    told[0] = threads;
    told[1] = wanted;
}

/* The memory limits the number of threads, to at least one, and the ranks do not change; an
 * accelerator has its own memory. */
static void memory_bounds_threads(void **state)
{
    (void)state;
    if (device && device->accelerator)
        return;
    static const struct {
        size_t memory;
        int threads;
    } cases[] = {{0, 4}, {(size_t)1 << 40, 4}, {1, 1}};
    mgk_rank_run_options options = at_published;
    mgk_rank_table table, bounded;
    options.threads = 4;
    assert_ok(run(healthy(40), &options, &table));
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        synthetic s = healthy(40);
        options.memory = cases[i].memory;
        assert_ok(run_source(&s, &options, &bounded));
        assert_int_equal(s.source.threads, cases[i].threads);
        for (size_t r = 0; r < 40; r++)
            assert_int_equal(bounded.counts[r].rank, table.counts[r].rank);
        mgk_rank_table_free(&bounded);
    }
    /* The message states the need of one thread, and two threads need twice as much. */
    options.memory_is_most = true;
    options.memory = 1;
    assert_fails(run(healthy(40), &options, &bounded), STATUS_MEMORY);
    double gigabytes;
    assert_non_null(strstr(mgk_fail_message(), "`memory`"));
    assert_int_equal(sscanf(mgk_fail_message(), "`memory`: a thread takes %lf GB", &gigabytes), 1);
    for (int threads = 1; threads <= 3; threads++) {
        synthetic s = healthy(40);
        int told[2] = {0};
        options.limited = note_limit;
        options.progress_state = told;
        options.memory = (size_t)(gigabytes * 1e9 * (threads + 0.5));
        assert_ok(run_source(&s, &options, &bounded));
        assert_int_equal(s.source.threads, threads);
        assert_int_equal(told[0], threads);
        assert_int_equal(told[1], 4);
        mgk_rank_table_free(&bounded);
    }
    mgk_rank_table_free(&table);
}

static void relative_thresholds_scale(void **state)
{
    (void)state;
    const double threshold = 0.5;
    mgk_rank_run_options options = {
        .threshold_count = 1, .thresholds = &threshold, .relative = true, .keep_spectra = true};
    mgk_rank_table table;
    assert_ok(run(healthy(36), &options, &table));
    for (size_t r = 0; r < 36; r++) {
        size_t above = 0;
        for (size_t i = 0; i < table.rows[r].n; i++)
            above += table.spectra[r * LARGEST + i] >= 0.5 * table.rows[r].sigma_max;
        assert_int_equal(table.counts[r].rank, above);
        assert_true(table.rows[r].n == 0 || above > 0);
    }
    assert_true(table.settings.relative);
    assert_string_equal(table.settings.method, device ? "augmented" : "svd");
    mgk_rank_table_free(&table);
}

static void a_nan_is_named_and_nothing_kept(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    synthetic s = healthy(40);
    s.poisoned = 11; /* sample 1, layer 1, head 2 */
    options.threads = 2;
    assert_fails(run(s, &options, &table), STATUS_NUMERIC);
    assert_string_equal(mgk_fail_message(), "sample 1, layer 1, head 2: entry [0, 0] is nan");
    assert_int_equal(table.row_count, 0);
    assert_null(table.rows);
}

/* The earlier failure is in an earlier row, although both are known only after the NaN was read. */
static void the_earliest_failure_is_reported(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    synthetic s = healthy(40);
    s.poisoned = 15;
    s.huge = 14; /* sample 2, layer 0, head 2; [2, 2] */
    options.threads = 1;
    assert_fails(run(s, &options, &table), STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "sample 2, layer 0, head 2: "));
    assert_non_null(strstr(mgk_fail_message(), "overflow"));
    assert_null(table.rows);
}

/* More matrices than a batch holds: the same ranks, with or without a device. */
static void many_matrices_come_in_batches(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table here, plain;
    mgk_device *chosen = device;
    options.threads = 2;
    assert_ok(run(healthy(1100), &options, &here));
    device = NULL;
    assert_ok(run(healthy(1100), &options, &plain));
    device = chosen;
    assert_int_equal(here.row_count, 1100);
    for (size_t r = 0; r < 1100; r++) {
        assert_int_equal(here.rows[r].sample, plain.rows[r].sample);
        assert_int_equal(here.rows[r].n, plain.rows[r].n);
        assert_int_equal(here.counts[r].rank, plain.counts[r].rank);
        assert_true(here.rows[r].n == 0 || here.rows[r].sigma_min == plain.rows[r].sigma_min);
    }
    mgk_rank_table_free(&here);
    mgk_rank_table_free(&plain);
}

/* Proves full rank from spectra, as a GPU does by other means; skips every third matrix. */
static mgk_status prove_some(mgk_device *self, size_t count, size_t n, const size_t *orders,
                             const double *matrices, const double *levels, int *proven)
{
    (void)self;
    double sigma[LARGEST];
    for (size_t i = 0; i < count; i++) {
        proven[i] = 0;
        if (orders[i] == 0 || i % 3 == 0)
            continue;
        test_reference_spectrum(orders[i], matrices + i * n * n, sigma);
        proven[i] = sigma[orders[i] - 1] > levels[i];
    }
    return STATUS_OK;
}

/* The largest order that the device's own kernels take. */
static mgk_status bisection_order(mgk_device *self, size_t *order)
{
    (void)self;
    *order = MGK_BISECTION_ORDER;
    return STATUS_OK;
}

/* Matrices with proven rank are stored at once; the others move up. */
static void proofs_and_spectra_agree(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table counted, plain;
    size_t proven = 0;
    if (!device)
        skip();
    const mgk_operations *own = device->op;
    mgk_operations able = *own;
    mgk_spectral_operations spectral = *own->spectral;
    spectral.prove_full_rank = prove_some;
    spectral.bisected_values = spectral.singular_values;
    spectral.bisection_order = bisection_order;
    able.spectral = &spectral;
    device->op = &able;
    options.bisection = true;
    assert_ok(run(healthy(1100), &options, &plain));
    assert_string_equal(plain.settings.method, "bisection");
    options.count_only = true;
    assert_ok(run(healthy(1100), &options, &counted));
    device->op = own;
    for (size_t r = 0; r < 1100; r++) {
        const bool by_proof = counted.rows[r].method == MGK_METHOD_GRAM;
        assert_int_equal(plain.rows[r].method, MGK_METHOD_BISECTION);
        assert_int_equal(counted.rows[r].sample, plain.rows[r].sample);
        assert_int_equal(counted.rows[r].n, plain.rows[r].n);
        assert_int_equal(counted.counts[r].rank, plain.counts[r].rank);
        assert_int_equal(counted.counts[r].rank_high, plain.counts[r].rank_high);
        assert_true(!by_proof || (counted.counts[r].certificate == MGK_CERTIFICATE_BOUND &&
                                  isnan(counted.rows[r].sigma_max)));
        proven += by_proof;
    }
    assert_true(proven > 100 && proven < 1000);
    mgk_rank_table_free(&counted);
    mgk_rank_table_free(&plain);
}

static void bisection_needs_a_device(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    options.bisection = true;
    assert_int_equal(run(healthy(1), &options, &table), STATUS_USAGE);
    assert_non_null(strstr(mgk_fail_message(), "GPU"));
}

static size_t all_largest(const void *context, size_t i)
{
    (void)context;
    (void)i;
    return LARGEST;
}

/* Values that are closer to the threshold than the solver's error, for order n or 2n. */
static void fill_close(const void *context, size_t i, size_t n, double *data)
{
    (void)context;
    const double error = LARGEST * 0x1p-53;
    memset(data, 0, n * n * sizeof(double));
    for (size_t k = 0; k < n; k++)
        data[k * (n + 1)] = k == 0 ? 1 : 0.5 + (i == 0 ? 0.9 : 1.5) * error;
}

static void the_error_is_that_of_the_solver(void **state)
{
    (void)state;
    const double threshold = 0.5;
    test_source close = {.count = 2,
                         .heads = 1,
                         .layers = 1,
                         .n_max = LARGEST,
                         .order = all_largest,
                         .fill = fill_close,
                         .failing = SIZE_MAX};
    mgk_source source = test_source_of(&close);
    source.count = 0; /* unknown */
    const mgk_rank_run_options options = {
        .threshold_count = 1, .thresholds = &threshold, .device = device};
    mgk_rank_table table;
    assert_ok(mgk_rank_run(&source, &options, &table));
    assert_int_equal(table.row_count, 2);
    assert_int_equal(table.rows[0].format, MGK_FLOAT_F64);
    assert_true(table.counts[0].undecided);
    assert_true(table.counts[1].undecided == (device != NULL));
    mgk_rank_table_free(&table);
}

static size_t all_thin(const void *context, size_t i)
{
    (void)context;
    (void)i;
    return THIN;
}

static void fill_thin(const void *context, size_t i, size_t n, double *data)
{
    (void)context;
    double sigma[THIN];
    for (size_t k = 0; k < n; k++)
        sigma[k] = k < 12 ? 1 / (double)(k + 1) : 0;
    test_matrix_with_spectrum(i, n, sigma, data);
}

/* A head's first matrix, of rank 12, teaches its next one. */
static void heads_of_low_rank(void **state)
{
    (void)state;
    test_source thin = {.count = 4,
                        .heads = 1,
                        .layers = 1,
                        .n_max = THIN,
                        .order = all_thin,
                        .fill = fill_thin,
                        .failing = SIZE_MAX};
    const mgk_source source = test_source_of(&thin);
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    options.count_only = true;
    options.threads = 1;
    if (device) /* devices do not look for low ranks */
        return;
    assert_ok(mgk_rank_run(&source, &options, &table));
    for (size_t r = 0; r < 4; r++) {
        assert_int_equal(table.counts[r].rank, 12);
        assert_true((table.rows[r].method == MGK_METHOD_LOW_RANK) == (r > 0));
    }
    mgk_rank_table_free(&table);
}

/* Matrices before the failing one are measured, whichever function fails. */
static void failures_of_the_source_end_the_run(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    for (test_stage stage = TEST_NEXT; stage <= TEST_TAKE; stage++)
        for (int threads = 1; threads <= 3; threads++) {
            synthetic s = healthy(40);
            s.source.failing = 17;
            s.source.stage = stage;
            options.threads = threads;
            assert_fails(run(s, &options, &table), STATUS_IO);
            assert_string_equal(mgk_fail_message(), "synthetic: cannot read matrix 17");
            assert_null(table.rows);
            s.poisoned = 11;
            assert_fails(run(s, &options, &table), STATUS_NUMERIC);
            assert_non_null(strstr(mgk_fail_message(), "sample 1, layer 1, head 2: "));
            s.poisoned = 18;
            assert_fails(run(s, &options, &table), STATUS_IO);
        }
    synthetic s = healthy(40);
    s.oversize = 5;
    assert_fails(run(s, &options, &table), STATUS_SHAPE);
    assert_null(table.rows);
}

/* Results do not depend on the number of matrices prepared at a time, nor on how the heads of a
 * layer are divided. */
static void slices_change_nothing(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table whole;
    synthetic s = healthy(40);
    options.threads = 1;
    assert_ok(run_source(&s, &options, &whole));
    assert_int_equal(s.source.groups, 14); /* three heads each, the last group one */
    assert_int_equal(s.source.most_prepared, 40);
    for (size_t ahead = 1; ahead <= 5; ahead++)
        for (int threads = 1; threads <= 3; threads++) {
            mgk_rank_table sliced;
            s = healthy(40);
            s.source.ahead = ahead;
            options.threads = threads;
            assert_ok(run_source(&s, &options, &sliced));
            assert_int_equal(s.source.most_prepared, ahead);
            assert_int_equal(s.source.longest, ahead < HEADS ? ahead : HEADS);
            assert_int_equal(sliced.row_count, 40);
            for (size_t r = 0; r < 40; r++) {
                const mgk_rank_row *one = &whole.rows[r], *other = &sliced.rows[r];
                assert_int_equal(one->sample, other->sample);
                assert_int_equal(one->layer, other->layer);
                assert_int_equal(one->head, other->head);
                assert_int_equal(one->n, other->n);
                assert_true(one->n == 0 || one->sigma_min == other->sigma_min);
                assert_int_equal(whole.counts[r].rank, sliced.counts[r].rank);
            }
            mgk_rank_table_free(&sliced);
        }
    mgk_rank_table_free(&whole);
}

static void rows_of_zeros_are_refused_or_counted(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    synthetic s = healthy(40);
    s.hollow = 3 * HEADS * LAYERS + 1; /* of 31 rows */
    assert_fails(run(s, &options, &table), STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "sample 3, layer 0, head 1: row 1"));
    options.allow_zero_rows = true;
    assert_ok(run(s, &options, &table));
    assert_true(table.counts[s.hollow].rank < 31);
    assert_int_equal(table.rows[s.hollow].zero_rows, 1);
    assert_int_equal(table.rows[0].zero_rows, 0);
    assert_close(table.rows[s.hollow].row_sum_error, 0, 1e-14, 0);
    mgk_rank_table_free(&table);
}

static void no_matrices_make_an_empty_table(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    assert_ok(run(healthy(0), &options, &table));
    assert_int_equal(table.row_count, 0);
    assert_int_equal(table.threshold_count, 1);
    mgk_rank_table_free(&table);
}

static void bad_thresholds_are_refused(void **state)
{
    (void)state;
    const double bad[] = {0, -1, (double)NAN, (double)INFINITY};
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    for (size_t i = 0; i < 4; i++) {
        options.thresholds = &bad[i];
        assert_fails(run(healthy(3), &options, &table), STATUS_USAGE);
    }
    options.threshold_count = 0;
    assert_fails(run(healthy(3), &options, &table), STATUS_USAGE);
}

typedef struct watcher {
    size_t calls, last, count;
    volatile sig_atomic_t cancel;
    size_t cancel_at;
} watcher;

static void watch(void *state, size_t done, size_t count)
{
    watcher *w = state;
    w->calls++;
    w->last = done;
    w->count = count;
    if (done == w->cancel_at)
        w->cancel = 1;
}

static void progress_counts_every_matrix(void **state)
{
    (void)state;
    watcher w = {.cancel_at = SIZE_MAX};
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    options.progress = watch;
    options.progress_state = &w;
    assert_ok(run(healthy(19), &options, &table));
    if (device)
        assert_true(w.calls > 19); /* including calls while a batch is gathered */
    else
        assert_int_equal(w.calls, 19);
    assert_int_equal(w.last, 19);
    assert_int_equal(w.count, 19);
    mgk_rank_table_free(&table);
}

static void cancelling_stops_soon(void **state)
{
    (void)state;
    /* no matrix of a batch is finished before the batch is complete */
    watcher w = {.cancel_at = device ? 0 : 4};
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    options.progress = watch;
    options.progress_state = &w;
    options.cancel = &w.cancel;
    options.threads = 2;
    assert_fails(run(healthy(40), &options, &table), STATUS_INTERRUPTED);
    size_t before = device ? 1 : 4;
    assert_in_range(w.calls, before, before + 1); /* the other thread may be working on one */
    assert_null(table.rows);
}

static void blas_threads_are_restored(void **state)
{
    (void)state;
    mgk_rank_run_options options = at_published;
    mgk_rank_table table;
    int before = openblas_get_num_threads();
    openblas_set_num_threads(2);
    assert_ok(run(healthy(3), &options, &table));
    assert_int_equal(openblas_get_num_threads(), 2);
    openblas_set_num_threads(before);
    mgk_rank_table_free(&table);
}

/* Measures entries as a GPU does. */
static mgk_status measure_here(mgk_device *self, size_t count, size_t n, const size_t *orders,
                               const double *matrices, mgk_entries *out)
{
    (void)self;
    for (size_t i = 0; i < count; i++) {
        const double *a = matrices + i * n * n;
        const size_t order = orders[i];
        out[i] = (mgk_entries){.bits = mgk_float_format_bits(order * order, a)};
        for (size_t row = 0; row < order; row++) {
            double across = 0, down = 0;
            bool zero = true;
            for (size_t k = 0; k < order; k++) {
                zero &= a[row * order + k] == 0;
                across += a[row * order + k];
                down += a[k * order + row];
                out[i].norm += a[row * order + k] * a[row * order + k];
            }
            if (zero)
                out[i].zero_rows++;
            else if (!(fabs(across - 1) <= out[i].row_sum_error))
                out[i].row_sum_error = fabs(across - 1);
            out[i].column_sum_max = fmax(out[i].column_sum_max, down); /* above 0 */
        }
        out[i].norm = sqrt(out[i].norm);
    }
    return STATUS_OK;
}

static int run_all(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_match_the_second_driver),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(memory_bounds_threads),
        cmocka_unit_test(relative_thresholds_scale),
        cmocka_unit_test(a_nan_is_named_and_nothing_kept),
        cmocka_unit_test(the_earliest_failure_is_reported),
        cmocka_unit_test(many_matrices_come_in_batches),
        cmocka_unit_test(proofs_and_spectra_agree),
        cmocka_unit_test(bisection_needs_a_device),
        cmocka_unit_test(the_error_is_that_of_the_solver),
        cmocka_unit_test(heads_of_low_rank),
        cmocka_unit_test(failures_of_the_source_end_the_run),
        cmocka_unit_test(slices_change_nothing),
        cmocka_unit_test(rows_of_zeros_are_refused_or_counted),
        cmocka_unit_test(no_matrices_make_an_empty_table),
        cmocka_unit_test(bad_thresholds_are_refused),
        cmocka_unit_test(progress_counts_every_matrix),
        cmocka_unit_test(cancelling_stops_soon),
        cmocka_unit_test(blas_threads_are_restored),
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

/* The CPU stands for a device with batches, so that the tests run everywhere. */
int main(void)
{
    int failures = run_all("threads");
    if (mgk_device_open("cpu", MGK_DOUBLE, 2, &device) != STATUS_OK)
        return 1;
    device->accelerator = true;
    failures += run_all("batches");
    mgk_operations able = *device->op;
    mgk_spectral_operations spectral = *device->op->spectral;
    spectral.measure_entries = measure_here;
    able.spectral = &spectral;
    device->op = &able;
    computed_there = true;
    failures += run_all("batches computed on the device");
    mgk_device_close(device);
    return failures;
}
