/* SPDX-License-Identifier: MIT */
/* What processes agree on, and what the environment says of them. */
#include "cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/launcher.h"
#include "cluster/sum.h"
#include "cluster/threads.h"
#include "test.h"

/* What each of three processes says of itself, and what all must hear. */
typedef struct vote {
    mgk_status said[3];
    const char *words[3];
    mgk_status heard[3];
    char message[3][128];
} vote;

static void take_part(mgk_cluster *cluster, void *context)
{
    vote *v = context;
    const int rank = mgk_cluster_rank_of(cluster);
    if (v->said[rank] != STATUS_OK)
        mgk_fail(v->said[rank], "%s", v->words[rank]);
    v->heard[rank] = mgk_cluster_agree(cluster, v->said[rank]);
    snprintf(v->message[rank], sizeof(v->message[rank]), "%s", mgk_fail_message());
}

static void check_vote(vote v, mgk_status expected, const char *message)
{
    test_run_cluster(3, take_part, &v);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(v.heard[rank], expected);
        if (expected != STATUS_OK)
            assert_string_equal(v.message[rank], message);
    }
}

static void test_agree(void **state)
{
    (void)state;
    check_vote((vote){.said = {STATUS_OK}}, STATUS_OK, "");
    check_vote((vote){.said = {STATUS_OK, STATUS_OK, STATUS_IO}, .words = {"", "", "a: gone"}},
               STATUS_IO, "rank 2 (host2): a: gone");
    check_vote((vote){.said = {STATUS_IO, STATUS_IO, STATUS_IO}, .words = {"a", "a", "a"}},
               STATUS_IO, "a");
    check_vote((vote){.said = {STATUS_IO, STATUS_IO, STATUS_IO}, .words = {"a", "b", "a"}},
               STATUS_IO, "rank 0 (host0): a");
    /* Those that were asked to stop are not the reason. */
    check_vote(
        (vote){.said = {STATUS_INTERRUPTED, STATUS_MEMORY, STATUS_OK}, .words = {"i", "m", ""}},
        STATUS_MEMORY, "rank 1 (host1): m");
    check_vote((vote){.said = {STATUS_OK, STATUS_INTERRUPTED, STATUS_OK}, .words = {"", "i", ""}},
               STATUS_INTERRUPTED, "i");
    assert_int_equal(mgk_cluster_agree(NULL, STATUS_FORMAT), STATUS_FORMAT);
}

/* What three processes hear of each other's inputs. */
typedef struct comparison {
    uint64_t own[3];
    mgk_status heard[3];
    char message[3][128];
} comparison;

static void compare(mgk_cluster *cluster, void *context)
{
    comparison *c = context;
    const int rank = mgk_cluster_rank_of(cluster);
    c->heard[rank] = mgk_cluster_compare(cluster, "another model", c->own[rank]);
    snprintf(c->message[rank], sizeof(c->message[rank]), "%s", mgk_fail_message());
}

static void test_compare(void **state)
{
    (void)state;
    comparison same = {.own = {7, 7, 7}}, other = {.own = {7, 7, (uint64_t)7 << 40}};
    test_run_cluster(3, compare, &same);
    test_run_cluster(3, compare, &other);
    for (int rank = 0; rank < 3; rank++) {
        assert_ok(same.heard[rank]);
        assert_int_equal(other.heard[rank], STATUS_USAGE);
        assert_string_equal(other.message[rank],
                            "rank 2 (host2): reads another model than rank 0 under the same name");
    }
    assert_ok(mgk_cluster_compare(NULL, "another model", 7));
}

typedef struct exchange {
    int sent[4], gathered[4][4];
    unsigned any[4];
} exchange;

static void pass_numbers(mgk_cluster *cluster, void *context)
{
    exchange *e = context;
    const int rank = mgk_cluster_rank_of(cluster), own = 100 + rank;
    e->sent[rank] = 7 * rank + 5;
    unsigned any = 0;
    mgk_cluster_broadcast(cluster, &e->sent[rank], sizeof(int));
    mgk_cluster_gather(cluster, &own, sizeof(own), e->gathered[rank]);
    mgk_cluster_or(cluster, rank == 2 ? 5 : rank == 3 ? 8 : 0, &any);
    e->any[rank] = any;
}

