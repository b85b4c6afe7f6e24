/* SPDX-License-Identifier: MIT */
#include "analysis/run/pipeline.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/memory.h"

/*
 * The stages of all units form a list: turn t of it has stage 0 of unit t, stage 1 of unit
 * t − apart, and so on. A thread claims the first item of the list that no other one has, and waits
 * until the item may begin. What it waits for is earlier in the list, so it has been claimed, and
 * the thread with the earliest item never waits: there is no deadlock.
 */
typedef struct pipeline_run {
    const mgk_pipeline *pipeline;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a stage of a unit */
    size_t *left;         /* [units, stages], items that have not ended */
} pipeline_run;

/* A stage of a unit in the list. */
typedef struct pipeline_step {
    size_t number;            /* in the list */
    size_t unit, stage;       /* meaningless without items */
    size_t first_item, count; /* the number of its first item in the list; 0 items: none */
} pipeline_step;

static pipeline_step step_at(const mgk_pipeline *p, size_t number, size_t first_item)
{
    const size_t turn = number / p->stages, stage = number % p->stages;
    const size_t unit = turn - stage * p->apart;
    const bool exists = turn >= stage * p->apart && unit < p->units;
    return (pipeline_step){.number = number,
                           .unit = unit,
                           .stage = stage,
                           .first_item = first_item,
                           .count = exists ? p->count(p->state, unit, stage) : 0};
}

/* The step of an item of the list, which is this one or a later one. */
static pipeline_step find_step(const mgk_pipeline *p, pipeline_step step, size_t item)
{
    while (item - step.first_item >= step.count)
        step = step_at(p, step.number + 1, step.first_item + step.count);
    return step;
}

static size_t *left_of(const pipeline_run *run, size_t unit, size_t stage)
{
    return &run->left[unit * run->pipeline->stages + stage];
}

static void wait_for(pipeline_run *run, const size_t *left)
{
    pthread_mutex_lock(&run->lock);
    while (*left > 0)
        pthread_cond_wait(&run->ended, &run->lock);
    pthread_mutex_unlock(&run->lock);
}

static void wait_to_begin(pipeline_run *run, const pipeline_step *step)
{
    const size_t before = step->stage > 0 ? step->stage - 1 : 0;
    if (step->unit > 0)
        wait_for(run, left_of(run, step->unit - 1, before));
    if (step->stage > 0)
        wait_for(run, left_of(run, step->unit, before));
}

static void end_item(pipeline_run *run, const pipeline_step *step)
{
    pthread_mutex_lock(&run->lock);
    if (--*left_of(run, step->unit, step->stage) == 0)
        pthread_cond_broadcast(&run->ended);
    pthread_mutex_unlock(&run->lock);
}

/* Sets the items that are left of each stage, and returns the number of all. */
static size_t count_items(const pipeline_run *run)
{
    const mgk_pipeline *p = run->pipeline;
    size_t sum = 0;
    for (size_t unit = 0; unit < p->units; unit++)
        for (size_t stage = 0; stage < p->stages; stage++)
            sum += *left_of(run, unit, stage) = p->count(p->state, unit, stage);
    return sum;
}

static void run_items(pipeline_run *run)
{
    const mgk_pipeline *p = run->pipeline;
    const size_t items = count_items(run);
    pipeline_step step = step_at(p, 0, 0); /* of this thread: its items ascend */
#pragma omp parallel for schedule(monotonic : dynamic) num_threads(p->threads) firstprivate(step)
    for (size_t item = 0; item < items; item++) {
        step = find_step(p, step, item);
        wait_to_begin(run, &step);
        p->run(p->state, step.unit, step.stage, item - step.first_item);
        end_item(run, &step);
    }
}

mgk_status mgk_pipeline_run(const mgk_pipeline *pipeline)
{
    pipeline_run run = {.pipeline = pipeline};
    size_t steps;
    TRY(mgk_multiply(pipeline->units, pipeline->stages, &steps));
    TRY(mgk_alloc(steps, sizeof(*run.left), &run.left));
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.ended, NULL);
    run_items(&run);
    pthread_cond_destroy(&run.ended);
    pthread_mutex_destroy(&run.lock);
    mgk_free(run.left);
    return STATUS_OK;
}
