/* SPDX-License-Identifier: MIT */
/* Lloyd's algorithm for the tokens of each head. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* One head of one sample; its tokens and centroids are gathered in scratch memory. */
typedef struct clustering {
    size_t n, clusters, dim;
    bool signs;
    size_t words;              /* of a row of signs as bits */
    uint64_t *bits, *own_bits; /* of tokens [n, words] and of centroids [clusters, words] */
    real *tokens;              /* [n, dim] */
    real *centroids;           /* [clusters, dim] */
    real *sums;                /* [clusters, dim] */
    int32_t *cluster, *sizes;
} clustering;

static size_t word_count(const mgk_head_tokens *shape, const mgk_k_means *means)
{
    return means->signs ? (shape->dim + 63) / 64 : 0;
}

static size_t scratch_bytes(const mgk_head_tokens *shape, const mgk_k_means *means)
{
    const size_t rows = shape->tokens + means->clusters;
    return rows * word_count(shape, means) * sizeof(uint64_t) +
           (rows + means->clusters) * shape->dim * sizeof(real);
}

/* to = from, or its signs. */
static void take_row(const clustering *task, const real *from, real *to)
{
    for (size_t d = 0; d < task->dim; d++)
        to[d] = task->signs ? (from[d] > 0 ? 1 : -1) : from[d];
}

static real squared_distance(size_t dim, const real *x, const real *y)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < dim; d++)
        sum += (x[d] - y[d]) * (x[d] - y[d]);
    return sum;
}

/* The signs of rows as bits. */
static void pack_signs(const clustering *task, size_t rows, const real *from, uint64_t *bits)
{
    memset(bits, 0, rows * task->words * sizeof *bits);
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < task->dim; d++)
            bits[r * task->words + d / 64] |= (uint64_t)(from[r * task->dim + d] > 0) << d % 64;
}

static size_t nearest_row(const clustering *task, const real *token)
{
    size_t nearest = 0;
    real least = squared_distance(task->dim, token, task->centroids);
    for (size_t c = 1; c < task->clusters; c++) {
        real distance = squared_distance(task->dim, token, task->centroids + c * task->dim);
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    return nearest;
}

/* The same for signs, whose squared distance is four times the number of different bits. */
static size_t nearest_signs(const clustering *task, const uint64_t *token)
{
    size_t nearest = 0, least = SIZE_MAX;
    for (size_t c = 0; c < task->clusters; c++) {
        size_t distance = 0;
        for (size_t w = 0; w < task->words; w++)
            distance +=
                (size_t)__builtin_popcountll(token[w] ^ task->own_bits[c * task->words + w]);
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    return nearest;
}

static void assign(const clustering *task)
{
    memset(task->sizes, 0, task->clusters * sizeof *task->sizes);
    if (task->signs)
        pack_signs(task, task->clusters, task->centroids, task->own_bits);
    for (size_t t = 0; t < task->n; t++) {
        const size_t nearest = task->signs ? nearest_signs(task, task->bits + t * task->words)
                                           : nearest_row(task, task->tokens + t * task->dim);
        task->cluster[t] = (int32_t)nearest;
        task->sizes[nearest]++;
    }
}

static void update(const clustering *task)
{
    const size_t dim = task->dim;
    memset(task->sums, 0, task->clusters * dim * sizeof *task->sums);
    for (size_t t = 0; t < task->n; t++)
        mgk_cpu_add_row(dim, 1, task->tokens + t * dim,
                        task->sums + (size_t)task->cluster[t] * dim);
    for (size_t c = 0; c < task->clusters; c++) {
        real *sum = task->sums + c * dim;
        if (task->sizes[c] == 0)
            continue;
        for (size_t d = 0; d < dim; d++)
            sum[d] /= (real)task->sizes[c];
        take_row(task, sum, task->centroids + c * dim);
    }
}

static clustering begin(const mgk_head_tokens *shape, const mgk_k_means *means, size_t b, size_t h,
                        const real *x, void *memory)
{
    clustering task = {.n = mgk_cpu_length(shape->lengths, b, shape->tokens),
                       .clusters = means->clusters,
                       .dim = shape->dim,
                       .signs = means->signs,
                       .words = word_count(shape, means),
                       .bits = memory};
    task.own_bits = task.bits + shape->tokens * task.words;
    task.tokens = (real *)(task.own_bits + means->clusters * task.words);
    task.centroids = task.tokens + shape->tokens * shape->dim;
    task.sums = task.centroids + means->clusters * shape->dim;
    for (size_t t = 0; t < task.n; t++)
        take_row(&task, x + mgk_cpu_token_at(shape, shape->stride, b, t, h),
                 task.tokens + t * task.dim);
    if (task.signs)
        pack_signs(&task, task.n, task.tokens, task.bits);
    return task;
}

mgk_status MGK_CPU(k_means)(mgk_device *device, const mgk_head_tokens *shape,
                            const mgk_k_means *means, const void *x, void *centroids,
                            int32_t *cluster, int32_t *sizes)
{
    const size_t heads = shape->heads, matrices = shape->samples * heads, dim = shape->dim;
    TRY(mgk_cpu_reserve_scratch(device, scratch_bytes(shape, means)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) if (matrices > 1)
    for (size_t m = 0; m < matrices; m++) {
        clustering task = begin(shape, means, m / heads, m % heads, x,
                                mgk_cpu_scratch(device, omp_get_thread_num()));
        task.cluster = cluster + m * shape->tokens;
        task.sizes = sizes + m * means->clusters;
        real *own = (real *)centroids + m / heads * means->clusters * heads * dim + m % heads * dim;
        for (size_t c = 0; c < means->clusters; c++)
            take_row(&task, own + c * heads * dim, task.centroids + c * dim);
        for (int step = 0; step < means->updates; step++) {
            assign(&task);
            update(&task);
        }
        assign(&task);
        for (size_t t = task.n; t < shape->tokens; t++)
            task.cluster[t] = -1;
        for (size_t c = 0; c < means->clusters; c++)
            memcpy(own + c * heads * dim, task.centroids + c * dim, dim * sizeof *own);
    }
    return STATUS_OK;
}
