/* SPDX-License-Identifier: MIT */
/* Unicode normalization forms. */
#ifndef MGK_DATA_NORMAL_FORM_H
#define MGK_DATA_NORMAL_FORM_H

#include "data/tokenizers/normalize.h"

/*
 * Writes valid UTF-8 in one of the four forms into *out, in linear time; `points` is scratch.
 * STATUS_MEMORY is the only failure.
 */
mgk_status mgk_normal_form(mgk_normal_kind form, mgk_span text, mgk_buffer *points,
                           mgk_buffer *out);

#endif
