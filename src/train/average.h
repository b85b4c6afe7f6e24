/* SPDX-License-Identifier: MIT */
/*
 * The mean of the weights of several steps, which is evaluated and written in place of those of one
 * (Izmailov et al. 2018; Vaswani et al. 2017 average their last checkpoints). The steps are those
 * of evaluations: multiples of evaluate_every, and the last one. Parameters that are drawn, not
 * trained, are those of the last of these steps.
 */
#ifndef MGK_TRAIN_AVERAGE_H
#define MGK_TRAIN_AVERAGE_H

#include "train/state.h"

enum { MGK_AVERAGE_MOST = 64 };

/* Whether a run averages. */
static inline bool mgk_averages(const mgk_train_settings *settings)
{
    return settings->average > 1;
}

/* STATUS_USAGE: a number out of range, or no evaluations to average. */
mgk_status mgk_average_check(const mgk_train_settings *settings);

/* Allocates room for the weights, if the run averages. */
mgk_status mgk_average_open(mgk_train_run *run, const mgk_train_settings *settings);

/* Keeps the weights of a step of an evaluation, and makes run->mean of the last ones. */
mgk_status mgk_average_take(mgk_train_run *run, const mgk_train_settings *settings);

/* How many weights a run keeps after so many steps. */
int mgk_average_kept(const mgk_train_settings *settings, int64_t step);

#endif
