/* SPDX-License-Identifier: MIT */
/* Rotary positions in config.json of Hugging Face. */
#ifndef MGK_MODEL_ROTARY_H
#define MGK_MODEL_ROTARY_H

#include "model/formats/checkpoint.h"

/*
 * Sets the rotary fields of a configuration whose head_dim, length and rotary_base are set; the
 * last is used if the file does not say another. `usual`: the part of a head that such a family
 * rotates unless the file says otherwise; 0: whole heads, whatever it says. STATUS_UNSUPPORTED
 * names an unknown rope_type, or a part that the family does not have; STATUS_FORMAT a key that a
 * rope_type needs.
 */
mgk_status mgk_rotary_configure(const mgk_checkpoint *checkpoint, double usual, mgk_config *config);

/*
 * A recipe that permutes the rows of each head of queries and keys: the pairs that are rotated lie
 * D / 2 apart in the toolkit, and elsewhere R / 2 apart in the first R rows, or next to each other
 * there (`interleaved`). Scores do not depend on such an order.
 */
void mgk_rotary_order(const mgk_config *config, bool interleaved, mgk_recipe *recipe);

#endif
