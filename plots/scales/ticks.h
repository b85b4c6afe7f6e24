/* SPDX-License-Identifier: MIT */
/* Tick marks: round numbers inside a range, with their labels. */
#ifndef MGK_PLOTS_TICKS_H
#define MGK_PLOTS_TICKS_H

#include <stdbool.h>
#include <stddef.h>

enum { MGK_TICKS_MAX = 16, MGK_TICK_LABEL = 40 };

typedef struct mgk_tick {
    double value;
    char label[MGK_TICK_LABEL]; /* UTF-8 */
} mgk_tick;

typedef struct mgk_ticks {
    mgk_tick tick[MGK_TICKS_MAX];
    size_t count;
    bool scientific; /* labels are powers of ten: all of them, or none */
} mgk_ticks;

/* Whether low and high are the same but for rounding, so that no tick can tell them apart. */
bool mgk_is_one_value(double low, double high);

/* The smallest of 1, 2, 5 x 10^k that is >= size; size > 0. */
double mgk_round_step(double size);

/*
 * Multiples of a step 1, 2 or 5 x 10^k in [low, high], at most `most` of them (2 to
 * MGK_TICKS_MAX). One tick, at low, when the range is one value, or is not finite.
 */
mgk_ticks mgk_ticks_linear(double low, double high, size_t most);

/* Multiples of the step in [low, high], step > 0; at most MGK_TICKS_MAX. One tick, at low, when the
 * range is one value, or the step is not a normal number. */
mgk_ticks mgk_ticks_every(double low, double high, double step);

/*
 * Powers of ten in [low, high], 0 < low, every k-th if there are more than `most`. If the range
 * contains fewer than three, 1, 2 and 5 x 10^k if they fit. Linear ticks if these are too few.
 */
mgk_ticks mgk_ticks_log(double low, double high, size_t most);

/* Writes a value with about `digits` significant digits: 0.25, 1200, 3x10^-5 in UTF-8. */
void mgk_tick_label(double value, int digits, char label[MGK_TICK_LABEL]);

/* The same in the notation of an axis: scientific or not. */
void mgk_tick_label_as(double value, int digits, bool scientific, char label[MGK_TICK_LABEL]);

/* Labels all ticks in the same notation: as powers of ten if one of them needs it. */
void mgk_ticks_label(mgk_ticks *ticks, int digits);

#endif
