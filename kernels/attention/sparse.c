/* SPDX-License-Identifier: MIT */
/*
 * Softmax attention in which a query sees some keys, chosen by their positions: a_ij =
 * exp(q_i·k_j / √D) for pairs (i, j) of a pattern, of which a causal model keeps those with j <= i.
 * Patterns are of the model's positions, so that padding does not change what a token sees.
 */
#include "base/random.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

/* Longformer's window (Beltagy et al. 2020). */
static void band(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int window = size->settings->window;
    (void)head;
    mgk_pattern_add(row, query - window, query + window + 1);
}

static void dilated(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int step = size->settings->dilation, most = size->tokens / step + 1;
    const int window = size->settings->window, reach = (window < most ? window : most) * step;
    (void)head;
    mgk_pattern_add_strided(row, query - reach, query + reach + 1, step);
}

/* The first tokens see all tokens and are seen by all. */
static void global(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int first = size->settings->global;
    (void)head;
    mgk_pattern_add(row, 0, query < first ? size->tokens : first);
}

/* The two patterns of Sparse Transformers (Child et al. 2019). */
static void strided(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int step = size->settings->block;
    (void)head;
    mgk_pattern_add_strided(row, query % step, size->tokens, step);
}

static void fixed(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int block = size->settings->block, last = size->settings->global;
    const int own = query / block * block;
    (void)head;
    mgk_pattern_add(row, own, own + block);
    for (int end = block; end < size->tokens + block; end += block)
        mgk_pattern_add(row, end - last, end);
}

static void block(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int length = size->settings->block, own = query / length * length;
    (void)head;
    mgk_pattern_add(row, own, own + length);
}

/* The local layers of Reformer's published code: the chunk of the query and the one before. */
static void chunks(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int length = size->settings->window, own = query / length * length;
    (void)head;
    mgk_pattern_add(row, own - length, own + length);
}

/* A stream of random numbers of its own for a layer, head and query. */
static uint64_t stream_of(const mgk_attention_size *size, int head, int query)
{
    const uint64_t row = (uint64_t)(size->layer * size->heads + head);
    return ((uint64_t)1 << 61) + row * (uint64_t)size->length + (uint64_t)query;
}

enum { MOST_DRAWN = 256 };

static mgk_status check_drawn(const mgk_attention_size *size)
{
    if (size->settings->random <= MOST_DRAWN)
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE, "`random` is %d, expected at most %d", size->settings->random,
                    MOST_DRAWN);
}

/*
 * Adds up to `count` different numbers below `bound` other than `own`, all of them if there are not
 * so many, by drawing until one is new.
 */
static void add_random(const mgk_attention_size *size, int head, int query, int bound, int own,
                       int count, int scale, mgk_pattern_row *row)
{
    int found[MOST_DRAWN], number = 0;
    const uint64_t stream = stream_of(size, head, query);
    const int others = bound - (own < bound ? 1 : 0);
    for (uint64_t draw = 0; number < count && number < others; draw++) {
        const int drawn =
            (int)mgk_random_below((uint64_t)size->seed, stream, draw, (uint64_t)bound);
        bool known = drawn == own;
        for (int i = 0; i < number; i++)
            known |= found[i] == drawn;
        if (known)
            continue;
        found[number++] = drawn;
        mgk_pattern_add(row, drawn * scale, (drawn + 1) * scale);
    }
}

/* The query itself is one of its keys, so that no query sees nothing. */
static void random_keys(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    mgk_pattern_add_key(row, query);
    add_random(size, head, query, size->causal ? query + 1 : size->length, query,
               size->settings->random - 1, 1, row);
}

bool mgk_bigbird_window(const mgk_attention_size *size, int query, mgk_pattern_row *row)
{
    const int length = size->settings->block, own = query / length;
    const int blocks = (size->length + length - 1) / length;
    if (own == 0 || own == blocks - 1) {
        mgk_pattern_add(row, 0, size->tokens);
        return true;
    }
    mgk_pattern_add(row, 0, length);
    mgk_pattern_add(row, (own - 1) * length, (own + 2) * length);
    mgk_pattern_add(row, (blocks - 1) * length, size->tokens);
    return false;
}

