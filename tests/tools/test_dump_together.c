/* SPDX-License-Identifier: MIT */
/* Two processes, which are threads here, write a store: what one delivers is late, or one fails. */
#include <stdatomic.h>
#include <unistd.h>

#include "base/progress.h"
#include "cluster/share.h"
#include "cluster/threads.h"
#include "dump_case.h"
#include "run/model_run.h"
#include "store/schema/delivery.h"
#include "test.h"
#include "tiny.h"

/* Batches of 56 samples: too few for two passes in each process, so that a thread only writes. */
enum { SAMPLES = 7 * 56, THREADS = 2 };

static const char *const text[] = {"together_text.txt"};
static atomic_int late;                    /* deliveries */
static atomic_int begun[2];                /* batches of each process */
static _Thread_local int rank;             /* of the process that this thread is */
static _Thread_local mgk_share *own_share; /* of that process */
static int failing = -1;                   /* a process that fails at its first batch; −1: none */
static const double patience = 60;         /* seconds until a process is given up */

/* The linker redirects the calls of the library (--wrap). */
mgk_status __real_mgk_model_run_next(mgk_model_run *run, const mgk_job *job,
                                     const mgk_observer *observer, bool *end);
mgk_status __wrap_mgk_model_run_next(mgk_model_run *run, const mgk_job *job,
                                     const mgk_observer *observer, bool *end);

mgk_status __real_mgk_share_stopped(mgk_share *share, bool *out);
mgk_status __wrap_mgk_share_stopped(mgk_share *share, bool *out);

/* A process asks before each of its batches, by the thread that runs them. */
mgk_status __wrap_mgk_share_stopped(mgk_share *share, bool *out)
{
    own_share = share;
    return __real_mgk_share_stopped(share, out);
}

/* Waits until this process has learnt that the other one has failed. */
static void hear_of_failure(void)
{
    const double last = mgk_seconds() + patience;
    bool stopped = false;
    while (__real_mgk_share_stopped(own_share, &stopped) == STATUS_OK && !stopped &&
           mgk_seconds() < last)
        usleep(1000);
}

/* No process ends a batch before the other one has begun its first. Where one fails, the other one
 * has learnt of it by then. */
mgk_status __wrap_mgk_model_run_next(mgk_model_run *run, const mgk_job *job,
                                     const mgk_observer *observer, bool *end)
{
    const double last = mgk_seconds() + patience;
    begun[rank]++;
    while (begun[1 - rank] == 0 && mgk_seconds() < last)
        usleep(1000);
    if (rank == failing)
        return mgk_fail(STATUS_NUMERIC, "not finite");
    if (failing >= 0)
        hear_of_failure();
    return __real_mgk_model_run_next(run, job, observer, end);
}

mgk_status __real_mgk_delivery_put_tokens(void *delivery, const mgk_store_block *block);
mgk_status __wrap_mgk_delivery_put_tokens(void *delivery, const mgk_store_block *block);

mgk_status __wrap_mgk_delivery_put_tokens(void *delivery, const mgk_store_block *block)
{
    usleep(2000);
    late++;
    return __real_mgk_delivery_put_tokens(delivery, block);
}

typedef struct outcome {
    bool shards;
    mgk_result result[2];
} outcome;

static void dump(mgk_cluster *cluster, void *context)
{
    outcome *out = context;
    const int layer = 2; /* tokens come with the first one that is written: with all blocks */
    mgk_dump_options o = case_options(text, SAMPLES);
    o.job.cluster = cluster;
    o.job.threads = THREADS;
    o.layers = &layer;
    o.layer_count = 1;
    o.shards = out->shards;
    rank = mgk_cluster_rank_of(cluster);
    out->result[rank] = mgk_dump_attention(&o, NULL);
}

static outcome run_two(bool shards)
{
    outcome out = {.shards = shards};
    begun[0] = begun[1] = 0;
    test_run_cluster(2, dump, &out);
    return out;
}

/* The writing thread of the second process has work when its batches are done. */
static void late_writing(void **state)
{
    (void)state;
    int32_t tokens[N], length;
    const outcome out = run_two(false);
    assert_int_equal(out.result[0], MGK_OK);
    assert_int_equal(out.result[1], MGK_OK);
    assert_true(late > 0);
    mgk_store_reader *reader = case_open_store();
    for (int s = 0; s < SAMPLES; s++) {
        assert_ok(mgk_store_read_tokens(reader, s, tokens, &length));
        assert_int_equal(length, N);
    }
    mgk_store_close(reader);
}

/* A process that knows all its batches, three or four, stops when the other one has failed. */
static void failure_of_the_other(void **state)
{
    (void)state;
    for (failing = 0; failing < 2; failing++) {
        const outcome out = run_two(true);
        assert_int_equal(out.result[0], MGK_INPUT);
        assert_int_equal(out.result[1], MGK_INPUT);
        assert_int_equal(begun[failing], 1);
        assert_int_equal(begun[1 - failing], 1);
    }
    failing = -1;
}

static int make_inputs(void **state)
{
    (void)state;
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    tiny_text(text[0], 30000);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(late_writing),
                                       cmocka_unit_test(failure_of_the_other)};
    case_enter("dump_together");
    return cmocka_run_group_tests(tests, make_inputs, NULL);
}
