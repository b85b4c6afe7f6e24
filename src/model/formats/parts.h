/* SPDX-License-Identifier: MIT */
/* Folders with a model of text and one of pictures, each with its own configuration. */
#ifndef MGK_MODEL_PARTS_H
#define MGK_MODEL_PARTS_H

#include "model/formats/checkpoint.h"

/*
 * Makes config.json that of one of the two models: of `part`, "text" or "vision", or, if that is
 * NULL, of `usual`. If both are NULL, a language model that also sees pictures is its text. Keys
 * that are missing there get the family's values. Other folders stay as they are. STATUS_USAGE:
 * there is a part to choose, or no such part; STATUS_UNSUPPORTED: the part is not known.
 */
mgk_status mgk_parts_enter(mgk_checkpoint *checkpoint, const char *part, const char *usual);

#endif
