/* SPDX-License-Identifier: MIT */
/* Records of samples that several processes measure: they come in any order, and are taken in that
 * of the samples, for sums of floating-point numbers depend on it. */
#ifndef MGK_DIVERSITY_QUEUE_H
#define MGK_DIVERSITY_QUEUE_H

#include "cluster/share.h"

typedef struct mgk_queued_record {
    size_t sample;
    double *values;
} mgk_queued_record;

/* Zeroed it is empty, and begins with sample 0. */
typedef struct mgk_diversity_queue {
    size_t first;               /* the next sample to be taken */
    mgk_queued_record *records; /* [count], of later samples */
    size_t count, room;
} mgk_diversity_queue;

typedef mgk_status mgk_record_receive(void *state, size_t sample, double *record);

/* Delivers the record [size] of a sample to the queue of rank 0. */
mgk_status mgk_diversity_send(mgk_share *share, size_t sample, const double *record, size_t size);

/* Adds what was delivered, and passes on all records that are next. STATUS_MEMORY, or the failure
 * of `receive`. */
mgk_status mgk_diversity_queue_add(mgk_diversity_queue *queue, const void *bytes, size_t size,
                                   mgk_record_receive *receive, void *state);

void mgk_diversity_queue_free(mgk_diversity_queue *queue);

#endif
