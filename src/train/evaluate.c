/* SPDX-License-Identifier: MIT */
/* Performance on held-out data. */
#include "train/feed.h"
#include "train/train.h"

mgk_status mgk_evaluate(mgk_model *model, const mgk_dataset *data, int batch, uint64_t samples,
                        mgk_evaluation *out)
{
    mgk_status status;
    mgk_pass *pass = NULL;
    mgk_feed feed = {0};
    mgk_device *device = model->device;
    mgk_loss total, *sum = NULL; /* on the device */
    uint64_t size = mgk_dataset_size(data);
    if (samples == 0 || (size && samples > size))
        samples = size;
    if (samples == 0)
        return mgk_fail(STATUS_USAGE, "held-out data without end need a number of samples");
    CHECK(mgk_feed_create(data, &model->config, batch, &feed));
    CHECK(mgk_pass_create(model, batch * (int)feed.shape.sequences, (int)feed.shape.length, 0,
                          false, &pass));
    CHECK(device->op->allocate(device, sizeof(*sum), &sum));
    for (uint64_t first = 0; first < samples; first += (uint64_t)batch) {
        uint64_t left = samples - first;
        size_t count = left < (uint64_t)batch ? (size_t)left : (size_t)batch;
        mgk_batch samples_of_batch;
        CHECK(mgk_feed_samples(&feed, first, count, &samples_of_batch));
        CHECK(mgk_pass_load(pass, &samples_of_batch, feed.targets, 0, 0));
        CHECK(mgk_pass_forward(pass, NULL));
        CHECK(mgk_pass_loss(pass, 1, sum));
    }
    CHECK(device->op->download(device, &total, sum, sizeof(total)));
    if (total.count == 0) {
        status = mgk_fail(STATUS_SHAPE, "the held-out data have no targets");
        goto out;
    }
    *out = (mgk_evaluation){.loss = total.sum / (double)total.count,
                            .accuracy = (double)total.correct / (double)total.count,
                            .count = total.count};
out:
    device->op->release(device, sum);
    mgk_pass_free(pass);
    mgk_feed_free(&feed);
    return status;
}
