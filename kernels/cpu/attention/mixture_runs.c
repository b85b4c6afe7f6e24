/* SPDX-License-Identifier: MIT */
/* How large a block is, and which keys its queries see: the runs of its rows, and the mask within
 * them. */
#include <math.h>

#include "kernels/cpu/attention/mixture.h"

/* Half of the second-level cache of the smallest supported machines. */
enum { BLOCK_BYTES = 192 * 1024 };

/* The most queries of a block of all keys, and the least that a bound leaves one of a part. */
enum { WHOLE_ROWS = MGK_PATTERN_TILE, LEAST_PART_ROWS = 16 };

/* Parts of the keys have a multiple of so many, for the widest blocks of products; with many
 * components blocks have fewer queries rather than narrower parts. */
enum { PART_KEYS = 64, LEAST_PART_KEYS = 128 };

/* The most tiles of a block, in all variants of the pattern. */
static size_t widest_block(const mgk_attention_view *view, const mgk_pattern *pattern)
{
    size_t samples = pattern->sample_stride > 0 ? (size_t)view->samples : 1;
    size_t heads = pattern->head_stride > 0 ? (size_t)view->heads : 1;
    size_t blocks = ((size_t)view->tokens + MGK_PATTERN_TILE - 1) / MGK_PATTERN_TILE;
    int32_t widest = 0;
    for (size_t b = 0; b < samples; b++)
        for (size_t h = 0; h < heads; h++) {
            const int32_t *starts =
                pattern->starts + b * pattern->sample_stride + h * pattern->head_stride;
            for (size_t block = 0; block < blocks; block++) {
                int32_t tiles = starts[block + 1] - starts[block];
                widest = tiles > widest ? tiles : widest;
            }
        }
    return (size_t)widest;
}

mgk_mixture_room MGK_CPU(mixture_room)(const mgk_attention_view *view, const mgk_mixture *mixture,
                                       size_t arrays)
{
    size_t cols = mgk_cpu_pitch((size_t)mgk_view_keys(view));
    size_t most = mgk_tile_rows((size_t)view->tokens);
    if (most > WHOLE_ROWS)
        most = WHOLE_ROWS;
    if (mixture->pattern) {
        size_t tiles = widest_block(view, mixture->pattern);
        size_t pitch = mgk_cpu_pitch(tiles * MGK_PATTERN_TILE);
        return (mgk_mixture_room){most, cols, pitch < cols ? pitch : cols, tiles};
    }
    size_t rows = BLOCK_BYTES / (cols * arrays * sizeof(real)) / MGK_TILE_ROWS * MGK_TILE_ROWS;
    rows = rows < MGK_TILE_ROWS ? MGK_TILE_ROWS : rows < most ? rows : most;
    return (mgk_mixture_room){rows, cols, cols, 1};
}

/*
 * The most queries of a block of a part of the keys. A causal bound or a window ends within blocks,
 * which then compute scores that their queries do not see: for each query half as many as there
 * are queries. Where queries see few keys, blocks have few queries, so that this is a thirtieth.
 */
static size_t part_rows(const mgk_attention_view *view, const mgk_mixture *mixture)
{
    enum { KEYS_PER_ROW = 16 };
    size_t keys = (size_t)mgk_view_keys(view), window = (size_t)mixture->terms.window;
    size_t reach = window > 0 && window < keys ? window : keys;
    if (!view->causal && window == 0)
        return MGK_MIXTURE_MOST_ROWS;
    size_t rows = reach / KEYS_PER_ROW / MGK_TILE_ROWS * MGK_TILE_ROWS;
    if (rows < LEAST_PART_ROWS)
        return LEAST_PART_ROWS;
    return rows < MGK_MIXTURE_MOST_ROWS ? rows : MGK_MIXTURE_MOST_ROWS;
}

/* The most keys of which so many rows of `arrays` arrays fit, but for the padding of rows. */
static size_t part_keys(size_t rows, size_t arrays)
{
    return BLOCK_BYTES / (rows * arrays * sizeof(real)) / PART_KEYS * PART_KEYS;
}

mgk_mixture_room MGK_CPU(mixture_part_room)(const mgk_attention_view *view,
                                            const mgk_mixture *mixture, size_t arrays)
{
    if (mixture->pattern)
        return MGK_CPU(mixture_room)(view, mixture, arrays);
    size_t cols = mgk_cpu_pitch((size_t)mgk_view_keys(view)), rows = part_rows(view, mixture);
    size_t tokens = mgk_tile_rows((size_t)view->tokens);
    rows = rows < tokens ? rows : tokens;
    while (rows > MGK_TILE_ROWS && part_keys(rows, arrays) < LEAST_PART_KEYS)
        rows -= MGK_TILE_ROWS;
    size_t keys = part_keys(rows, arrays);
    if (keys >= cols)
        return (mgk_mixture_room){rows, cols, cols, 1};
    return (mgk_mixture_room){rows, keys, mgk_cpu_pitch(keys), 1};
}

