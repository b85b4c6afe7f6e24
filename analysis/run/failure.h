/* SPDX-License-Identifier: MIT */
/* The first failure of work that threads share, in the order of its parts. */
#ifndef MGK_ANALYSIS_FAILURE_H
#define MGK_ANALYSIS_FAILURE_H

#include <omp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct mgk_failure {
    omp_lock_t lock;
    mgk_status status;
    size_t part;
    char message[1024]; /* a copy, because messages belong to threads */
} mgk_failure;

void mgk_failure_open(mgk_failure *failure);
void mgk_failure_close(mgk_failure *failure);

/* Records the status of a part, unless it is STATUS_OK or an earlier part has failed. */
void mgk_failure_record(mgk_failure *failure, size_t part, mgk_status status);

/* Whether this part or an earlier one has failed, so that it need not be done. */
bool mgk_failure_before(mgk_failure *failure, size_t part);

/* The recorded failure, with its message for this thread. */
mgk_status mgk_failure_return(const mgk_failure *failure);

#endif
