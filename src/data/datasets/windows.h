/* SPDX-License-Identifier: MIT */
/*
 * Windows that slide over a text: window w has the tokens wK … wK + R − 1, the last may be shorter,
 * and predicts the next token of each. With a stride K < R a token is predicted where it has most
 * tokens before it, by the first window that reaches it: the first window predicts all, each other
 * one K more. With K = R they do not overlap.
 */
#ifndef MGK_DATA_WINDOWS_H
#define MGK_DATA_WINDOWS_H

#include <stddef.h>

typedef struct mgk_windows {
    size_t total, room, stride; /* tokens that have a next one; R; K, 1 to R */
} mgk_windows;

/* Their number, at least 1. */
static inline size_t mgk_windows_count(const mgk_windows *w)
{
    return w->total <= w->room ? 1 : 1 + (w->total - w->room + w->stride - 1) / w->stride;
}

/* The number of tokens of a window. */
static inline size_t mgk_windows_length(const mgk_windows *w, size_t index)
{
    const size_t left = w->total - index * w->stride;
    return left < w->room ? left : w->room;
}

/* How many of a window's first tokens have their next one predicted by the windows before. */
static inline size_t mgk_windows_known(const mgk_windows *w, size_t index)
{
    return index == 0 ? 0 : w->room - w->stride;
}

/* K of a dataset's option `stride`, where 0 and more than the room say that none overlap. */
static inline size_t mgk_windows_stride(size_t option, size_t room)
{
    return option == 0 || option > room ? room : option;
}

#endif
