/* SPDX-License-Identifier: MIT */
/* The samples of a source that one process of a cluster takes. */
#ifndef MGK_RUN_SHARED_SAMPLES_H
#define MGK_RUN_SHARED_SAMPLES_H

#include "analysis/run/part.h"
#include "analysis/run/source.h"
#include "cluster/share.h"

typedef struct mgk_shared_samples {
    mgk_share *share;
    size_t step;       /* samples of a unit of the share */
    size_t begin, end; /* the units that were taken last */
    bool over;         /* there are no more */
} mgk_shared_samples;

/* The samples of a unit: a batch of the source, so that no other process computes it, too, but an
 * equal part of one where there are too few batches to balance. The same in all processes: rank 0
 * decides. */
mgk_status mgk_shared_samples_step(const mgk_cluster *cluster, const mgk_source *source,
                                   size_t samples, size_t *step);

/* The units of so many samples. */
static inline size_t mgk_shared_samples_units(size_t samples, size_t step)
{
    return (samples + step - 1) / step;
}

/* The part of a run that takes samples from a share while it goes on; `shared` must outlive it. The
 * run names the `matrices` of a unit ahead, or those that keep the device busy if these are more.
 */
mgk_run_part mgk_shared_samples_part(mgk_shared_samples *shared, size_t matrices,
                                     const mgk_device *device);

#endif
