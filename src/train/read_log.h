/* SPDX-License-Identifier: MIT */
/* Reads the log of a run, train/log.h. */
#ifndef MGK_TRAIN_READ_LOG_H
#define MGK_TRAIN_READ_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The columns that readers want, of all. */
enum {
    MGK_LOG_STEP,
    MGK_LOG_TOKENS,
    MGK_LOG_TRAIN_LOSS = 3,
    MGK_LOG_EVAL_LOSS = 5,
    MGK_LOG_EVAL_ACCURACY,
    MGK_LOG_BITS_PER_BYTE,
    MGK_LOG_PERPLEXITY,
    MGK_LOG_COLUMNS = 9
};

/* Takes a row; an empty cell is NaN, the step never is. Anything but STATUS_OK ends the reading. */
typedef mgk_status (*mgk_log_take)(void *context, const double cells[MGK_LOG_COLUMNS]);

/* Whether a file that begins with these bytes is a log. */
bool mgk_log_recognise(const void *bytes, size_t size);

/* STATUS_FORMAT names the path, and the line that is no row. */
mgk_status mgk_log_read(const char *path, mgk_log_take take, void *context);

#endif
