/* SPDX-License-Identifier: MIT */
/* Performance on held-out data. */
#include <math.h>

#include "base/memory.h"
#include "train/feed.h"
#include "train/train.h"

/* Every so many batches one is this process's. */
typedef struct turn {
    uint64_t rank, size;
} turn;

/* Adds the losses of this process's batches, in order, to *sum on the device. */
static mgk_status add_losses(mgk_pass *pass, mgk_feed *feed, int batch, uint64_t samples, turn own,
                             mgk_loss *sum)
{
    for (uint64_t first = own.rank * (uint64_t)batch; first < samples;
         first += own.size * (uint64_t)batch) {
        uint64_t left = samples - first;
        size_t count = left < (uint64_t)batch ? (size_t)left : (size_t)batch;
        mgk_batch samples_of_batch;
        TRY(mgk_feed_samples(feed, first, count, &samples_of_batch));
        TRY(mgk_pass_load(pass, &samples_of_batch, feed->targets, 0, 0));
        TRY(mgk_pass_forward(pass, NULL));
        TRY(mgk_pass_loss(pass, 1, sum));
    }
    return STATUS_OK;
}

/* The sum of this process's losses. */
static mgk_status sum_losses(mgk_model *model, const mgk_dataset *data, int batch, uint64_t samples,
                             turn own, mgk_loss *out)
{
    mgk_status status;
    mgk_pass *pass = NULL;
    mgk_feed feed = {0};
    mgk_device *device = model->device;
    mgk_loss *sum = NULL; /* on the device */
    uint64_t size = mgk_dataset_size(data);
    if (samples == 0 || (size && samples > size))
        samples = size;
    if (samples == 0)
        return mgk_fail(STATUS_USAGE, "held-out data without end need a number of samples");
    CHECK(mgk_feed_create(data, &model->config, batch, &feed));
    CHECK(mgk_pass_create(model, batch * (int)feed.shape.sequences, (int)feed.shape.length, 0,
                          false, &pass));
    CHECK(device->op->allocate(device, sizeof(*sum), &sum));
    CHECK(add_losses(pass, &feed, batch, samples, own, sum));
    CHECK(device->op->download(device, out, sum, sizeof(*out)));
out:
    device->op->release(device, sum);
    mgk_pass_free(pass);
    mgk_feed_free(&feed);
    return status;
}

static mgk_status rate(const mgk_config *config, const mgk_loss *sums, uint64_t count,
                       mgk_evaluation *out)
{
    mgk_loss total = {0};
    for (uint64_t i = 0; i < count; i++)
        mgk_loss_gather(&total, &sums[i]);
    if (total.count == 0)
        return mgk_fail(STATUS_SHAPE, "the held-out data have no targets");
    *out = (mgk_evaluation){.loss = total.sum / (double)total.count,
                            .accuracy = mgk_config_counts_correct(config)
                                            ? (double)total.correct / (double)total.count
                                            : NAN,
                            .count = total.count};
    return STATUS_OK;
}

mgk_status mgk_evaluate_together(mgk_cluster *cluster, mgk_model *model, const mgk_dataset *data,
                                 int batch, uint64_t samples, mgk_evaluation *out)
{
    const turn own_turn = {(uint64_t)mgk_cluster_rank_of(cluster),
                           (uint64_t)mgk_cluster_size_of(cluster)};
    mgk_loss own = {0}, *all;
    mgk_status status = mgk_alloc(own_turn.size, sizeof(*all), &all);
    if (status == STATUS_OK)
        status = sum_losses(model, data, batch, samples, own_turn, &own);
    CHECK(mgk_cluster_agree(cluster, status));
    CHECK(mgk_cluster_gather(cluster, &own, sizeof(own), all));
    status = rate(&model->config, all, own_turn.size, out);
out:
    mgk_free(all);
    return status;
}
