/* SPDX-License-Identifier: MIT */
/*
 * The models that a run keeps besides its best one: those of step 0, which is the untrained one, of
 * every `keep_every` steps, and of the last step, which may come early for want of patience.
 */
#ifndef MGK_TRAIN_KEPT_H
#define MGK_TRAIN_KEPT_H

#include "train/train.h"

/* STATUS_USAGE: the run is to keep too many models. */
mgk_status mgk_kept_check(const mgk_train_settings *settings);

/* The next step after `step` whose model is kept, of settings that passed the check; -1: none. The
 * first one follows -1. */
int64_t mgk_kept_after(const mgk_train_settings *settings, int64_t step);

/* Whether the model of this step is kept. */
bool mgk_kept(const mgk_train_settings *settings, int64_t step);

/*
 * The file of the model of a step, beside the output: "run.step-000500.safetensors" for
 * "run.safetensors". Names of one run are sorted as their steps. Release with mgk_free.
 */
mgk_status mgk_kept_path(const mgk_train_settings *settings, int64_t step, char **out);

#endif
