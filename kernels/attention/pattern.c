/* SPDX-License-Identifier: MIT */
#include "kernels/attention/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { TILE = MGK_PATTERN_TILE };

typedef struct tile {
    int32_t column;
    uint16_t masks[TILE];
} tile;

/* A pattern that grows a block at a time. */
typedef struct builder {
    int keys, key_tiles;
    int32_t *place;   /* [key_tiles] where the block has the tile of these keys; −1: nowhere */
    tile *block;      /* [block_count] in the order of their first keys */
    int32_t *columns; /* [count] of the finished blocks */
    uint16_t *masks;  /* [count, TILE] */
    size_t block_count, block_room, count, column_room, mask_room;
} builder;

struct mgk_pattern_row {
    builder *builder;
    int within;  /* the query's row in its block */
    int visible; /* keys from this one on are not seen */
    mgk_status status;
};

/* The block's masks for 16 keys, made if they are new; NULL: a failure is in the row. */
static uint16_t *find_masks(mgk_pattern_row *row, int32_t column)
{
    builder *b = row->builder;
    if (b->place[column] < 0) {
        row->status = mgk_grow(b->block_count, sizeof *b->block, &b->block_room, &b->block);
        if (row->status != STATUS_OK)
            return NULL;
        b->block[b->block_count] = (tile){.column = column};
        b->place[column] = (int32_t)b->block_count++;
    }
    return b->block[b->place[column]].masks;
}

void mgk_pattern_add(mgk_pattern_row *row, int first, int end)
{
    int64_t key = first > 0 ? first : 0;
    end = end < row->visible ? end : row->visible;
    while (key < end && row->status == STATUS_OK) {
        const int64_t column = key / TILE, next = (column + 1) * TILE;
        const unsigned from = UINT16_MAX << key % TILE;
        const unsigned to = next <= end ? UINT16_MAX : (1U << end % TILE) - 1;
        uint16_t *masks = find_masks(row, (int32_t)column);
        if (masks)
            masks[row->within] |= (uint16_t)(from & to);
        key = next;
    }
}

void mgk_pattern_add_strided(mgk_pattern_row *row, int first, int end, int step)
{
    end = end < row->visible ? end : row->visible;
    if (first < 0)
        first = (int)((first % (int64_t)step + step) % step);
    for (int64_t key = first; key < end && row->status == STATUS_OK; key += step)
        mgk_pattern_add_key(row, (int)key);
}

static int by_column(const void *a, const void *b)
{
    const int32_t left = ((const tile *)a)->column, right = ((const tile *)b)->column;
    return (left > right) - (left < right);
}

/* Moves the block's tiles, sorted, to the pattern. */
static mgk_status finish_block(builder *b)
{
    if (b->block_count > 0)
        qsort(b->block, b->block_count, sizeof *b->block, by_column);
    for (size_t t = 0; t < b->block_count; t++) {
        if (b->count >= INT32_MAX)
            return mgk_fail(STATUS_SHAPE, "a pattern of attention has more than %d tiles",
                            INT32_MAX);
        TRY(mgk_grow(b->count, sizeof *b->columns, &b->column_room, &b->columns));
        TRY(mgk_grow(b->count, TILE * sizeof *b->masks, &b->mask_room, &b->masks));
        b->columns[b->count] = b->block[t].column;
        memcpy(b->masks + b->count * TILE, b->block[t].masks, sizeof b->block[t].masks);
        b->place[b->block[t].column] = -1;
        b->count++;
    }
    b->block_count = 0;
    return STATUS_OK;
}

/* All blocks of one head, whose starts [blocks + 1] follow. */
static mgk_status build_head(builder *b, const mgk_pattern_shape *shape, mgk_pattern_rule *rule,
                             const void *context, int head, int32_t *starts)
{
    starts[0] = (int32_t)b->count;
    for (int query = 0; query < shape->tokens; query++) {
        const bool bounded = shape->causal && query < b->keys;
        mgk_pattern_row row = {b, query % TILE, bounded ? query + 1 : b->keys, STATUS_OK};
        rule(context, head, query, &row);
        TRY(row.status);
        if (query % TILE == TILE - 1 || query == shape->tokens - 1) {
            TRY(finish_block(b));
            starts[query / TILE + 1] = (int32_t)b->count;
        }
    }
    return STATUS_OK;
}

static int key_count(const mgk_pattern_shape *shape)
{
    return shape->key_tokens > 0 ? shape->key_tokens : shape->tokens;
}

/* ⌈tokens / TILE⌉ */
static int tile_count(int tokens)
{
    return (tokens - 1) / TILE + 1;
}

mgk_status mgk_pattern_build(const mgk_pattern_shape *shape, mgk_pattern_rule *rule,
                             const void *context, mgk_pattern *out)
{
    *out = (mgk_pattern){0};
    if (shape->heads < 1 || shape->tokens < 1 || shape->key_tokens < 0)
        return mgk_fail(STATUS_SHAPE, "a pattern of attention has %d heads, %d queries, %d keys",
                        shape->heads, shape->tokens, shape->key_tokens);
    const size_t stride = (size_t)tile_count(shape->tokens) + 1;
    builder b = {.keys = key_count(shape)};
    b.key_tiles = tile_count(b.keys);
    int32_t *starts = NULL;
    mgk_status status = STATUS_OK;
    size_t count;
    CHECK(mgk_multiply((size_t)shape->heads, stride, &count));
    CHECK(mgk_alloc(count, sizeof *starts, &starts));
    CHECK(mgk_alloc((size_t)b.key_tiles, sizeof *b.place, &b.place));
    for (int column = 0; column < b.key_tiles; column++)
        b.place[column] = -1;
    for (int head = 0; head < shape->heads; head++)
        CHECK(build_head(&b, shape, rule, context, head, starts + (size_t)head * stride));
    *out = (mgk_pattern){.starts = starts,
                         .columns = b.columns,
                         .masks = b.masks,
                         .head_stride = shape->heads > 1 ? stride : 0};
    starts = NULL;
    b.columns = NULL;
    b.masks = NULL;
out:
    mgk_free(b.place);
    mgk_free(b.block);
    mgk_free(b.columns);
    mgk_free(b.masks);
    mgk_free(starts);
    return status;
}

void mgk_pattern_release(mgk_pattern *pattern)
{
    mgk_free((void *)(uintptr_t)pattern->starts);
    mgk_free((void *)(uintptr_t)pattern->columns);
    mgk_free((void *)(uintptr_t)pattern->masks);
    *pattern = (mgk_pattern){0};
}

/* The keys in one row of a tile that the query sees. */
static int seen(unsigned mask, int first_key, int visible)
{
    const int left = visible - first_key;
    return left <= 0 ? 0 : __builtin_popcount(left < TILE ? mask & ((1U << left) - 1) : mask);
}

double mgk_pattern_pairs(const mgk_pattern *pattern, const mgk_pattern_shape *shape, int head)
{
    const int32_t *starts = pattern->starts + (size_t)head * pattern->head_stride;
    const int keys = key_count(shape);
    int64_t pairs = 0;
    for (int query = 0; query < shape->tokens; query++) {
        const int visible = shape->causal && query < keys ? query + 1 : keys;
        const int32_t *block = starts + query / TILE;
        for (int32_t t = block[0]; t < block[1]; t++)
            pairs += seen(pattern->masks[(size_t)t * TILE + (size_t)(query % TILE)],
                          pattern->columns[t] * TILE, visible);
    }
    return (double)pairs;
}