/*
 * Big Bird (Zaheer et al. 2020) in blocks: the own block and its neighbours, the first and the
 * last block, and random ones; the first and the last block see all.
 */
static void bigbird(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int length = size->settings->block, own = query / length;
    const int blocks = (size->length + length - 1) / length;
    if (mgk_bigbird_window(size, query, row))
        return;
    add_random(size, head, own, size->causal ? own + 1 : blocks, own, size->settings->random,
               length, row);
}

/*
 * Star-Transformer (Guo et al. 2019): satellites see themselves, their neighbours and the relay,
 * which sees all. Here the relay is the first token.
 */
static void star(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    (void)head;
    mgk_pattern_add_key(row, 0);
    mgk_pattern_add(row, query - 1, query == 0 ? size->tokens : query + 2);
}

/* Heads and layers look further and further (Guo et al. 2020, Multi-scale self-attention). */
static void multi_scale(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    int window = size->settings->window;
    const int doublings = head * (size->layer + 1) / size->layers;
    for (int i = 0; i < doublings && window < size->tokens; i++)
        window *= 2;
    mgk_pattern_add(row, query - window, query + window + 1);
}

#define SPARSE(of_name, of_score, of_pattern)                                              \
    .name = of_name, .score = "exp(q_i.k_j / sqrt(D)) where " of_score, .rank_bound = "N", \
    .methods = &mgk_tile_methods, .tile = mgk_tile_scores, .pattern = of_pattern,          \
    .flops = mgk_tile_flops

const mgk_attention_kind mgk_attention_band = {
    SPARSE("band", "|i - j| <= window", band),
    .defaults = {.window = 128},
};

const mgk_attention_kind mgk_attention_dilated = {
    SPARSE("dilated", "|i - j| <= window dilation, (i - j) mod dilation = 0", dilated),
    .defaults = {.window = 64, .dilation = 2},
};

const mgk_attention_kind mgk_attention_global = {
    SPARSE("global", "i < global or j < global", global),
    .defaults = {.global = 16},
};

const mgk_attention_kind mgk_attention_strided = {
    SPARSE("strided", "(i - j) mod block = 0", strided),
    .defaults = {.block = 16},
};

const mgk_attention_kind mgk_attention_fixed = {
    SPARSE("fixed", "i, j in one block, or j mod block >= block - global", fixed),
    .defaults = {.block = 32, .global = 4},
};

const mgk_attention_kind mgk_attention_block = {
    SPARSE("block", "i, j in one block", block),
    .defaults = {.block = 64},
};

const mgk_attention_kind mgk_attention_chunks = {
    SPARSE("chunks", "j in i's chunk of window tokens or in the one before", chunks),
    .defaults = {.window = 64},
};

const mgk_attention_kind mgk_attention_random = {
    SPARSE("random", "j = i or one of random - 1 keys drawn for i", random_keys),
    .defaults = {.random = 64},
    .pattern_of_head = true,
    .check = check_drawn,
};

const mgk_attention_kind mgk_attention_bigbird = {
    SPARSE("bigbird", "blocks are neighbours, first or last, or drawn", bigbird),
    .defaults = {.block = 64, .random = 3},
    .pattern_of_head = true,
    .check = check_drawn,
};

const mgk_attention_kind mgk_attention_star = {
    SPARSE("star", "|i - j| <= 1, i = 0 or j = 0", star),
};

const mgk_attention_kind mgk_attention_multi_scale = {
    SPARSE("multi-scale", "|i - j| <= window 2^floor(h (l + 1) / L)", multi_scale),
    .defaults = {.window = 16},
    .pattern_of_head = true,
};
