/* Texts read through a tokenizer. */
#ifndef MGK_DATA_TOKENIZED_H
#define MGK_DATA_TOKENIZED_H

#include "data/datasets/implementation.h"

/*
 * Opens text files as samples of N ids, by options->tokenizer, or as bytes where it is NULL. The
 * tokens that a model expects around each sequence (its frame) are within the N.
 *   The files' tokens end to end, cut into windows; a rest that is shorter is left out unless there
 *   is nothing else. With options->lines each line that is not blank is a sample, cut to N.
 * The target of a token is the next one; windows without a frame continue each other, so that the
 * last target of one is the first token of the next. All splits give the same samples.
 * STATUS_SHAPE: no tokens, or N holds no more than the frame.
 */
mgk_status mgk_tokenized_open(const mgk_dataset_options *options, mgk_dataset **out);

#endif
