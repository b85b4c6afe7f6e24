/* SPDX-License-Identifier: MIT */
/* Texts read through a tokenizer. */
#ifndef MGK_DATA_TOKENIZED_H
#define MGK_DATA_TOKENIZED_H

#include "data/datasets/implementation.h"

/*
 * Opens text files as samples of N ids, by options->tokenizer, or as bytes if it is NULL. The
 * tokens that a model expects around each sequence (its frame) count towards N.
 *
 * Without options->lines, the concatenated tokens of the files are cut into windows; a shorter rest
 * is left out unless it is the only window. With options->stride the windows slide over all tokens
 * (windows.h); they predict no token of the frame. With options->lines each non-blank line is one
 * sample, cut to N; so is each of options->strings.
 *
 * The target of a token is the next token; windows without a frame continue each other, so the last
 * target of a window is the first token of the next one. All splits give the same samples.
 *
 * STATUS_SHAPE: no tokens, also in one of the strings, or the frame fills N.
 */
mgk_status mgk_tokenized_open(const mgk_dataset_options *options, mgk_dataset **out);

#endif
