/* SPDX-License-Identifier: MIT */
/* A dataset of texts, or of pairs of them, with one class each; all texts are in memory. */
#ifndef MGK_DATA_DOCUMENT_ROWS_H
#define MGK_DATA_DOCUMENT_ROWS_H

#include "data/datasets/documents.h"
#include "data/datasets/implementation.h"

typedef struct mgk_document_rows {
    mgk_dataset base;
    mgk_documents documents;
    mgk_buffer rows; /* private to document_rows.c */
} mgk_document_rows;

/* Creates an empty dataset of 2 classes and of 1 or 2 texts a row, read by the tokenizer of the
 * options and cut to their length; close it with mgk_dataset_close(&rows->base). */
mgk_status mgk_document_rows_create(const mgk_dataset_options *options, size_t sequences,
                                    mgk_document_rows **out);

/* Adds a row of texts of `documents`, by their indices; one text: `second` is ignored. */
mgk_status mgk_document_rows_add(mgk_document_rows *rows, size_t first, size_t second,
                                 int32_t label);

/* Tells how many tokens of the texts are not in the vocabulary, once all are there. */
void mgk_document_rows_tell(mgk_document_rows *rows);

#endif
