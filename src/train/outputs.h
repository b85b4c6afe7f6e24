/* SPDX-License-Identifier: MIT */
/* The output files of a run: a check before it starts, and cleanup at its end. */
#ifndef MGK_TRAIN_OUTPUTS_H
#define MGK_TRAIN_OUTPUTS_H

#include "train/state.h"

/*
 * Checks that the models and the state of a run, new or resumed, can be written to the paths of the
 * settings. STATUS_EXISTS: without `force`, only models that this run has written and the state
 * that it resumes may be overwritten. STATUS_IO: a folder is not writable, or a path is not a
 * regular file.
 */
mgk_status mgk_outputs_check(const mgk_train_run *run, const mgk_train_settings *settings);

/*
 * Removes the state at settings->checkpoint, if any: the model is written, and nothing is left to
 * resume. A state that was resumed from another path stays.
 */
mgk_status mgk_outputs_finish(const mgk_train_settings *settings);

#endif
