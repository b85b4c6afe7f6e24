/* SPDX-License-Identifier: MIT */
/* Reads batches of a dataset into host memory. */
#ifndef MGK_TRAIN_FEED_H
#define MGK_TRAIN_FEED_H

#include "data/datasets/dataset.h"
#include "model/core/pass.h"

typedef struct mgk_feed {
    const mgk_dataset *data; /* borrowed */
    mgk_dataset_shape shape;
    int32_t *ids, *lengths, *targets;
} mgk_feed;

/*
 * Checks that batches of `samples` samples of the data fit a model. STATUS_SHAPE: the data are
 * longer than its positions, have other ids or classes, or are of another family; STATUS_USAGE: too
 * many samples, or none.
 */
mgk_status mgk_feed_check(const mgk_dataset *data, const mgk_config *config, int samples);

/* Allocates such batches. Fails as mgk_feed_check. Release with mgk_feed_free. */
mgk_status mgk_feed_create(const mgk_dataset *data, const mgk_config *config, int samples,
                           mgk_feed *out);
void mgk_feed_free(mgk_feed *feed);

/*
 * Reads samples first … first + count − 1 of the endless training order: a finite dataset has a new
 * permutation in each epoch. The batch and feed->targets stay valid until the next call.
 */
mgk_status mgk_feed_training(mgk_feed *feed, uint64_t seed, uint64_t first, size_t count,
                             mgk_batch *batch);

/* A share of a batch. */
typedef struct mgk_feed_part {
    mgk_batch batch;
    mgk_batch_place place;
    const int32_t *targets;
} mgk_feed_part;

/* Samples begin … end − 1 of the batch that was read last; valid as long as it. */
void mgk_feed_share(const mgk_feed *feed, const mgk_batch *whole, size_t begin, size_t end,
                    mgk_feed_part *out);

/* Reads samples first … first + count − 1 in the dataset's own order. */
mgk_status mgk_feed_samples(mgk_feed *feed, uint64_t first, size_t count, mgk_batch *batch);

#endif
