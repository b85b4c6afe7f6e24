/* SPDX-License-Identifier: MIT */
/* Private to normalization: steps that put texts in the place of others. */
#ifndef MGK_DATA_REPLACE_H
#define MGK_DATA_REPLACE_H

#include "data/tokenizers/normalize.h"

/*
 * Append the text with its matches of the step's pattern replaced; or with each extended grapheme
 * cluster of fewer than 6 bytes, otherwise each character, replaced if a text of the table begins
 * it: by the replacement of the shortest such text. STATUS_UNSUPPORTED: the pattern takes too many
 * steps or matches between characters, or the text becomes many times as long.
 */
mgk_status mgk_replace_matches(const mgk_normal_step *step, mgk_normal_scratch *scratch,
                               mgk_span text, mgk_buffer *out);
mgk_status mgk_replace_characters(const mgk_charsmap *map, const mgk_normal_scratch *scratch,
                                  mgk_span text, mgk_buffer *out);

/*
 * Appends the text as SentencePiece normalizes it: replaced by the longest texts of the table;
 * without spaces at its ends and behind other spaces, if they are removed; with a space in front,
 * if asked for, unless nothing is left; and with `content` for each space.
 */
mgk_status mgk_replace_for_pieces(const mgk_normal_step *step, const mgk_normal_scratch *scratch,
                                  mgk_span text, mgk_buffer *out);

/* STATUS_UNSUPPORTED if the text may not become so long. */
mgk_status mgk_normal_room(const mgk_normal_scratch *scratch, size_t size);

#endif
