/* SPDX-License-Identifier: MIT */
/* Units in a pipeline: every item once, in an order that its stages allow, and units side by side.
 */
#include "analysis/run/pipeline.h"
#include "test.h"

#include <sched.h>
#include <stdbool.h>
#include <time.h>

enum { UNITS = 7, STAGES = 4, ITEMS = 5 };

/* What is watched of a run. */
typedef struct trial {
    size_t units, most;                                    /* that fit at once */
    int begun[UNITS][STAGES][ITEMS], ended[UNITS][STAGES]; /* how often; how many items */
    bool early;                                            /* an item began before it may */
    size_t order[UNITS * STAGES * ITEMS], count; /* unit · STAGES + stage, as they begin */
} trial;

/* Units of few and many items; every third one has two stages only. */
static size_t count_items(const void *state, size_t unit, size_t stage)
{
    (void)state;
    if (unit % 3 == 2 && stage >= 2)
        return 0;
    return stage == 0 ? 1 : 1 + (unit + stage) % ITEMS;
}

static bool has_ended(trial *t, size_t unit, size_t stage)
{
    int ended;
#pragma omp atomic read seq_cst
    ended = t->ended[unit][stage];
    return (size_t)ended == count_items(t, unit, stage);
}

static bool fit(const void *state, size_t first, size_t unit)
{
    return unit - first < ((const trial *)state)->most;
}

/* Whether all units that leave no memory for one have ended. */
static bool has_memory(trial *t, size_t unit)
{
    bool ended = true;
    for (size_t u = 0; u + t->most <= unit; u++)
        for (size_t s = 0; s < STAGES; s++)
            ended = ended && has_ended(t, u, s);
    return ended;
}

static void watch(void *state, size_t unit, size_t stage, size_t item)
{
    trial *t = state;
    size_t place;
#pragma omp atomic
    t->begun[unit][stage][item]++;
    const size_t before = stage > 0 ? stage - 1 : 0;
    if ((stage > 0 && !has_ended(t, unit, before)) ||
        (unit > 0 && !has_ended(t, unit - 1, before)) || !has_memory(t, unit))
#pragma omp atomic write
        t->early = true;
#pragma omp atomic capture
    place = t->count++;
    t->order[place] = unit * STAGES + stage;
    sched_yield(); /* so that others come between */
#pragma omp atomic seq_cst
    t->ended[unit][stage]++;
}

static void run(trial *t, int threads)
{
    const mgk_pipeline pipeline = {.units = t->units,
                                   .stages = STAGES,
                                   .threads = threads,
                                   .count = count_items,
                                   .run = watch,
                                   .fits = fit,
                                   .state = t};
    assert_ok(mgk_pipeline_run(&pipeline));
}

static void every_item_runs_once_when_it_may(void **state)
{
    (void)state;
    for (size_t units = 0; units <= UNITS; units++)
        for (int threads = 1; threads <= 5; threads++) {
            trial t = {.units = units, .most = 1 + (size_t)threads % 4};
            run(&t, threads);
            assert_false(t.early);
            for (size_t u = 0; u < UNITS; u++)
                for (size_t s = 0; s < STAGES; s++)
                    for (size_t i = 0; i < ITEMS; i++)
                        assert_int_equal(t.begun[u][s][i],
                                         u < units && i < count_items(NULL, u, s));
        }
}

/* One thread ends a unit before it begins the next one. */
static void the_earliest_unit_is_first(void **state)
{
    (void)state;
    trial t = {.units = UNITS, .most = UNITS};
    run(&t, 1);
    for (size_t i = 1; i < t.count; i++)
        assert_true(t.order[i - 1] <= t.order[i]);
}

/* Waits some seconds at most. */
static bool comes_true(const int *flag)
{
    const time_t start = time(NULL);
    int set = 0;
    while (!set && time(NULL) < start + 10) {
#pragma omp atomic read seq_cst
        set = *flag;
        sched_yield();
    }
    return set != 0;
}

/* Two units of two stages: stage 1 of the first unit does not end before that of the second. */
typedef struct meeting {
    int arrived, met;
} meeting;

static size_t count_one(const void *state, size_t unit, size_t stage)
{
    (void)state, (void)unit, (void)stage;
    return 1;
}

static bool fit_always(const void *state, size_t first, size_t unit)
{
    (void)state, (void)first, (void)unit;
    return true;
}

static void meet(void *state, size_t unit, size_t stage, size_t item)
{
    meeting *m = state;
    (void)item;
    if (stage == 1 && unit == 0)
        m->met = comes_true(&m->arrived);
    if (stage == 1 && unit == 1)
#pragma omp atomic write seq_cst
        m->arrived = 1;
}

static void units_do_not_wait_for_each_other(void **state)
{
    (void)state;
    meeting m = {0};
    const mgk_pipeline pipeline = {.units = 2,
                                   .stages = 2,
                                   .threads = 2,
                                   .count = count_one,
                                   .run = meet,
                                   .fits = fit_always,
                                   .state = &m};
    assert_ok(mgk_pipeline_run(&pipeline));
    assert_true(m.met);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once_when_it_may),
        cmocka_unit_test(the_earliest_unit_is_first),
        cmocka_unit_test(units_do_not_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
