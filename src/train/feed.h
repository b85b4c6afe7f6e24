/* Batches from a dataset: the samples of a step, in host memory. */
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
 * Whether batches of `samples` samples of the data can be fed to a model. STATUS_SHAPE: the data
 * are longer than its positions, have other ids or classes, or are not of its family; STATUS_USAGE:
 * too many samples, or none.
 */
mgk_status mgk_feed_check(const mgk_dataset *data, const mgk_config *config, int samples);

/* Room for such batches. Fails as mgk_feed_check does. Released with mgk_feed_free. */
mgk_status mgk_feed_create(const mgk_dataset *data, const mgk_config *config, int samples,
                           mgk_feed *out);
void mgk_feed_free(mgk_feed *feed);

/*
 * Samples first … first + count − 1 of the endless training order: a finite dataset is gone through
 * in a new permutation each epoch. The batch and feed->targets stay valid until the next call.
 */
mgk_status mgk_feed_training(mgk_feed *feed, uint64_t seed, uint64_t first, size_t count,
                             mgk_batch *batch);

/* The dataset's own samples first … first + count − 1. */
mgk_status mgk_feed_samples(mgk_feed *feed, uint64_t first, size_t count, mgk_batch *batch);

#endif
