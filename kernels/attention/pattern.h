/* SPDX-License-Identifier: MIT */
/*
 * Makes patterns (mgk_pattern) from a rule that says for each query which keys it sees, and counts
 * what they contain. Patterns are in host memory.
 */
#ifndef MGK_KERNELS_ATTENTION_PATTERN_H
#define MGK_KERNELS_ATTENTION_PATTERN_H

#include "kernels/backend.h"

/* The sizes of a pattern. */
typedef struct mgk_pattern_shape {
    int heads;      /* with patterns of their own; 1: all heads share one */
    int tokens;     /* queries */
    int key_tokens; /* 0: as many as queries */
    bool causal;    /* query i sees keys j <= i alone: others are dropped */
} mgk_pattern_shape;

/* The keys of one query, while a rule adds them. */
typedef struct mgk_pattern_row mgk_pattern_row;

/* Adds to `row` the keys that `query` sees in `head`, in any order. It is called once for each. */
typedef void mgk_pattern_rule(const void *context, int head, int query, mgk_pattern_row *row);

/* Adds the keys first … end − 1; those that do not exist are ignored. Keys may be added again. */
void mgk_pattern_add(mgk_pattern_row *row, int first, int end);

/* Adds the keys first, first + step, … below end. step > 0. */
void mgk_pattern_add_strided(mgk_pattern_row *row, int first, int end, int step);

/* Adds one key. */
static inline void mgk_pattern_add_key(mgk_pattern_row *row, int key)
{
    mgk_pattern_add(row, key, key + 1);
}

/*
 * Builds the pattern of a rule, in time and memory of its tiles. Release with mgk_pattern_release.
 * STATUS_MEMORY; STATUS_SHAPE: a size below 1, or more tiles than an int32_t counts.
 */
mgk_status mgk_pattern_build(const mgk_pattern_shape *shape, mgk_pattern_rule *rule,
                             const void *context, mgk_pattern *out);

/* Releases a pattern of mgk_pattern_build and clears it; a cleared one is accepted. */
void mgk_pattern_release(mgk_pattern *pattern);

/* Pairs (i, j) where query i sees key j in one head of a pattern of that shape, j <= i if causal.
 */
double mgk_pattern_pairs(const mgk_pattern *pattern, const mgk_pattern_shape *shape, int head);

#endif
