/* SPDX-License-Identifier: MIT */
#include "analysis/run/counters.h"

#include "base/memory.h"

/* What is left, and what the last counter took. */
typedef struct budget {
    size_t left, taken;           /* bytes of the device */
    size_t host_left, host_taken; /* bytes of the host */
} budget;

static mgk_status open_counter(mgk_device *device, bool first, size_t n_max, size_t thresholds,
                               mgk_counter *out)
{
    if (first)
        out->device = device;
    else
        TRY(device->op->open_again(device, &out->device));
    TRY(mgk_engine_open_on(out->device, n_max, &out->engine));
    return mgk_alloc(thresholds, sizeof(*out->counts), &out->counts);
}

static void close_counter(mgk_counter *counter, bool first)
{
    mgk_engine_close(counter->engine);
    mgk_free(counter->counts);
    if (!first)
        mgk_device_close(counter->device);
}

static mgk_status spend(mgk_device *device, size_t host_before, budget *b)
{
    size_t left, total;
    TRY(device->op->memory(device, &left, &total));
    b->taken = left < b->left ? b->left - left : 0;
    b->left = left;
    b->host_taken = mgk_allocated() - host_before;
    b->host_left -= b->host_taken < b->host_left ? b->host_taken : b->host_left;
    return STATUS_OK;
}

static mgk_status open_all(mgk_device *device, int most, size_t n_max, size_t thresholds,
                           size_t memory, mgk_counters *counters)
{
    budget b = {.host_left = memory > 0 ? memory : SIZE_MAX};
    size_t total;
    TRY(device->op->memory(device, &b.left, &total));
    const size_t reserved = b.left / 2;
    TRY(mgk_alloc((size_t)most, sizeof(*counters->of), &counters->of));
    do {
        const size_t host_before = mgk_allocated();
        const int i = counters->count;
        mgk_status status = open_counter(device, i == 0, n_max, thresholds, &counters->of[i]);
        if (status != STATUS_OK)
            close_counter(&counters->of[i], i == 0);
        if (status == STATUS_MEMORY && i > 0) /* another program has taken it */
            return STATUS_OK;
        TRY(status);
        counters->count++;
        TRY(spend(device, host_before, &b));
    } while (counters->count < most && b.left >= b.taken && b.left - b.taken >= reserved &&
             b.host_left >= b.host_taken);
    return STATUS_OK;
}

mgk_status mgk_counters_open(mgk_device *device, int most, size_t n_max, size_t thresholds,
                             size_t memory, mgk_counters *out)
{
    *out = (mgk_counters){0};
    mgk_status status = open_all(device, most, n_max, thresholds, memory, out);
    if (status != STATUS_OK)
        mgk_counters_close(out);
    return status;
}

void mgk_counters_close(mgk_counters *counters)
{
    for (int i = 0; i < counters->count; i++)
        close_counter(&counters->of[i], i == 0);
    mgk_free(counters->of);
    *counters = (mgk_counters){0};
}
