/* The output files of a run: a check before it begins, and cleaning up at its end. */
#ifndef MGK_TRAIN_OUTPUTS_H
#define MGK_TRAIN_OUTPUTS_H

#include "train/state.h"

/*
 * Whether the model and the state of a run, new or loaded, can be written where the settings say.
 * STATUS_EXISTS: without `force` only a model that the run itself wrote and the state that it
 * continues are overwritten. STATUS_IO: a folder cannot be written, or not a regular file.
 */
mgk_status mgk_outputs_check(const mgk_train_run *run, const mgk_train_settings *settings);

/*
 * Removes the state at settings->checkpoint, if there is one: the model is there, and nothing is
 * left to continue. One that was resumed from another place is left alone.
 */
mgk_status mgk_outputs_finish(const mgk_train_settings *settings);

#endif
