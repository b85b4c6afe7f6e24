/* SPDX-License-Identifier: MIT */
/* Softmax cross-entropy in log space, with its gradient. */
#include <tgmath.h>

#include <string.h>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/operations.h"

/* Of equal logits the first is the prediction: otherwise a constant row would count as correct. */
static bool predicts(size_t classes, const real *logits, size_t target)
{
    const real chosen = logits[target];
    int rivals = isnan(chosen);
#pragma omp simd reduction(+ : rivals)
    for (size_t j = 0; j < target; j++)
        rivals += !(logits[j] < chosen);
#pragma omp simd reduction(+ : rivals)
    for (size_t j = target + 1; j < classes; j++)
        rivals += !(logits[j] <= chosen);
    return rivals == 0;
}

/*
 * −ln p(target) = ln Σ_j exp(l_j − l_max) + l_max − l_target of one row. `exponentials` [classes]
 * (may be logits) receives exp(l_j − l_max), *total their sum.
 */
static double row_loss(size_t classes, const real *logits, size_t target, real *exponentials,
                       real *total)
{
    real highest = logits[0], sum = 0;
#pragma omp simd reduction(max : highest)
    for (size_t j = 0; j < classes; j++)
        highest = logits[j] > highest ? logits[j] : highest;
    const double margin = (double)highest - (double)logits[target];
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < classes; j++) {
        real e = mgk_exp(logits[j] - highest);
        exponentials[j] = e;
        sum += e;
    }
    *total = sum;
    return log((double)sum) + margin;
}

/* Adds the losses of rows [begin, end) to *loss; `spare` [classes] is used without a gradient. */
static void add_rows(size_t begin, size_t end, size_t classes, const real *logits,
                     const int32_t *targets, real scale, real *dlogits, real *spare, mgk_loss *loss)
{
    for (size_t i = begin; i < end; i++) {
        const real *row = logits + i * classes;
        real *drow = dlogits ? dlogits + i * classes : spare;
        if (targets[i] < 0) {
            memset(drow, 0, classes * sizeof *drow);
            continue;
        }
        const size_t target = (size_t)targets[i];
        real total;
        loss->count++;
        loss->correct += predicts(classes, row, target);
        loss->sum += row_loss(classes, row, target, drow, &total);
        const real factor = scale / total;
#pragma omp simd
        for (size_t j = 0; j < classes; j++)
            drow[j] *= factor;
        drow[target] -= scale;
    }
}

mgk_status MGK_CPU(cross_entropy)(mgk_device *device, size_t rows, size_t classes,
                                  const void *logits, const int32_t *targets, double scale,
                                  void *dlogits, mgk_loss *loss)
{
    const size_t parts = (size_t)device->threads;
    const size_t spare_offset = 64; /* after the part's loss */
    TRY(mgk_cpu_reserve_scratch(device, spare_offset + classes * sizeof(real)));
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * classes >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t p = 0; p < parts; p++) {
        unsigned char *scratch = mgk_cpu_scratch(device, (int)p);
        mgk_loss *part = (mgk_loss *)(void *)scratch;
        *part = (mgk_loss){0};
        add_rows(rows * p / parts, rows * (p + 1) / parts, classes, logits, targets, (real)scale,
                 dlogits, (real *)(void *)(scratch + spare_offset), part);
    }
    mgk_loss total = {0};
    for (size_t p = 0; p < parts; p++) {
        const mgk_loss *part = mgk_cpu_scratch(device, (int)p);
        total.sum += part->sum;
        total.count += part->count;
        total.correct += part->correct;
    }
    loss->sum += total.sum;
    loss->count += total.count;
    loss->correct += total.correct;
    return STATUS_OK;
}

mgk_status MGK_CPU(smooth_targets)(mgk_device *device, size_t rows, size_t classes,
                                   const int32_t *targets, double amount, void *dlogits)
{
    real *all = dlogits;
    const real each = (real)(amount / (double)classes);
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * classes >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        real *row = all + i * classes;
        if (targets[i] < 0)
            continue;
#pragma omp simd
        for (size_t j = 0; j < classes; j++)
            row[j] -= each;
        row[targets[i]] += (real)amount;
    }
    return STATUS_OK;
}
