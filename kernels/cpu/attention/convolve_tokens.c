/* SPDX-License-Identifier: MIT */
/* Depth-wise convolutions over tokens, with one kernel for each head. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* Position of tap 0 before the token. */
static size_t kernel_offset(const mgk_token_kernel *kernel)
{
    return kernel->causal ? kernel->taps - 1 : (kernel->taps - 1) / 2;
}

/*
 * to_t += Σ_k w_k from_(t + k − offset) for one token and head; `transposed`, from_(t − k +
 * offset).
 */
static void add_taps(const mgk_head_tokens *shape, const mgk_token_kernel *kernel, bool transposed,
                     size_t b, size_t t, size_t h, const real *from, size_t from_stride, real *to)
{
    const size_t n = mgk_cpu_length(shape->lengths, b, shape->tokens);
    const size_t offset = kernel_offset(kernel);
    const real *weight = (const real *)kernel->weight + h * kernel->taps;
    for (size_t k = 0; k < kernel->taps; k++) {
        /* A position before the first token wraps to a huge number. */
        size_t source = transposed ? t + offset - k : t + k - offset;
        if (source < n)
            mgk_cpu_add_row(shape->dim, weight[k],
                            from + mgk_cpu_token_at(shape, from_stride, b, source, h), to);
    }
}

static void convolve(mgk_device *device, const mgk_head_tokens *shape,
                     const mgk_token_kernel *kernel, bool transposed, const real *from,
                     size_t from_stride, real *to, size_t to_stride)
{
    const size_t total = shape->samples * shape->tokens * shape->heads * shape->dim;
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (total * kernel->taps >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < shape->samples; b++)
        for (size_t t = 0; t < shape->tokens; t++)
            for (size_t h = 0;
                 t < mgk_cpu_length(shape->lengths, b, shape->tokens) && h < shape->heads; h++)
                add_taps(shape, kernel, transposed, b, t, h, from, from_stride,
                         to + mgk_cpu_token_at(shape, to_stride, b, t, h));
}

mgk_status MGK_CPU(convolve_tokens)(mgk_device *device, const mgk_head_tokens *shape,
                                    const mgk_token_kernel *kernel, const void *x, void *y,
                                    size_t y_stride)
{
    if (kernel->taps > 0)
        convolve(device, shape, kernel, false, x, shape->stride, y, y_stride);
    return STATUS_OK;
}

/* Tokens whose products are summed in `real`; they and those around them stay in the cache. */
enum { TOKEN_BLOCK = 64 };

/* The gradient of one head's kernel. */
typedef struct kernel_gradient {
    const mgk_head_tokens *shape;
    const mgk_token_kernel *kernel;
    size_t h;
    const real *x, *dy;
    size_t y_stride;
    double *totals; /* [taps] */
    real *sum;      /* [dim], scratch memory */
} kernel_gradient;

/* totals_k += Σ_t dy_t·x_(t + k − offset) over tokens first … last − 1 of n. */
static void add_block(const kernel_gradient *task, size_t b, size_t n, size_t first, size_t last,
                      size_t k)
{
    const mgk_head_tokens *shape = task->shape;
    real *sum = task->sum;
    memset(sum, 0, shape->dim * sizeof *sum);
    for (size_t t = first; t < last; t++) {
        const size_t source = t + k - kernel_offset(task->kernel);
        if (source >= n)
            continue;
        const real *input = task->x + mgk_cpu_token_at(shape, shape->stride, b, source, task->h);
        const real *gradient = task->dy + mgk_cpu_token_at(shape, task->y_stride, b, t, task->h);
#pragma omp simd
        for (size_t d = 0; d < shape->dim; d++)
            sum[d] += input[d] * gradient[d];
    }
    for (size_t d = 0; d < shape->dim; d++)
        task->totals[k] += (double)sum[d];
}

static void sum_head(const kernel_gradient *task)
{
    const size_t taps = task->kernel->taps;
    memset(task->totals, 0, taps * sizeof *task->totals);
    for (size_t b = 0; b < task->shape->samples; b++) {
        const size_t n = mgk_cpu_length(task->shape->lengths, b, task->shape->tokens);
        for (size_t first = 0; first < n; first += TOKEN_BLOCK)
            for (size_t k = 0; k < taps; k++)
                add_block(task, b, n, first, n - first < TOKEN_BLOCK ? n : first + TOKEN_BLOCK, k);
    }
}

mgk_status MGK_CPU(convolve_tokens_backward)(mgk_device *device, const mgk_head_tokens *shape,
                                             const mgk_token_kernel *kernel, const void *x,
                                             const void *dy, size_t y_stride, void *dx,
                                             void *dweight)
{
    const size_t total = shape->samples * shape->tokens * shape->heads * shape->dim;
    if (kernel->taps == 0)
        return STATUS_OK;
    if (dx)
        convolve(device, shape, kernel, true, dy, y_stride, dx, shape->stride);
    if (!dweight)
        return STATUS_OK;
    TRY(mgk_cpu_reserve_scratch(device, kernel->taps * sizeof(double) + shape->dim * sizeof(real)));
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (total * kernel->taps >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t h = 0; h < shape->heads; h++) {
        double *totals = mgk_cpu_scratch(device, omp_get_thread_num());
        sum_head(&(kernel_gradient){.shape = shape,
                                    .kernel = kernel,
                                    .h = h,
                                    .x = x,
                                    .dy = dy,
                                    .y_stride = y_stride,
                                    .totals = totals,
                                    .sum = (real *)(totals + kernel->taps)});
        for (size_t k = 0; k < kernel->taps; k++)
            ((real *)dweight)[h * kernel->taps + k] += (real)totals[k];
    }
    return STATUS_OK;
}
