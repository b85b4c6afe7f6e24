/* SPDX-License-Identifier: MIT */
/* Checks whether a batch fits the memory of the device, and suggests one that does. */
#ifndef MGK_TRAIN_ROOM_H
#define MGK_TRAIN_ROOM_H

#include "train/feed.h"
#include "train/train.h"

/* The quantities that determine the memory of a batch. */
typedef struct mgk_room {
    mgk_model *model;
    mgk_dataset_shape shape;
    const mgk_train_settings *settings;
    bool evaluated; /* evaluations need a second pass besides the training pass */
} mgk_room;

/* STATUS_MEMORY: this process's portion of the batch needs more than the free memory. Call before
 * allocating the batch. */
mgk_status mgk_room_check(const mgk_room *room);

/*
 * Collective: adds the size of a batch that would fit into the memory of each process to the
 * message of a lack of memory, and returns STATUS_MEMORY. Call after releasing the batch. Without a
 * model the process does not know what would fit; then nothing is added in any of them.
 */
mgk_status mgk_room_suggest(const mgk_room *room);

#endif
