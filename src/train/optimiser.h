/* SPDX-License-Identifier: MIT */
/* The constants of AdamW, as a caller gives them. */
#ifndef MGK_TRAIN_OPTIMISER_H
#define MGK_TRAIN_OPTIMISER_H

#include "train/train.h"

/*
 * Sets β₁ and β₂ from `betas`, "0.9,0.98", and ε, unless these are NULL or 0. STATUS_USAGE: they
 * are no such numbers, or out of range.
 */
mgk_status mgk_optimiser_set(const char *betas, double epsilon, mgk_train_settings *settings);

#endif
