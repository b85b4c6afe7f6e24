/* SPDX-License-Identifier: MIT */
/*
 * The samples of a step, all its batches in order, are divided among the processes that share a run
 * into contiguous portions: they differ by at most one sample, and may be empty.
 */
#ifndef MGK_TRAIN_PORTION_H
#define MGK_TRAIN_PORTION_H

#include "cluster/cluster.h"
#include "train/train.h"

/* Samples begin … end − 1 of a step, or of one of its batches. */
typedef struct mgk_portion {
    uint64_t begin, end;
} mgk_portion;

/* The samples of this process. */
static inline mgk_portion mgk_portion_of_step(const mgk_train_settings *s)
{
    const uint64_t samples = (uint64_t)s->batch * (uint64_t)s->accumulation;
    const uint64_t rank = (uint64_t)mgk_cluster_rank_of(s->cluster);
    const uint64_t size = (uint64_t)mgk_cluster_size_of(s->cluster);
    return (mgk_portion){samples * rank / size, samples * (rank + 1) / size};
}

/* Those of batch number `micro` of the step, counted from the first of that batch. */
static inline mgk_portion mgk_portion_of_batch(const mgk_train_settings *s, int micro)
{
    const uint64_t batch = (uint64_t)s->batch, first = (uint64_t)micro * batch;
    const mgk_portion all = mgk_portion_of_step(s);
    const uint64_t begin = all.begin > first ? all.begin - first : 0;
    const uint64_t end = all.end > first ? all.end - first : 0;
    return (mgk_portion){begin < batch ? begin : batch, end < batch ? end : batch};
}

/* The most samples of a batch that a process has: passes of all processes have room for them. */
static inline int mgk_portion_most(const mgk_train_settings *s)
{
    const int64_t samples = (int64_t)s->batch * s->accumulation;
    const int64_t size = mgk_cluster_size_of(s->cluster), most = (samples + size - 1) / size;
    return most < s->batch ? (int)most : s->batch;
}

#endif