/* Appends keys to the runs of the block. */
static void add_keys(mgk_mixture_head *head, size_t begin, size_t width)
{
    mgk_mixture_run *last = head->runs + head->run_count;
    if (head->run_count > 0 && last[-1].begin + last[-1].width == begin) {
        last[-1].width += width;
    } else {
        *last = (mgk_mixture_run){begin, head->width, width};
        head->run_count++;
    }
    head->width += width;
}

void MGK_CPU(mixture_find_runs)(mgk_mixture_head *head, size_t key)
{
    const mgk_pattern *pattern = head->mixture->pattern;
    size_t begin = mgk_mixture_from(head, 0) / MGK_LANES * MGK_LANES;
    size_t end = mgk_cpu_padded(mgk_mixture_visible(head, head->rows - 1));
    begin = begin > key ? begin : key;
    end = end < key + head->room.keys ? end : key + head->room.keys;
    head->run_count = head->width = 0;
    if (!pattern) {
        if (begin < end)
            add_keys(head, begin, end - begin);
        return;
    }
    const int32_t *starts = pattern->starts + head->sample * pattern->sample_stride +
                            head->head * pattern->head_stride + head->first / MGK_PATTERN_TILE;
    size_t tile = (size_t)starts[0], last = (size_t)starts[1];
    while (tile < last && ((size_t)pattern->columns[tile] + 1) * MGK_PATTERN_TILE <= begin)
        tile++;
    head->tile = tile;
    for (; tile < last; tile++) {
        size_t column = (size_t)pattern->columns[tile] * MGK_PATTERN_TILE;
        if (column >= end)
            break;
        size_t width = end - column < MGK_PATTERN_TILE ? end - column : MGK_PATTERN_TILE;
        add_keys(head, column, width);
    }
}

/* The mask of row i in tile `tile` of the pattern. */
static unsigned mask_of(const mgk_mixture_head *head, size_t tile, size_t i)
{
    size_t row = head->first % MGK_PATTERN_TILE + i;
    return head->mixture->pattern->masks[tile * MGK_PATTERN_TILE + row];
}

/* Adds the logits of the pattern's tiles to those of row i, and masks them. */
static void mask_tiles(const mgk_mixture_head *head, size_t i, real *row)
{
    const real *logits = head->mixture->pattern->logits;
    size_t tile = head->tile, within = head->first % MGK_PATTERN_TILE + i;
    for (size_t at = 0; at < head->width; at += MGK_PATTERN_TILE, tile++) {
        size_t left = head->width - at;
        size_t width = left < MGK_PATTERN_TILE ? left : MGK_PATTERN_TILE;
        unsigned mask = mask_of(head, tile, i);
        for (size_t c = 0; logits && c < width; c++)
            row[at + c] += logits[(tile * MGK_PATTERN_TILE + within) * MGK_PATTERN_TILE + c];
        for (size_t c = 0; mask != UINT16_MAX && c < width; c++)
            row[at + c] = mask >> c & 1 ? row[at + c] : (real)-INFINITY;
    }
}

void MGK_CPU(mixture_mask)(const mgk_mixture_head *head, size_t component)
{
    bool bounded = head->view->causal || head->mixture->terms.window > 0;
    for (size_t i = 0; i < head->rows; i++) {
        real *row = mgk_mixture_row(head, component, i);
        if (head->mixture->pattern)
            mask_tiles(head, i, row);
        for (size_t k = 0; bounded && k < head->run_count; k++) {
            const mgk_mixture_run *run = &head->runs[k];
            mgk_mixture_span seen = mgk_mixture_clip(head, k, i);
            for (size_t j = run->begin; j < seen.first; j++)
                row[(ptrdiff_t)j + seen.shift] = (real)-INFINITY;
            for (size_t j = seen.end; j < run->begin + run->width; j++)
                row[(ptrdiff_t)j + seen.shift] = (real)-INFINITY;
        }
    }
}

size_t MGK_CPU(mixture_see)(const mgk_mixture_head *head, size_t i, real *out)
{
    const int32_t *masked = mgk_view_masked(head->view, head->sample);
    size_t count = 0, in_all = mgk_mixture_visible(head, i) - mgk_mixture_from(head, i);
    for (size_t k = 0; k < head->run_count; k++) {
        const mgk_mixture_run *run = &head->runs[k];
        mgk_mixture_span bounds = mgk_mixture_clip(head, k, i);
        for (size_t at = run->at; at < run->at + run->width; at++) {
            size_t j = run->begin + (at - run->at);
            bool seen = j >= bounds.first && j < bounds.end && !(masked && masked[j]);
            if (head->mixture->pattern)
                seen = seen && mask_of(head, head->tile + at / MGK_PATTERN_TILE, i) >>
                                       (at % MGK_PATTERN_TILE) &
                                   1;
            out[at] = seen;
            count += seen;
        }
    }
    return head->mixture->pattern || masked ? count : in_all;
}
