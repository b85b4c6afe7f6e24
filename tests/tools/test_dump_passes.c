/* SPDX-License-Identifier: MIT */
/* Concurrent passes of an export: their number, results that do not depend on it, and failures of
 * one pass that end all. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dump/dump.h"
#include "dump_case.h"
#include "test.h"
#include "tiny.h"

/* A batch of one thread has 512 / 9 = 56 samples: 8 batches, the last one not full. */
enum { SAMPLES = 7 * 56 + 5, ALL = 2 * MGK_SAVE_VALUES - 1 };

static const char *const long_text[] = {"passes_text.txt"};

static mgk_dump_options options(int threads)
{
    mgk_dump_options o = case_options(long_text, SAMPLES);
    o.job.threads = threads;
    return o;
}

/* Saves a model in which every layer contributes. */
static void save_model(const char *attention)
{
    const mgk_config config = tiny_config(MGK_FAMILY_LM, attention);
    tiny_save(&config, case_model);
}

static int make_text(void **state)
{
    (void)state;
    tiny_text(long_text[0], 30000);
    return 0;
}

/* The number of passes for so many samples and heads. */
static int planned(int threads, int samples, size_t heads)
{
    int capacity;
    mgk_model_run run;
    mgk_job job = {.device = "cpu", .threads = threads};
    mgk_input input = {.text = long_text, .text_count = 1};
    mgk_dump dump = {.run = &run,
                     .objects = MGK_STORE_BIT(STORE_ATTENTION),
                     .layer_count = 3,
                     .head_count = heads};
    assert_ok(mgk_model_run_open(&job, case_model, &input, false, &run));
    assert_ok(mgk_model_run_choose(&run, 0, samples));
    assert_ok(mgk_dump_capacity(&dump, &capacity));
    assert_ok(mgk_dump_plan(&dump, capacity, threads));
    assert_int_equal(dump.threads, threads);
    assert_in_range(run.device->threads * dump.passes, 1, threads + dump.passes - 1);
    mgk_model_run_close(&run);
    return dump.passes;
}

static void as_many_as_suit(void **state)
{
    (void)state;
    static const struct {
        int threads, samples;
        size_t heads;
        int passes;
    } cases[] = {
        {1, SAMPLES, H, 1},
        {2, SAMPLES, H, 2},
        {3, SAMPLES, H, 3},  /* 8 batches as 3, 3 and 2 */
        {5, SAMPLES, H, 4},  /* rather than 2, 2, 2, 1 and 1 */
        {16, SAMPLES, H, 8}, /* of two threads each */
        {2, 56, H, 1},       /* one batch */
        {2, 57, H, 2},       /* two */
        {2, 113, H, 1},      /* a third batch would leave one pass idle */
        {2, SAMPLES, (128 << 20) / (4 * N * N),
         1}, /* two blocks of 128 MB, and the memory of a pass */
        {2, SAMPLES, (64 << 20) / (4 * N * N), 2},
        {4, SAMPLES, (64 << 20) / (4 * N * N),
         3}, /* 64 MB each: three fit, and share the threads */
    };
    save_model("softmax");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(planned(cases[i].threads, cases[i].samples, cases[i].heads),
                         cases[i].passes);
}

/* Reads one head of each layer of a sample, another one of the next sample: the heads of a layer
 * are written together. */
static size_t read_sample(mgk_store_reader *reader, int sample, double *out)
{
    size_t count = 0;
    for (int layer = 0; layer < L; layer++, count += N * N)
        assert_ok(
            mgk_store_read_matrix(reader, sample, layer, sample % H, STORE_F64, out + count, NULL));
    return count;
}

static void expect_same(const char *path, const char *other)
{
    static double numbers[2][L * N * N];
    mgk_store_reader *readers[2];
    assert_ok(mgk_store_open(path, NULL, &readers[0]));
    assert_ok(mgk_store_open(other, NULL, &readers[1]));
    for (int sample = 0; sample < SAMPLES; sample++) {
        int32_t tokens[2][N], lengths[2];
        size_t count = 0;
        for (int i = 0; i < 2; i++) {
            assert_ok(mgk_store_read_tokens(readers[i], sample, tokens[i], &lengths[i]));
            count = read_sample(readers[i], sample, numbers[i]);
        }
        assert_int_equal(lengths[0], lengths[1]);
        assert_memory_equal(tokens[0], tokens[1], sizeof(tokens[0]));
        assert_memory_equal(numbers[0], numbers[1], count * sizeof(double));
        assert_true(numbers[0][0] > 0);
    }
    mgk_store_close(readers[0]);
    mgk_store_close(readers[1]);
}

/* Equal to the last bit, including the loss. */
static void same_numbers(void **state)
{
    (void)state;
    static const int threads[] = {2, 3, 16};
    static const char *const kinds[] = {"softmax", "mgk", "mlk"};
    for (size_t kind = 0; kind < 3; kind++) {
        mgk_dump_summary one, many;
        save_model(kinds[kind]);
        mgk_dump_options o = options(1);
        o.double_precision = kind == 0;
        o.save = kind == 0 ? ALL : MGK_SAVE_ATTENTION;
        o.compress = kind == 2;
        o.perplexity = true;
        o.output = "passes_one.h5";
        assert_done(mgk_dump_attention(&o, &one));
        assert_true(one.loss > 0 && one.predicted > SAMPLES);
        for (int i = 0; i < 3; i++) {
            o.job.threads = threads[i];
            o.output = case_store;
            assert_done(mgk_dump_attention(&o, &many));
            expect_same("passes_one.h5", case_store);
            assert_int_equal(many.predicted, one.predicted);
            assert_true(threads[i] > 8 || many.loss == one.loss);
            assert_close(many.loss, one.loss, 0, 1e-14);
        }
    }
}

