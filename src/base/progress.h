/*
 * A progress bar on standard error: rate and time left on a terminal, redrawn in place; a plain
 * line every few seconds otherwise; nothing when quiet.
 */
#ifndef MGK_BASE_PROGRESS_H
#define MGK_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mgk_progress_bar {
    const char *label; /* what is going on: "training" */
    const char *unit;  /* of the rate: "tokens" */
    bool quiet, terminal, drawn;
    double started, last_drawn; /* seconds */
    bool ended;                 /* the line of the last step is printed */
    bool begun;                 /* rates start from the first update: */
    int64_t first_done;
    double first_amount;
} mgk_progress_bar;

mgk_progress_bar mgk_progress_start(const char *label, const char *unit, bool quiet);

/*
 * done of total steps; `amount` (in units) decides the rate shown; note (may be "") is put behind,
 * e.g. "loss 1.234".
 */
void mgk_progress_update(mgk_progress_bar *bar, int64_t done, int64_t total, double amount,
                         const char *note);

/* A line that stays, above the bar. */
void mgk_progress_say(mgk_progress_bar *bar, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Leaves the last state on its own line. */
void mgk_progress_finish(mgk_progress_bar *bar);

/* Seconds of a steady clock. */
double mgk_seconds(void);

#endif
