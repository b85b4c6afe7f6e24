/* SPDX-License-Identifier: MIT */
/* What a decoder reads: the tokens that it shall write, as labels, moved by one. */
#ifndef MGK_RUN_TARGET_H
#define MGK_RUN_TARGET_H

#include "model/core/config.h"

/*
 * Makes the decoder's input of labels ids [*length], in place: its start token, then all labels but
 * the last one; for models without a start token the last label comes first (mbart). Labels that
 * begin with the start token already only lose the last one. next [*length], the tokens that are
 * predicted, become the labels that follow; NULL: not wanted. An empty sequence stays empty.
 */
void mgk_target_shift(const mgk_config *config, int32_t *ids, int32_t *next, int32_t *length);

#endif
