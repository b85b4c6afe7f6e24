/* Whether a batch fits into the memory of the device, and how large a batch would. */
#ifndef MGK_TRAIN_ROOM_H
#define MGK_TRAIN_ROOM_H

#include "train/feed.h"

/* What takes memory in proportion to the samples of a batch. */
typedef struct mgk_room {
    mgk_model *model;
    mgk_dataset_shape shape;
    int batch;      /* samples */
    bool evaluated; /* evaluations need a pass of their own beside the one that trains */
} mgk_room;

/* STATUS_MEMORY: the batch takes more than is free. To be asked before anything of it is allocated.
 */
mgk_status mgk_room_check(const mgk_room *room);

/*
 * Adds to the message of a lack of memory which batch would fit, and returns STATUS_MEMORY. What
 * the batch took is released before.
 */
mgk_status mgk_room_suggest(const mgk_room *room);

#endif
