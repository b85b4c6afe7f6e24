/* SPDX-License-Identifier: MIT */
/*
 * Work on units that all pass through the same stages, by threads that wait for each other as
 * little as possible: while some finish a stage of one unit, others work on the next units. A
 * thread takes the earliest unit that has work, so few units are under way at once, and their data
 * stay in caches.
 */
#ifndef MGK_ANALYSIS_PIPELINE_H
#define MGK_ANALYSIS_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/*
 * A stage of a unit consists of items, which may run in any order, several at once. Stage k of a
 * unit begins when stage k − 1 of it and of the unit before has ended; stage 0 begins when that of
 * the unit before has ended, so that of two units only one is in stage 0, and when the unit fits
 * beside those that have not ended.
 */
typedef struct mgk_pipeline {
    size_t units, stages;
    int threads;
    /* The items of a stage, at least 1; 0 if the unit has neither this nor later stages. */
    size_t (*count)(const void *state, size_t unit, size_t stage);
    void (*run)(void *state, size_t unit, size_t stage, size_t item);
    /* Whether there is memory for units first … unit at once, for unit > first. */
    bool (*fits)(const void *state, size_t first, size_t unit);
    void *state;
} mgk_pipeline;

/* Runs all items. STATUS_MEMORY. */
mgk_status mgk_pipeline_run(const mgk_pipeline *pipeline);

#endif
