/* SPDX-License-Identifier: MIT */
/* A dataset of stored byte sequences with one class each, for tasks that read or generate all
 * samples at the start. */
#ifndef MGK_DATA_LABELLED_H
#define MGK_DATA_LABELLED_H

#include "data/buffer.h"
#include "data/datasets/implementation.h"

typedef struct mgk_labelled {
    mgk_dataset base;
    mgk_buffer bytes;
    mgk_buffer entries;
} mgk_labelled;

/* Creates an empty dataset; close it with mgk_dataset_close(&labelled->base). Its shape has one
 * sequence. */
mgk_status mgk_labelled_create(mgk_dataset_shape shape, mgk_labelled **out);

/* Adds a sample of 1 <= length <= N tokens, one byte each. */
mgk_status mgk_labelled_append(mgk_labelled *labelled, const unsigned char *tokens, size_t length,
                               int32_t label);

/* The tokens [*length] of sample `index`; valid until the next append. */
const unsigned char *mgk_labelled_tokens(const mgk_labelled *labelled, uint64_t index,
                                         size_t *length);

#endif
