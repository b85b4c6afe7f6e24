/* SPDX-License-Identifier: MIT */
#include "run/shared_samples.h"

#include <stdint.h>

/* Matrices for each thread: threads wait for each other after those that are named together; and
 * those of a batch of a GPU. */
enum { AHEAD = 16, AHEAD_THERE = 1024 };

/* Units for each process, at least, where there are that many samples. */
enum { LEAST_UNITS = 4 };

mgk_status mgk_shared_samples_step(const mgk_cluster *cluster, const mgk_source *source,
                                   size_t samples, size_t *step)
{
    const size_t even = samples / (LEAST_UNITS * (size_t)mgk_cluster_size_of(cluster));
    const size_t batch = source->batch > 0 ? source->batch : 1;
    uint64_t chosen = even < batch ? even : batch;
    chosen = chosen > 0 ? chosen : 1;
    while (batch % chosen != 0)
        chosen--;
    TRY(mgk_cluster_broadcast(cluster, &chosen, sizeof(chosen)));
    *step = (size_t)chosen;
    return STATUS_OK;
}

/* Samples and units ascend. */
static mgk_status takes(void *state, size_t sample, bool *taken, bool *over)
{
    mgk_shared_samples *s = state;
    const size_t unit = sample / s->step;
    while (!s->over && unit >= s->end) {
        TRY(mgk_share_take(s->share, &s->begin, &s->end));
        s->over = s->begin == s->end;
    }
    *taken = !s->over && unit >= s->begin;
    *over = s->over;
    return STATUS_OK;
}

mgk_run_part mgk_shared_samples_part(mgk_shared_samples *shared, size_t matrices,
                                     const mgk_device *device)
{
    const size_t least = device->accelerator ? AHEAD_THERE : (size_t)device->threads * AHEAD;
    return (mgk_run_part){
        .takes = takes, .state = shared, .ahead = matrices > least ? matrices : least};
}
