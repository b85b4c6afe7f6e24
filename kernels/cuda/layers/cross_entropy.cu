/* SPDX-License-Identifier: MIT */
/* Softmax cross-entropy in log space, with its gradient; one block per row. */
#include "kernels/cuda/operations.h"
#include "kernels/cuda/sums.h"

/* The contribution of a row to the loss. */
struct row_loss {
    double sum;
    int counted, correct;
};

/*
 * Of equal logits the first is the prediction. dlogits may be logits: no row is read after its
 * gradient is written.
 */
template <typename real>
__global__ void rows_loss(size_t rows, size_t classes, const real *all_logits,
                          const int32_t *targets, real scale, real *all_dlogits, row_loss *losses)
{
    for (size_t i = blockIdx.x; i < rows; i += gridDim.x) {
        const real *logits = all_logits + i * classes;
        real *dlogits = all_dlogits ? all_dlogits + i * classes : NULL;
        if (targets[i] < 0) {
            for (size_t j = threadIdx.x; dlogits && j < classes; j += blockDim.x)
                dlogits[j] = 0;
            if (threadIdx.x == 0)
                losses[i] = row_loss{0, 0, 0};
            continue;
        }
        const size_t target = (size_t)targets[i];
        const real chosen = logits[target];
        real highest = logits[0], sum = 0;
        int rivals = isnan(chosen);
        for (size_t j = threadIdx.x; j < classes; j += blockDim.x) {
            highest = logits[j] > highest ? logits[j] : highest;
            rivals += j < target ? !(logits[j] < chosen) : j > target && !(logits[j] <= chosen);
        }
        highest = mgk_block_max(highest);
        rivals = mgk_block_sum(rivals);
        for (size_t j = threadIdx.x; j < classes; j += blockDim.x)
            sum += exp(logits[j] - highest);
        sum = mgk_block_sum(sum);
        for (size_t j = threadIdx.x; dlogits && j < classes; j += blockDim.x)
            dlogits[j] = scale / sum * exp(logits[j] - highest) - (j == target ? scale : 0);
        if (threadIdx.x == 0)
            losses[i] =
                row_loss{log((double)sum) + ((double)highest - (double)chosen), 1, rivals == 0};
    }
}

__global__ void add_losses(size_t rows, const row_loss *losses, mgk_loss *loss)
{
    double sum = 0;
    long long counted = 0, correct = 0;
    for (size_t i = threadIdx.x; i < rows; i += blockDim.x) {
        sum += losses[i].sum;
        counted += losses[i].counted;
        correct += losses[i].correct;
    }
    sum = mgk_block_sum(sum);
    counted = mgk_block_sum(counted);
    correct = mgk_block_sum(correct);
    if (threadIdx.x == 0) {
        loss->sum += sum;
        loss->count += counted;
        loss->correct += correct;
    }
}

template <typename real>
mgk_status mgk_cuda_cross_entropy(mgk_device *device, size_t rows, size_t classes,
                                  const void *logits, const int32_t *targets, double scale,
                                  void *dlogits, mgk_loss *loss)
{
    const size_t most_blocks = 1 << 16;
    row_loss *losses;
    TRY(mgk_cuda_scratch(device, rows * sizeof(*losses), &losses));
    TRY(mgk_cuda_launch(device, rows_loss<real>, rows < most_blocks ? rows : most_blocks,
                        MGK_CUDA_BLOCK, 0, rows, classes, (const real *)logits, targets,
                        (real)scale, (real *)dlogits, losses));
    return mgk_cuda_launch(device, add_losses, 1, MGK_CUDA_BLOCK, 0, rows, losses, loss);
}

MGK_CUDA_OPERATION(mgk_cuda_cross_entropy);
