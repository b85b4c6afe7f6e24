/* SPDX-License-Identifier: MIT */
/* The part of cooperative groups that kernels/cuda uses: clusters. */
#ifndef MGK_TESTS_EMULATOR_COOPERATIVE_GROUPS_H
#define MGK_TESTS_EMULATOR_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

namespace cooperative_groups
{

struct cluster_group {
    unsigned block_rank() const
    {
        return emulator_cluster_rank();
    }
    unsigned num_blocks() const
    {
        return emulator_cluster_blocks();
    }
    void sync() const
    {
        emulator_cluster_barrier();
    }
    template <typename T> T *map_shared_rank(T *own, unsigned rank) const
    {
        return (T *)emulator_cluster_at(own, rank);
    }
};

static inline cluster_group this_cluster(void)
{
    return {};
}

} // namespace cooperative_groups

#endif
