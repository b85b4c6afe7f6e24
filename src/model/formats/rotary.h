/* SPDX-License-Identifier: MIT */
/* Rotary positions in config.json of Hugging Face. */
#ifndef MGK_MODEL_ROTARY_H
#define MGK_MODEL_ROTARY_H

#include "model/formats/checkpoint.h"

/*
 * Sets the rotary fields of a configuration whose head_dim, length and rotary_base are set; the
 * last is used if the file does not say another. `part` of a head is rotated in such a family
 * unless the file says otherwise. STATUS_UNSUPPORTED names an unknown rope_type.
 */
mgk_status mgk_rotary_configure(const mgk_checkpoint *checkpoint, double part, mgk_config *config);

/*
 * A recipe that permutes the rows of each head of queries and keys: the pairs that are rotated lie
 * D / 2 apart in the toolkit, and elsewhere R / 2 apart in the first R rows, or next to each other
 * there (`interleaved`). Scores do not depend on such an order.
 */
void mgk_rotary_order(const mgk_config *config, bool interleaved, mgk_recipe *recipe);

#endif
