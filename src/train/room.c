/* SPDX-License-Identifier: MIT */
#include "train/room.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "train/portion.h"

enum { SPARED = 8 };

/* A part of the free memory is for the operations: sums, workspaces of libraries. */
static size_t usable(size_t left)
{
    return left - left / SPARED;
}

/* Free memory for this process: those of a machine divide what is there. */
static mgk_status free_memory(const mgk_room *room, size_t *left)
{
    mgk_device *device = room->model->device;
    size_t total;
    TRY(device->op->memory(device, left, &total));
    if (!device->accelerator)
        *left /= (size_t)mgk_cluster_neighbours(room->settings->cluster);
    return STATUS_OK;
}

static mgk_status bytes_of(const mgk_room *room, int samples, size_t *bytes)
{
    int sequences = samples * (int)room->shape.sequences, tokens = (int)room->shape.length;
    size_t evaluation = 0, terms;
    TRY(mgk_pass_bytes(room->model, sequences, tokens, 0, true, bytes));
    TRY(mgk_regularise_bytes(room->model, &room->settings->regularise, sequences, tokens, &terms));
    if (room->evaluated)
        TRY(mgk_pass_bytes(room->model, sequences, tokens, 0, false, &evaluation));
    *bytes += terms + evaluation; /* no overflow: each is at most about a quarter of SIZE_MAX */
    return STATUS_OK;
}

mgk_status mgk_room_check(const mgk_room *room)
{
    mgk_device *device = room->model->device;
    const int samples = mgk_portion_most(room->settings);
    size_t needed, left;
    TRY(bytes_of(room, samples, &needed));
    TRY(free_memory(room, &left));
    if (needed <= usable(left))
        return STATUS_OK;
    char takes[MGK_SIZE_TEXT], has[MGK_SIZE_TEXT];
    mgk_size_text((double)needed, takes);
    mgk_size_text((double)left, has);
    return mgk_fail(STATUS_MEMORY, "a batch of %d takes %s, and %s has %s free", samples, takes,
                    device->name, has);
}

/* Samples of a batch for which this process has memory; NaN: it does not know. */
static double count_fitting(const mgk_room *room)
{
    size_t each, left;
    if (!room->model || bytes_of(room, 1, &each) != STATUS_OK ||
        free_memory(room, &left) != STATUS_OK)
        return NAN;
    return (double)(usable(left) / each);
}

mgk_status mgk_room_suggest(const mgk_room *room)
{
    const mgk_train_settings *s = room->settings;
    const size_t processes = (size_t)mgk_cluster_size_of(s->cluster);
    char message[1024];
    snprintf(message, sizeof(message), "%s", mgk_fail_message());
    double least = -count_fitting(room);
    TRY(mgk_cluster_maximum(s->cluster, &least, 1));
    if (isnan(least))
        return mgk_fail(STATUS_MEMORY, "%s", message);
    size_t fitting = (size_t)-least, most = (size_t)s->batch - 1;
    if (processes > (size_t)s->accumulation) /* a process has a part of each batch */
        fitting = fitting * processes / (size_t)s->accumulation;
    if (fitting > most)
        fitting = most;
    if (fitting == 0)
        return mgk_fail(STATUS_MEMORY, "%s; not even a batch of 1 would fit", message);
    return mgk_fail(STATUS_MEMORY, "%s; `batch` %zu would fit", message, fitting);
}