static void test_numbers(void **state)
{
    (void)state;
    exchange e = {0};
    test_run_cluster(4, pass_numbers, &e);
    for (int rank = 0; rank < 4; rank++) {
        assert_int_equal(e.sent[rank], 5);
        assert_int_equal(e.any[rank], 13);
        for (int other = 0; other < 4; other++)
            assert_int_equal(e.gathered[rank][other], 100 + other);
    }
}

/* Numbers whose sum depends on the order, an odd number of them. */
enum { NUMBERS = 37 };
typedef struct addition {
    double doubles[3][NUMBERS];
    float floats[3][NUMBERS];
    mgk_status status[3];
} addition;

static double number_of(int rank, int i)
{
    return ldexp(sin(100 * rank + i), 7 * ((rank + i) % 3));
}

static void add(mgk_cluster *cluster, void *context)
{
    addition *a = context;
    const int rank = mgk_cluster_rank_of(cluster);
    mgk_summation *summation;
    for (int i = 0; i < NUMBERS; i++) {
        a->doubles[rank][i] = number_of(rank, i);
        a->floats[rank][i] = (float)number_of(rank, i);
    }
    mgk_status status = mgk_summation_create(cluster, &summation);
    if (status == STATUS_OK)
        status = mgk_summation_run(summation, sizeof(double), NUMBERS, a->doubles[rank]);
    if (status == STATUS_OK)
        status = mgk_summation_run(summation, sizeof(float), NUMBERS, a->floats[rank]);
    mgk_summation_free(summation);
    a->status[rank] = status;
}

/* All have the same bits: those of the sum in the order of ranks. */
static void test_sums(void **state)
{
    (void)state;
    addition a = {0};
    test_run_cluster(3, add, &a);
    for (int rank = 0; rank < 3; rank++) {
        assert_ok(a.status[rank]);
        assert_memory_equal(a.doubles[rank], a.doubles[0], sizeof(a.doubles[0]));
        assert_memory_equal(a.floats[rank], a.floats[0], sizeof(a.floats[0]));
    }
    for (int i = 0; i < NUMBERS; i++) {
        const double expected = number_of(0, i) + number_of(1, i) + number_of(2, i);
        assert_true(a.doubles[0][i] == expected);
        const double single = (double)(float)number_of(0, i) + (double)(float)number_of(1, i) +
                              (double)(float)number_of(2, i);
        assert_true(a.floats[0][i] == (float)single);
    }
}

static void forget_launchers(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",   "PMI_RANK",
        "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",         "MGK_CLUSTER"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

static void check_launched(int expected_rank, int expected_size)
{
    int rank, size;
    assert_int_equal(mgk_launched(&rank, &size), expected_size > 1);
    assert_int_equal(rank, expected_rank);
    assert_int_equal(size, expected_size);
}

static void test_launchers(void **state)
{
    (void)state;
    forget_launchers();
    check_launched(0, 1);
    setenv("SLURM_PROCID", "5", 1);
    check_launched(0, 1); /* a batch script has a number and no step */
    setenv("SLURM_STEP_NUM_TASKS", "8", 1);
    check_launched(5, 8);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    check_launched(3, 4);
    setenv("MGK_CLUSTER", "off", 1);
    check_launched(0, 1);
    unsetenv("MGK_CLUSTER");
    setenv("OMPI_COMM_WORLD_RANK", "4", 1); /* not a rank of four */
    check_launched(5, 8);
    setenv("OMPI_COMM_WORLD_RANK", "3x", 1);
    check_launched(5, 8);
    forget_launchers();
    setenv("PMI_SIZE", "1", 1);
    setenv("PMI_RANK", "0", 1);
    check_launched(0, 1);
    forget_launchers();
}

/* Without several processes nothing is loaded. */
static void test_alone(void **state)
{
    (void)state;
    mgk_cluster *cluster;
    forget_launchers();
    assert_ok(mgk_cluster_join(&cluster));
    assert_null(cluster);
    mgk_cluster_leave(cluster);
    assert_int_equal(mgk_cluster_rank_of(NULL), 0);
    assert_int_equal(mgk_cluster_size_of(NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree),     cmocka_unit_test(test_compare),
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_sums),
        cmocka_unit_test(test_launchers), cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
