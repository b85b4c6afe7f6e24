/* SPDX-License-Identifier: MIT */
/* The language of ListOps (Nangia and Bowman 2018): [MAX 2 [MED 4 7 1 ] 0 ] is 4. Digits have the
 * ids 0-9; operators and the closing bracket follow. */
#ifndef MGK_DATA_LISTOPS_H
#define MGK_DATA_LISTOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "base/status.h"
#include "data/buffer.h"
#include "data/datasets/lines.h"

enum {
    MGK_LISTOPS_MAX = 10, /* [MAX  largest argument */
    MGK_LISTOPS_MIN = 11, /* [MIN  smallest argument */
    /* [MED  median; for an even count the mean of the middle two, truncated */
    MGK_LISTOPS_MED = 12,
    MGK_LISTOPS_SUM = 13,   /* [SM   sum modulo 10 */
    MGK_LISTOPS_CLOSE = 14, /* ] */
    MGK_LISTOPS_VOCABULARY = 15,
};

/* Appends the ids of a text whose tokens are separated by spaces; round brackets are ignored.
 * STATUS_FORMAT names a word that is not a token. */
mgk_status mgk_listops_parse(mgk_span text, mgk_buffer *tokens);

/* Computes the value, 0-9, of an expression. STATUS_FORMAT: not exactly one complete expression, an
 * operator without arguments, or more than 256 levels. */
mgk_status mgk_listops_value(const unsigned char *tokens, size_t count, int32_t *value);

/*
 * Draws a tree by the recipe of Long Range Arena into tokens [limit]. A node at depth d (root: 1)
 * with d < 10 is an operator with probability 1/4, else a digit; an operator is one of the four and
 * has 2 to 10 arguments, nodes at depth d + 1. Every choice is uniform. Returns the number of
 * tokens, or 0 as soon as the tree must exceed `limit`.
 */
size_t mgk_listops_draw(mgk_random *random, unsigned char *tokens, size_t limit);

#endif
