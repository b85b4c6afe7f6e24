/* SPDX-License-Identifier: MIT */
/*
 * Measured matrices that are compared with others later. They are kept without most keys that a
 * causal mask hides, and as floats if all entries are floats, as those of most files are: a quarter
 * of the memory, so that the matrices of a layer stay in the cache until all are measured.
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

mgk_status mgk_diversity_kept_size(const mgk_source *source, size_t *out)
{
    TRY(mgk_multiply(source->n_max, source->n_max, out));
    *out = mgk_reduction_pitch(find_row(source, source->n_max, source->n_max).start);
    return STATUS_OK;
}

static double *matrix_at(const mgk_diversity_work *work, size_t place)
{
    return work->kept + place * work->kept_pitch;
}

/* Returns whether all entries are floats. */
static bool keep_floats(const mgk_diversity_work *work, size_t queries, size_t keys, size_t n,
                        const double *a, float *to)
{
    bool same = true;
    for (size_t i = 0; i < queries && same; i++) {
        const kept_row row = find_row(work->source, keys, i);
        same = work->kernels->narrow(row.count, a + i * n, to + row.start);
    }
    return same;
}

static void keep_doubles(const mgk_diversity_work *work, size_t queries, size_t keys, size_t n,
                         const double *a, double *to)
{
    for (size_t i = 0; i < queries; i++) {
        const kept_row row = find_row(work->source, keys, i);
        memcpy(to + row.start, a + i * n, row.count * sizeof(*to));
    }
}

void mgk_diversity_keep(mgk_diversity_work *work, size_t place, size_t queries, size_t keys,
                        size_t n, const double *a)
{
    double *to = matrix_at(work, place);
    work->kept_float[place] = keep_floats(work, queries, keys, n, a, (float *)to);
    if (!work->kept_float[place])
        keep_doubles(work, queries, keys, n, a, to);
}

void mgk_diversity_row(const mgk_diversity_work *work, size_t place, size_t keys, size_t i,
                       double *out)
{
    const double *from = matrix_at(work, place);
    const kept_row row = find_row(work->source, keys, i);
    if (work->kept_float[place])
        work->kernels->widen(row.count, (const float *)from + row.start, out);
    else
        memcpy(out, from + row.start, row.count * sizeof(*out));
}
