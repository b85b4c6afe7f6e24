#include "train/feed.h"

#include "base/memory.h"

static size_t targets_per_sample(const mgk_feed *feed)
{
    return feed->shape.classes ? 1 : feed->shape.length;
}

mgk_status mgk_feed_create(const mgk_dataset *data, size_t samples, mgk_feed *out)
{
    mgk_status status;
    *out = (mgk_feed){.data = data, .shape = mgk_dataset_shape_of(data), .capacity = samples};
    size_t sequences = samples * out->shape.sequences, tokens;
    CHECK(mgk_multiply(sequences, out->shape.length, &tokens));
    CHECK(mgk_alloc(tokens, sizeof(int32_t), &out->ids));
    CHECK(mgk_alloc(sequences, sizeof(int32_t), &out->lengths));
    CHECK(mgk_alloc(samples * targets_per_sample(out), sizeof(int32_t), &out->targets));
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

mgk_status mgk_feed_samples(mgk_feed *feed, uint64_t first, size_t count, mgk_batch *batch)
{
    for (size_t i = 0; i < count; i++)
        TRY(put(feed, i, first + i));
    *batch = batch_of(feed, count);
    return STATUS_OK;
}
