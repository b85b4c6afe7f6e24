/* SPDX-License-Identifier: MIT */
/*
 * Big Bird (Zaheer et al. 2020) with the random blocks that its published models were trained with.
 * Their code draws them with NumPy, seeded by the number of the layer, for a length of N tokens in
 * n blocks and R random ones a row:
 *     N = 1024, 3072, 4096   for each head and each row, R of the blocks among the first 1024
 * tokens that are neither the first one nor in the window; other N                for each row and
 * each head, R of the first 2 R + 5 blocks, but for the first and the last of these and those of
 * the window. With n up to 2 R + 5 attention is not sparse. In the last two rows the first rule
 * leaves the window in: where its blocks are drawn, they count once here.
 */
#include <stdbool.h>

#include "base/memory.h"
#include "base/numpy_random.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

enum { FIRST_TOKENS = 1024, NONE = -1 };

static int block_count(const mgk_attention_size *size)
{
    return (size->length + size->settings->block - 1) / size->settings->block;
}

/* Numbers of the plan [H, n, R]; 0: attention is not sparse. */
static size_t plan_count(const mgk_attention_size *size)
{
    const int blocks = block_count(size), random = size->settings->random;
    if (blocks <= 2 * random + 5)
        return 0;
    return (size_t)size->heads * (size_t)blocks * (size_t)random;
}

/* The blocks 1 to n − 2 as a list, of which slices [from, to) are put together. */
static int add_slice(int from, int to, int blocks, int32_t *list, int count)
{
    to = to < blocks - 2 ? to : blocks - 2;
    for (int i = from; i < to; i++)
        list[count++] = i + 1;
    return count;
}

/* Candidates of a row under the first rule. */
static int early_candidates(int row, int blocks, int last, int32_t *list)
{
    const int start = row - 2;
    if (row <= 2)
        return add_slice(row + 1, last, blocks, list, 0);
    if (row >= blocks - 3)
        return add_slice(0, last, blocks, list, 0);
    if (start > last)
        return add_slice(0, last, blocks, list, 0);
    const int count = add_slice(0, start, blocks, list, 0);
    return row + 1 == last ? count : add_slice(row + 1, last, blocks, list, count);
}

static void draw_early(const mgk_attention_size *size, mgk_twister *random, int32_t *list,
                       int32_t *out)
{
    const int blocks = block_count(size), length = size->settings->block;
    const int wanted = size->settings->random;
    const int last = FIRST_TOKENS > 2 * length ? FIRST_TOKENS / length - 1 : blocks - 1;
    for (int head = 0; head < size->heads; head++, out += blocks * wanted)
        for (int row = 1; row < blocks - 1; row++) {
            const int count = early_candidates(row, blocks, last, list);
            mgk_numpy_shuffle(random, list, count);
            for (int r = 0; r < wanted && r < count; r++)
                out[row * wanted + r] = list[r];
        }
}

/* Whether a row may see a block by chance under the second rule; `end` blocks are candidates. */
static bool may_see(int row, int block, int end)
{
    const bool window = block >= row - 1 && block <= row + 1;
    const bool opposite = (row == 1 && block == end - 2) || (row == end - 2 && block == 1);
    return !window && !opposite && block != 0 && block != end - 1;
}

static void draw_planned(const mgk_attention_size *size, mgk_twister *random, int32_t *list,
                         int32_t *out)
{
    const int blocks = block_count(size), wanted = size->settings->random, end = 2 * wanted + 5;
    for (int row = 1; row < blocks; row++)
        for (int head = 0; head < size->heads; head++) {
            int32_t *own = out + ((size_t)head * (size_t)blocks + (size_t)row) * (size_t)wanted;
            int found = 0;
            for (int block = 0; block < end; block++)
                list[block] = block;
            mgk_numpy_shuffle(random, list, end);
            for (int i = 0; i < end && found < wanted; i++)
                if (may_see(row, list[i], end))
                    own[found++] = list[i];
        }
}

static mgk_status plan(const mgk_attention_size *size, int32_t *out)
{
    const size_t count = plan_count(size);
    const int tokens = block_count(size) * size->settings->block;
    mgk_twister random;
    int32_t *list;
    if (count == 0)
        return STATUS_OK;
    TRY(mgk_alloc((size_t)block_count(size), sizeof *list, &list));
    for (size_t i = 0; i < count; i++)
        out[i] = NONE;
    mgk_twister_seed(&random, (uint32_t)size->seed + (uint32_t)size->layer);
    if (tokens == 1024 || tokens == 3072 || tokens == 4096)
        draw_early(size, &random, list, out);
    else
        draw_planned(size, &random, list, out);
    mgk_free(list);
    return STATUS_OK;
}

static void pattern(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int length = size->settings->block, wanted = size->settings->random;
    const int own = query / length, blocks = block_count(size);
    if (plan_count(size) == 0) {
        mgk_pattern_add(row, 0, size->tokens);
        return;
    }
    if (mgk_bigbird_window(size, query, row))
        return;
    const int32_t *drawn =
        size->plan + ((size_t)head * (size_t)blocks + (size_t)own) * (size_t)wanted;
    for (int r = 0; r < wanted; r++)
        if (drawn[r] != NONE)
            mgk_pattern_add(row, drawn[r] * length, (drawn[r] + 1) * length);
}

const mgk_attention_kind mgk_attention_bigbird_published = {
    .name = "bigbird-published",
    .score = "exp(q_i.k_j / sqrt(D)) where blocks are neighbours, first, last, or drawn by NumPy",
    .rank_bound = "N",
    .defaults = {.block = 64, .random = 3},
    .pattern_of_head = true,
    .methods = &mgk_tile_methods,
    .tile = mgk_tile_scores,
    .pattern = pattern,
    .plan_count = plan_count,
    .plan = plan,
    .flops = mgk_tile_flops,
};
