/* SPDX-License-Identifier: MIT */
#include "diversity/queue.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

/* The sample comes first; then the record. */
enum { HEAD = sizeof(uint64_t) };

mgk_status mgk_diversity_send(mgk_share *share, size_t sample, const double *record, size_t size)
{
    const uint64_t number = sample;
    char *bytes;
    TRY(mgk_alloc(HEAD + size * sizeof(*record), 1, &bytes));
    memcpy(bytes, &number, HEAD);
    memcpy(bytes + HEAD, record, size * sizeof(*record));
    mgk_status status = mgk_share_deliver(share, bytes, HEAD + size * sizeof(*record));
    mgk_free(bytes);
    return status;
}

static mgk_status keep(mgk_diversity_queue *queue, const void *bytes, size_t size)
{
    mgk_queued_record *added;
    uint64_t number;
    if (queue->count == queue->room)
        TRY(mgk_grow(queue->count, sizeof(*queue->records), &queue->room, &queue->records));
    added = &queue->records[queue->count];
    memcpy(&number, bytes, HEAD);
    TRY(mgk_alloc(size - HEAD, 1, &added->values));
    memcpy(added->values, (const char *)bytes + HEAD, size - HEAD);
    added->sample = (size_t)number;
    queue->count++;
    return STATUS_OK;
}

/* The place of the next sample among those that wait; their number: it has not come. */
static size_t find_next(const mgk_diversity_queue *queue)
{
    size_t i = 0;
    while (i < queue->count && queue->records[i].sample != queue->first)
        i++;
    return i;
}

mgk_status mgk_diversity_queue_add(mgk_diversity_queue *queue, const void *bytes, size_t size,
                                   mgk_record_receive *receive, void *state)
{
    TRY(keep(queue, bytes, size));
    for (size_t i; (i = find_next(queue)) < queue->count;) {
        const mgk_queued_record next = queue->records[i];
        queue->records[i] = queue->records[--queue->count];
        queue->first++;
        mgk_status status = receive(state, next.sample, next.values);
        mgk_free(next.values);
        TRY(status);
    }
    return STATUS_OK;
}

void mgk_diversity_queue_free(mgk_diversity_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        mgk_free(queue->records[i].values);
    mgk_free(queue->records);
    *queue = (mgk_diversity_queue){0};
}
