/* SPDX-License-Identifier: MIT */
/*
 * Measured matrices that are compared with others later. They are kept without most keys that a
 * causal mask hides, and as floats if the source has floats: a quarter of the memory, so that the
 * matrices of a layer stay in the cache until all are measured.
 */
#include <string.h>

#include "analysis/run/diversity_work.h"
#include "base/memory.h"
#include "kernels/cpu/spectral/reductions.h"

/* Rows of a causal matrix that are kept alike, up to the last key that one of them sees: whole
 * vectors of entries. */
enum { ROWS = 16 };

/* Where a row is kept, and how many of its entries. */
typedef struct kept_row {
    size_t start, count;
} kept_row;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Before block b of rows are ROWS² (1 + … + b) entries. */
static kept_row find_row(const mgk_source *source, size_t keys, size_t i)
{
    const size_t block = i / ROWS, before = ROWS * ROWS * (block * (block + 1) / 2);
    const size_t count = source->causal ? smaller((block + 1) * ROWS, keys) : keys;
    return (kept_row){.start = source->causal ? before + i % ROWS * count : i * keys,
                      .count = count};
}

mgk_status mgk_diversity_kept_size(const mgk_diversity_work *work, size_t *out)
{
    const size_t n = work->source->n_max,
                 size = work->source->floats ? sizeof(float) : sizeof(double);
    size_t bytes;
    TRY(mgk_multiply(n, n * size, &bytes));
    bytes = find_row(work->source, n, n).start * size;
    *out = mgk_reduction_pitch((bytes + sizeof(double) - 1) / sizeof(double)) * sizeof(double);
    return STATUS_OK;
}

static void *matrix_at(const mgk_diversity_work *work, size_t place)
{
    return work->kept + place * work->kept_bytes;
}

void mgk_diversity_keep(mgk_diversity_work *work, size_t place, size_t keys, size_t i,
                        const double *from)
{
    void *to = matrix_at(work, place);
    const kept_row row = find_row(work->source, keys, i);
    if (work->source->floats)
        work->kernels->narrow(row.count, from, (float *)to + row.start);
    else
        memcpy((double *)to + row.start, from, row.count * sizeof(double));
}

const float *mgk_diversity_floats(const mgk_diversity_work *work, size_t place, size_t keys,
                                  size_t i)
{
    return (const float *)matrix_at(work, place) + find_row(work->source, keys, i).start;
}

void mgk_diversity_row(const mgk_diversity_work *work, size_t place, size_t keys, size_t i,
                       double *out)
{
    const void *from = matrix_at(work, place);
    const kept_row row = find_row(work->source, keys, i);
    if (work->source->floats)
        work->kernels->widen(row.count, (const float *)from + row.start, out);
    else
        memcpy(out, (const double *)from + row.start, row.count * sizeof(double));
}
