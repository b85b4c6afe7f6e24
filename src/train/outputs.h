/* What a run may write, asked before it begins. */
#ifndef MGK_TRAIN_OUTPUTS_H
#define MGK_TRAIN_OUTPUTS_H

#include "train/state.h"

/*
 * Whether the model and the state of a run, new or loaded, can be written where the settings say.
 * STATUS_EXISTS: without `force` only a model that the run itself wrote and the state that it
 * continues are overwritten. STATUS_IO: a folder cannot be written, or not a regular file.
 */
mgk_status mgk_outputs_check(const mgk_train_run *run, const mgk_train_settings *settings);

#endif
