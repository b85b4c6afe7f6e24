/* SPDX-License-Identifier: MIT */
#include "train/feed.h"

#include <limits.h>

#include "base/memory.h"

static size_t targets_per_sample(const mgk_feed *feed)
{
    return feed->shape.classes ? 1 : feed->shape.length;
}

static mgk_status check_fit(const mgk_dataset_shape *shape, const mgk_config *config)
{
    bool next_tokens = shape->classes == 0, lm = config->family == MGK_FAMILY_LM;
    if (next_tokens != lm)
        return mgk_fail(STATUS_SHAPE, "the data are %s, the model is %s",
                        next_tokens ? "text to continue" : "samples with classes",
                        lm ? "a language model" : "a classifier");
    if ((shape->sequences == 2) != config->dual)
        return mgk_fail(STATUS_SHAPE, "samples of %zu sequences do not fit a model of %s",
                        shape->sequences, config->dual ? "pairs" : "single sequences");
    if (shape->length > (size_t)config->length || shape->vocabulary > (size_t)config->vocabulary ||
        shape->classes > (size_t)config->classes)
        return mgk_fail(STATUS_SHAPE,
                        "the data (length %zu, vocabulary %zu, classes %zu) do not fit the model "
                        "(%d, %d, %d)",
                        shape->length, shape->vocabulary, shape->classes, config->length,
                        config->vocabulary, config->classes);
    return STATUS_OK;
}

mgk_status mgk_feed_check(const mgk_dataset *data, const mgk_config *config, int samples)
{
    const mgk_dataset_shape shape = mgk_dataset_shape_of(data);
    TRY(check_fit(&shape, config));
    if (samples < 1 || samples > INT_MAX / (int)shape.sequences)
        return mgk_fail(STATUS_USAGE, "a batch of %d samples: expected 1 to %d", samples,
                        INT_MAX / (int)shape.sequences);
    return STATUS_OK;
}

mgk_status mgk_feed_create(const mgk_dataset *data, const mgk_config *config, int samples,
                           mgk_feed *out)
{
    mgk_status status;
    *out = (mgk_feed){.data = data, .shape = mgk_dataset_shape_of(data)};
    TRY(mgk_feed_check(data, config, samples));
    size_t sequences = (size_t)samples * out->shape.sequences, tokens;
    CHECK(mgk_multiply(sequences, out->shape.length, &tokens));
    CHECK(mgk_alloc(tokens, sizeof(int32_t), &out->ids));
    CHECK(mgk_alloc(sequences, sizeof(int32_t), &out->lengths));
    CHECK(mgk_alloc((size_t)samples * targets_per_sample(out), sizeof(int32_t), &out->targets));
out:
    if (status != STATUS_OK)
        mgk_feed_free(out);
    return status;
}

void mgk_feed_free(mgk_feed *feed)
{
    mgk_free(feed->ids);
    mgk_free(feed->lengths);
    mgk_free(feed->targets);
    *feed = (mgk_feed){0};
}

static mgk_status put(mgk_feed *feed, size_t place, uint64_t index)
{
    size_t sequences = feed->shape.sequences;
    return mgk_dataset_sample(feed->data, index, feed->ids + place * sequences * feed->shape.length,
                              feed->lengths + place * sequences,
                              feed->targets + place * targets_per_sample(feed));
}

static mgk_batch batch_of(const mgk_feed *feed, size_t count)
{
    return (mgk_batch){.sequences = (int)(count * feed->shape.sequences),
                       .tokens = (int)feed->shape.length,
                       .ids = feed->ids,
                       .lengths = feed->lengths};
}

mgk_status mgk_feed_training(mgk_feed *feed, uint64_t seed, uint64_t first, size_t count,
                             mgk_batch *batch)
{
    uint64_t size = mgk_dataset_size(feed->data);
    for (size_t i = 0; i < count; i++) {
        uint64_t position = first + i;
        uint64_t epoch = size ? position / size : 0;
        TRY(put(feed, i, mgk_dataset_order(seed, epoch, position, size)));
    }
    *batch = batch_of(feed, count);
    return STATUS_OK;
}

void mgk_feed_share(const mgk_feed *feed, const mgk_batch *whole, size_t begin, size_t end,
                    mgk_feed_part *out)
{
    const size_t before = begin * feed->shape.sequences;
    *out = (mgk_feed_part){.batch = batch_of(feed, end - begin),
                           .place = {.whole = whole->sequences, .before = (int)before},
                           .targets = feed->targets + begin * targets_per_sample(feed)};
    out->batch.ids += before * feed->shape.length;
    out->batch.lengths += before;
    for (size_t i = 0; i < before; i++)
        out->place.valid_before += (size_t)whole->lengths[i];
}

mgk_status mgk_feed_samples(mgk_feed *feed, uint64_t first, size_t count, mgk_batch *batch)
{
    for (size_t i = 0; i < count; i++)
        TRY(put(feed, i, first + i));
    *batch = batch_of(feed, count);
    return STATUS_OK;
}