/* The observations of a job's watcher, and when it asks to stop. */
typedef struct watched {
    pthread_t caller;
    int asked, stop_at;
    int64_t done, total;
} watched;

static bool stop(void *context)
{
    watched *w = context;
    assert_true(pthread_equal(w->caller, pthread_self()));
    return w->asked++ == w->stop_at;
}

static void report(void *context, const mgk_report *report)
{
    watched *w = context;
    assert_true(pthread_equal(w->caller, pthread_self()));
    assert_true(report->done >= w->done && report->done <= report->total);
    w->done = report->done;
    w->total = report->total;
}

static void watched_from_one_thread(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 16};
    save_model("softmax");
    for (int i = 0; i < 4; i++) {
        watched w = {.caller = pthread_self(), .stop_at = -1};
        mgk_dump_options o = options(threads[i]);
        o.job.watcher = (mgk_watcher){.report = report, .stop = stop, .context = &w};
        assert_done(mgk_dump_attention(&o, NULL));
        assert_true(w.done == SAMPLES && w.total == SAMPLES);
        assert_true(w.asked >= 1);
        unlink(case_store);

        w = (watched){.caller = pthread_self(), .stop_at = 0};
        assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INTERRUPTED);
        assert_non_null(strstr(mgk_error(), "interrupted after"));
        assert_int_not_equal(access(case_store, F_OK), 0);
    }
}

static int threads_of_process(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void count_threads(void *context, const mgk_report *report)
{
    int *most = context, count = threads_of_process();
    if (report->total > 0 && count > *most)
        *most = count;
}

/* The largest number of threads at the end of a batch, beyond those of the process. */
static int threads_added(int threads, int samples, int compress)
{
    int before = threads_of_process(), most = 0;
    mgk_dump_options o = options(threads);
    o.job.watcher = (mgk_watcher){.report = count_threads, .context = &most};
    o.input.samples = samples;
    o.compress = compress;
    unlink(case_store);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_true(most > 0);
    return most - before;
}

/* Includes writing. Libraries keep their threads, so the smallest numbers come first. */
static void no_more_threads_than_asked_for(void **state)
{
    (void)state;
    save_model("softmax");
    for (int threads = 1; threads <= 2; threads++)
        for (int compress = 0; compress <= 1; compress++) {
            assert_in_range(threads_added(threads, SAMPLES, compress), 0, threads - 1);
            assert_in_range(threads_added(threads, 56, compress), 0, threads - 1); /* one batch */
        }
}

/* Keys of every sample exceed the type, so any pass may find one first. */
static void no_number(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 16};
    case_save_large_keys();
    for (int i = 0; i < 4; i++) {
        mgk_dump_options o = options(threads[i]);
        o.save = MGK_SAVE_KEYS;
        o.dtype = "f16";
        unlink(case_store);
        assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INPUT);
        assert_non_null(strstr(mgk_error(), "layer 1: keys are not finite numbers"));
        assert_int_not_equal(access(case_store, F_OK), 0);
    }
}

/* A message names what has a wider range, as long as there is something. */
static void wider_range(void **state)
{
    (void)state;
    static const struct {
        const char *dtype;
        bool double_precision;
        const char *end;
    } rows[] = {{"f16", true, "(computed in double precision); f32 has a wider range (`dtype`)"},
                {"f32", false, "; double precision has a wider range (`double_precision`)"},
                {"f64", false, "; double precision has a wider range (`double_precision`)"},
                {"f32", true, "; f64 has a wider range (`dtype`)"},
                {"f64", true, "the range of f64 (computed in double precision)"}};
    case_save_large_keys();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        mgk_dump_options o = options(1);
        o.save = MGK_SAVE_SCORES;
        o.dtype = rows[i].dtype;
        o.double_precision = rows[i].double_precision;
        assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INPUT);
        const char *found = strstr(mgk_error(), rows[i].end);
        if (!found || strcmp(found, rows[i].end) != 0)
            fail_msg("row %zu: %s", i, mgk_error());
    }
}

/* The disk is full while all passes have blocks to write. */
static void no_room(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 16};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    save_model("softmax");
    for (int i = 0; i < 4; i++) {
        const struct rlimit limit = {1500000, before.rlim_max};
        const mgk_dump_options o = options(threads[i]);
        unlink(case_store);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        mgk_result result = mgk_dump_attention(&o, NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(result, MGK_IO);
        assert_non_null(strstr(mgk_error(), "may not grow further"));
        assert_int_not_equal(access(case_store, F_OK), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_threads_than_asked_for), /* in a new process */
        cmocka_unit_test(as_many_as_suit),
        cmocka_unit_test(same_numbers),
        cmocka_unit_test(watched_from_one_thread),
        cmocka_unit_test(no_number),
        cmocka_unit_test(wider_range),
        cmocka_unit_test(no_room),
    };
    case_enter("dump_passes.d");
    return cmocka_run_group_tests(tests, make_text, NULL);
}
