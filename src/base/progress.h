/* SPDX-License-Identifier: MIT */
/*
 * A progress bar on standard error: rate and remaining time, redrawn in place on a terminal;
 * otherwise a plain line every few seconds; nothing when quiet.
 */
#ifndef MGK_BASE_PROGRESS_H
#define MGK_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mgk_progress_bar {
    const char *label; /* the activity: "training" */
    const char *unit;  /* of the rate: "tokens" */
    bool quiet, terminal, drawn;
    double started, last_drawn; /* seconds */
    bool ended;                 /* the line of the last step has been printed */
    bool begun;                 /* rates count from the first update: */
    int64_t first_done, done;   /* then; at the last update */
    double first_amount;
} mgk_progress_bar;

mgk_progress_bar mgk_progress_start(const char *label, const char *unit, bool quiet);

/*
 * Shows done of total steps; the rate is that of `amount` (in units); note (may be "") is appended,
 * e.g. "loss 1.234". Fewer steps than before are those of other work, such as the next model.
 */
void mgk_progress_update(mgk_progress_bar *bar, int64_t done, int64_t total, double amount,
                         const char *note);

/* Prints a line above the bar that stays. */
void mgk_progress_say(mgk_progress_bar *bar, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Leaves the last state on a separate line. */
void mgk_progress_finish(mgk_progress_bar *bar);

/* Seconds of a monotonic clock. */
double mgk_seconds(void);

#endif
