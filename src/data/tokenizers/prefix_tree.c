/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/prefix_tree.h"

#include <string.h>

#include "base/hash.h"

/* A row of the hash table. */
typedef struct edge {
    uint32_t from, to; /* nodes; to = 0: the row is empty */
    int32_t value;     /* of the text that ends at `to`, -1: none */
    unsigned char byte;
} edge;

/* MOST_NODES: 512 MiB of rows; trees of real tokenizers have 2 million. */
enum { FIRST_ROWS = 1024, MOST_NODES = 1 << 23 };

static size_t row_count(const mgk_prefix_tree *tree)
{
    return tree->edges.size / sizeof(edge);
}

/* The row of the edge, or the empty row where it belongs; the table has rows. */
static edge *find_row(const mgk_prefix_tree *tree, uint32_t from, unsigned char byte)
{
    edge *rows = (edge *)(void *)tree->edges.data;
    size_t mask = row_count(tree) - 1;
    size_t i = (size_t)mgk_mix(tree->seed ^ ((uint64_t)from << 8 | byte)) & mask;
    while (rows[i].to && (rows[i].from != from || rows[i].byte != byte))
        i = (i + 1) & mask;
    return &rows[i];
}

static mgk_status grow(mgk_prefix_tree *tree)
{
    mgk_buffer old = tree->edges;
    size_t rows = old.size / sizeof(edge), more = rows ? 2 * rows : FIRST_ROWS;
    mgk_buffer fresh = {0};
    TRY(mgk_buffer_reserve(&fresh, more * sizeof(edge)));
    fresh.size = more * sizeof(edge);
    memset(fresh.data, 0, fresh.size);
    if (!tree->seed)
        tree->seed = mgk_hash_seed();
    tree->edges = fresh;
    const edge *row = (const edge *)(const void *)old.data;
    for (size_t i = 0; i < rows; i++)
        if (row[i].to)
            *find_row(tree, row[i].from, row[i].byte) = row[i];
    mgk_buffer_free(&old);
    return STATUS_OK;
}

mgk_status mgk_prefix_tree_add(mgk_prefix_tree *tree, mgk_span text, int32_t value)
{
    edge *last = NULL;
    uint32_t node = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (2 * ((size_t)tree->nodes + 1) > row_count(tree))
            TRY(grow(tree));
        last = find_row(tree, node, (unsigned char)text.data[i]);
        if (!last->to && tree->nodes == MOST_NODES)
            return mgk_fail(STATUS_UNSUPPORTED, "pieces with more than %d beginnings", MOST_NODES);
        if (!last->to)
            *last = (edge){node, ++tree->nodes, -1, (unsigned char)text.data[i]};
        node = last->to;
    }
    if (last)
        last->value = value;
    return STATUS_OK;
}

uint32_t mgk_prefix_tree_step(const mgk_prefix_tree *tree, uint32_t node, unsigned char byte,
                              int32_t *value)
{
    *value = -1;
    if (row_count(tree) == 0)
        return 0;
    const edge *row = find_row(tree, node, byte);
    if (row->to)
        *value = row->value;
    return row->to;
}

void mgk_prefix_tree_free(mgk_prefix_tree *tree)
{
    mgk_buffer_free(&tree->edges);
    *tree = (mgk_prefix_tree){0};
}
