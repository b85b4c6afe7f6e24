/* SPDX-License-Identifier: MIT */
#include "analysis/run/pipeline.h"

#include <pthread.h>

#include "base/memory.h"

/* A unit and the stage that it is in: those before have ended. */
typedef struct pipeline_unit {
    size_t stage;                 /* all of them: the unit has ended */
    size_t items, claimed, ended; /* of the stage */
} pipeline_unit;

typedef struct pipeline_run {
    const mgk_pipeline *pipeline;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a stage of a unit */
    pipeline_unit *units; /* [units] */
    size_t first;         /* the first unit that has not ended */
} pipeline_run;

/* An item, and where it belongs. */
typedef struct pipeline_item {
    size_t unit, stage, number;
} pipeline_item;

static void enter_stage(pipeline_run *run, size_t unit, size_t stage)
{
    const mgk_pipeline *p = run->pipeline;
    const size_t items = stage < p->stages ? p->count(p->state, unit, stage) : 0;
    run->units[unit] = (pipeline_unit){.stage = items > 0 ? stage : p->stages, .items = items};
    while (run->first < p->units && run->units[run->first].stage == p->stages)
        run->first++;
}

/* Whether the units before let a unit begin its stage. */
static bool may_begin(const pipeline_run *run, size_t unit)
{
    const mgk_pipeline *p = run->pipeline;
    const size_t stage = run->units[unit].stage;
    if (unit > 0 && run->units[unit - 1].stage < (stage > 0 ? stage : 1))
        return false;
    return stage > 0 || unit == run->first || p->fits(p->state, run->first, unit);
}

/* Claims an item that may begin, of the earliest unit that has one. */
static bool claim(pipeline_run *run, pipeline_item *out)
{
    for (size_t u = run->first; u < run->pipeline->units; u++) {
        pipeline_unit *unit = &run->units[u];
        if (unit->claimed < unit->items && may_begin(run, u)) {
            *out = (pipeline_item){u, unit->stage, unit->claimed++};
            return true;
        }
        if (unit->stage == 0) /* so the units after it cannot begin */
            return false;
    }
    return false;
}

/* Waits for an item and claims it. Returns false when all units have ended. */
static bool next_item(pipeline_run *run, pipeline_item *out)
{
    bool claimed;
    pthread_mutex_lock(&run->lock);
    while (!(claimed = claim(run, out)) && run->first < run->pipeline->units)
        pthread_cond_wait(&run->ended, &run->lock);
    pthread_mutex_unlock(&run->lock);
    return claimed;
}

static void end_item(pipeline_run *run, const pipeline_item *item)
{
    pipeline_unit *unit = &run->units[item->unit];
    pthread_mutex_lock(&run->lock);
    if (++unit->ended == unit->items) {
        enter_stage(run, item->unit, item->stage + 1);
        pthread_cond_broadcast(&run->ended);
    }
    pthread_mutex_unlock(&run->lock);
}

static void run_items(pipeline_run *run)
{
    const mgk_pipeline *p = run->pipeline;
    for (size_t unit = p->units; unit-- > 0;)
        enter_stage(run, unit, 0);
#pragma omp parallel num_threads(p->threads)
    {
        pipeline_item item;
        while (next_item(run, &item)) {
            p->run(p->state, item.unit, item.stage, item.number);
            end_item(run, &item);
        }
    }
}

mgk_status mgk_pipeline_run(const mgk_pipeline *pipeline)
{
    pipeline_run run = {.pipeline = pipeline};
    TRY(mgk_alloc(pipeline->units, sizeof(*run.units), &run.units));
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.ended, NULL);
    run_items(&run);
    pthread_cond_destroy(&run.ended);
    pthread_mutex_destroy(&run.lock);
    mgk_free(run.units);
    return STATUS_OK;
}
