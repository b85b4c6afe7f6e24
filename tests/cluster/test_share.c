/* SPDX-License-Identifier: MIT */
/* Shared work: each unit once and in order, deliveries complete, failures of any process in all. */
#include "cluster/share.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "cluster/threads.h"
#include "test.h"

enum { UNITS = 500 };

/* A run in which each process marks its units and delivers their numbers. */
typedef struct run {
    size_t first, count, most;
    unsigned pause;    /* microseconds that a unit takes */
    int slow;          /* a process that takes longer; −1: none */
    int failing;       /* a process that fails at its first unit; −1: none */
    size_t unreceived; /* rank 0 cannot receive this unit; UNITS: any */

    atomic_int taken[UNITS], delivered[UNITS];
    atomic_int by[TEST_RANKS]; /* units of each process */
    atomic_bool unordered;
    bool stopped[TEST_RANKS];
    mgk_status ended[TEST_RANKS];
    char message[TEST_RANKS][256];
    size_t told; /* deliveries, as counted by the share */
} run;

static mgk_status receive(void *state, const void *bytes, size_t size)
{
    run *r = state;
    size_t unit;
    if (size != sizeof(unit))
        return mgk_fail(STATUS_FORMAT, "%zu bytes", size);
    memcpy(&unit, bytes, sizeof(unit));
    if (unit == r->unreceived)
        return mgk_fail(STATUS_IO, "disk full");
    r->delivered[unit]++;
    return STATUS_OK;
}

static mgk_status work_on(mgk_cluster *cluster, mgk_share *share, run *r)
{
    const int rank = mgk_cluster_rank_of(cluster);
    size_t begin, end, last = 0;
    for (;;) {
        TRY(mgk_share_take(share, &begin, &end));
        if (begin == end)
            return STATUS_OK;
        if (begin < last || end - begin > r->most)
            r->unordered = true;
        last = end;
        for (size_t unit = begin; unit < end; unit++) {
            if (rank == r->failing)
                return mgk_fail(STATUS_NUMERIC, "unit %zu is not finite", unit);
            usleep(rank == r->slow ? 8000 : r->pause);
            r->taken[unit]++;
            r->by[rank]++;
            TRY(mgk_share_deliver(share, &unit, sizeof(unit)));
        }
    }
}

static void work(mgk_cluster *cluster, void *context)
{
    run *r = context;
    const int rank = mgk_cluster_rank_of(cluster);
    mgk_share *share;
    const mgk_share_options options = {
        .first = r->first, .count = r->count, .most = r->most, .receive = receive, .state = r};
    mgk_status status = mgk_share_begin(cluster, &options, &share);
    if (status == STATUS_OK)
        status = mgk_share_end(share, work_on(cluster, share, r));
    r->ended[rank] = status;
    strncpy(r->message[rank], status == STATUS_OK ? "" : mgk_fail_message(), 255);
}

static run *begin_run(size_t first, size_t count)
{
    run *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    r->first = first;
    r->count = count;
    r->most = SIZE_MAX;
    r->slow = r->failing = -1;
    r->unreceived = UNITS;
    return r;
}

static void check_complete(const run *r, int size)
{
    for (int rank = 0; rank < size; rank++)
        assert_int_equal(r->ended[rank], STATUS_OK);
    for (size_t unit = 0; unit < UNITS; unit++) {
        const int expected = unit >= r->first && unit < r->count;
        assert_int_equal(r->taken[unit], expected);
        assert_int_equal(r->delivered[unit], expected);
    }
    assert_false(r->unordered);
}

static void test_each_unit_once(void **state)
{
    (void)state;
    const size_t counts[] = {0, 1, 3, 8, 100, UNITS};
    for (int size = 1; size <= TEST_RANKS; size++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
            run *r = begin_run(counts[i] / 3, counts[i]);
            test_run_cluster(size, work, r);
            check_complete(r, size);
            free(r);
        }
}

static void test_most(void **state)
{
    (void)state;
    run *r = begin_run(0, 100);
    r->most = 2;
    test_run_cluster(3, work, r);
    check_complete(r, 3);
    free(r);
}

/* One that is slow takes less, and the others do not wait for it at the end. */
static void test_balance(void **state)
{
    (void)state;
    run *r = begin_run(0, 200);
    r->most = 1;
    r->pause = 200;
    r->slow = 2;
    test_run_cluster(4, work, r);
    check_complete(r, 4);
    assert_true(r->by[2] < r->by[1] && r->by[2] < r->by[3]);
    free(r);
}

/* Every process learns of a failure, with the rank's name, and no more units are taken. */
static void test_failure(void **state)
{
    (void)state;
    for (int failing = 0; failing < 3; failing++) {
        char expected[64];
        run *r = begin_run(0, UNITS);
        r->most = 1;
        r->pause = 200;
        r->slow = 3;
        r->failing = failing;
        test_run_cluster(4, work, r);
        snprintf(expected, sizeof(expected), "rank %d (host%d): unit ", failing, failing);
        for (int rank = 0; rank < 4; rank++) {
            assert_int_equal(r->ended[rank], STATUS_NUMERIC);
            assert_int_equal(strncmp(r->message[rank], expected, strlen(expected)), 0);
        }
        assert_true(r->by[3] < 100);
        free(r);
    }
}

static void test_failure_to_receive(void **state)
{
    (void)state;
    run *r = begin_run(0, UNITS);
    r->unreceived = 20;
    r->most = 1;
    test_run_cluster(3, work, r);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(r->ended[rank], STATUS_IO);
        assert_string_equal(r->message[rank], "rank 0 (host0): disk full");
    }
    free(r);
}

/* Processes that have all their units learn of a failure, too. */
static void ask_on(mgk_cluster *cluster, void *context)
{
    run *r = context;
    const int rank = mgk_cluster_rank_of(cluster);
    const mgk_share_options options = {.most = 1, .receive = receive, .state = r};
    const double end = mgk_seconds() + 30;
    mgk_share *share;
    bool stopped = rank == r->failing;
    mgk_status status = mgk_share_begin(cluster, &options, &share);
    if (status == STATUS_OK) {
        while (status == STATUS_OK && !stopped && mgk_seconds() < end)
            status = mgk_share_stopped(share, &stopped);
        if (rank == r->failing)
            status = mgk_fail(STATUS_NUMERIC, "not finite");
        status = mgk_share_end(share, status);
    }
    r->stopped[rank] = stopped;
    r->ended[rank] = status;
}

static void test_failure_of_others(void **state)
{
    (void)state;
    for (int failing = 0; failing < 2; failing++) {
        run *r = begin_run(0, 0);
        r->failing = failing;
        test_run_cluster(3, ask_on, r);
        for (int rank = 0; rank < 3; rank++) {
            assert_int_equal(r->ended[rank], STATUS_NUMERIC);
            assert_true(r->stopped[rank]);
        }
        free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_unit_once),
        cmocka_unit_test(test_most),
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_failure_to_receive),
        cmocka_unit_test(test_failure_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
