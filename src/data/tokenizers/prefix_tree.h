/* SPDX-License-Identifier: MIT */
/*
 * A tree of texts by bytes: finds which of them a text begins with. Its edges are a hash table, so
 * that a step takes the same time however many texts there are.
 */
#ifndef MGK_DATA_PREFIX_TREE_H
#define MGK_DATA_PREFIX_TREE_H

#include <stdint.h>

#include "data/buffer.h"
#include "data/datasets/lines.h"

/* A zeroed one is empty; released with mgk_prefix_tree_free. */
typedef struct mgk_prefix_tree {
    mgk_buffer edges; /* a hash table, see prefix_tree.c */
    uint64_t seed;    /* of the hash, random, so that no file can make edges collide */
    uint32_t nodes;   /* besides the root */
} mgk_prefix_tree;

/* Adds a text with its value, at least 0; a text that is there already gets the new value.
 * STATUS_UNSUPPORTED: the tree gets too large. */
mgk_status mgk_prefix_tree_add(mgk_prefix_tree *tree, mgk_span text, int32_t value);

/*
 * The node that a byte leads to from `node`, at first 0; 0: no text goes on like this. *value is
 * that of the text that ends there, -1: none.
 */
uint32_t mgk_prefix_tree_step(const mgk_prefix_tree *tree, uint32_t node, unsigned char byte,
                              int32_t *value);

void mgk_prefix_tree_free(mgk_prefix_tree *tree);

#endif
