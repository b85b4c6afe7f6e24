/* SPDX-License-Identifier: MIT */
#include "analysis/counting/refine.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/counting/lanczos.h"
#include "base/memory.h"
#include "kernels/blas.h"
#include "kernels/spectral/rounding.h"

enum { MOST = MGK_LANCZOS_PAIRS };

/* V, and the facts about it. */
typedef struct subspace {
    size_t count;                /* of vectors */
    double product[MOST * MOST]; /* M [count, count] */
    double sigma[MOST];          /* singular values of A V, ascending */
    double rounding;             /* error bound of M's eigenvalues, the squares of sigma */
    double defect;               /* upper bound of ‖VᵀV - I‖ */
    double residual;             /* upper bound of ‖R‖ */
} subspace;

struct mgk_refine {
    mgk_lanczos *lanczos;
    double *vectors; /* V, rows [MOST, n_max] */
    double *images;  /* A V, and E V, rows [MOST, n_max] */
    double *rest;    /* R, rows [MOST, n_max] */
    subspace v;
    double matrix[MOST * MOST]; /* for eigenvalues */
};

/* A shift, its count, and its δ (gram.h). */
typedef struct edge {
    double shift, delta;
    size_t above;
} edge;

/* Approximate σ²: all that lie between `lowest` and `highest`. */
typedef struct found_values {
    size_t count;
    double square[MOST];
    double lowest, highest;
} found_values;

/* Facts about N: `above` of its eigenvalues are above `high`, the others below `low`. */
typedef struct other_values {
    size_t above;
    double low, high;
} other_values;

mgk_status mgk_refine_open(size_t n_max, mgk_refine **out)
{
    mgk_status status;
    mgk_refine *refine = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*refine), &refine));
    CHECK(mgk_lanczos_open(n_max, &refine->lanczos));
    CHECK(mgk_alloc(n_max * MOST, sizeof(double), &refine->vectors));
    CHECK(mgk_alloc(n_max * MOST, sizeof(double), &refine->images));
    CHECK(mgk_alloc(n_max * MOST, sizeof(double), &refine->rest));
    *out = refine;
    refine = NULL;
out:
    mgk_refine_close(refine);
    return status;
}

void mgk_refine_close(mgk_refine *refine)
{
    if (!refine)
        return;
    mgk_lanczos_close(refine->lanczos);
    mgk_free(refine->vectors);
    mgk_free(refine->images);
    mgk_free(refine->rest);
    mgk_free(refine);
}

static void solve(void *state, size_t count, double *rows)
{
    mgk_gram_solve(state, count, rows);
}

/* left rightᵀ [count, count] of rows [count, n]. */
static void products(size_t n, size_t count, const double *left, const double *right, double *out)
{
    const blasint order = (blasint)n, many = (blasint)count;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, many, many, order, 1, left, order,
                   right, order, 0, out, many);
}

static double norm(size_t count, const double *x)
{
    return mgk_blas.dnrm2((blasint)count, x, 1);
}

/* An upper bound of ‖VᵀV - I‖. */
static double measure_defect(size_t n, size_t count, const double *vectors)
{
    double product[MOST * MOST];
    products(n, count, vectors, vectors, product);
    for (size_t k = 0; k < count; k++)
        product[k * (count + 1)] -= 1;
    return norm(count * count, product) + 1.01 * mgk_gamma((double)((n + 2) * count));
}

/*
 * If α and b were split off, the first row of A V is small, because α v₀ and bᵀ v' cancel. It is
 * replaced by v₀ (VᵀAᵀA V) / α, for which the first row of R is 0. That is exact for a slightly
 * different v₀; the returned value bounds the difference, with `terms` roundings. `rows` [count, n]
 * holds the original first row.
 */
static double set_first(size_t n, size_t count, double alpha, double scale, double terms,
                        const double *vectors, const double *rows, double *product, double *images)
{
    const blasint order = (blasint)n, many = (blasint)count;
    double largest = 0;
    for (size_t k = 0; k < count; k++) {
        images[k * n] = mgk_blas.ddot(many, product + k * count, 1, vectors, order) / alpha;
        largest = fmax(largest, fabs(images[k * n] - rows[k * n]));
    }
    mgk_blas.dger(CblasRowMajor, many, many, 1, images, order, images, order, product, many);
    return (largest + terms * scale) / fabs(alpha);
}

/*
 * M, and the errors of M and R. The entries of A V are sums of far larger numbers, so they are
 * computed in twice the precision; the products of A V with itself and with Aᵀ then have small
 * rounding errors. Vectors that are orthonormal up to `defect` change the eigenvalues of M by at
 * most that fraction (Ostrowski), and R by no more.
 */
static void project(mgk_refine *refine, mgk_gram *gram, subspace *v)
{
    const size_t n = mgk_gram_order(gram), count = v->count;
    const double alpha = mgk_gram_split(gram);
    const blasint order = (blasint)n, many = (blasint)count;
    const double *vectors = refine->vectors;
    const double terms = 1.01 * mgk_gamma((double)(n + 4 * count + 8));
    double *images = refine->images, *rest = refine->rest, moved = 0;
    double noise = mgk_gram_apply_exactly(gram, count, vectors, images);
    noise *= sqrt((double)count);
    products(n, count, images, images, v->product);
    if (alpha != 0) {
        mgk_gram_apply(gram, false, count, vectors, rest);
        moved = set_first(n, count, alpha, mgk_gram_norm(gram), terms, vectors, rest, v->product,
                          images);
        moved *= sqrt((double)count);
    }
    mgk_gram_apply(gram, true, count, images, rest);
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, many, order, many, -1, v->product,
                   many, vectors, order, 1, rest, order);
    const double length = norm(count * n, images) * (1 + 0x1p-40) + noise;
    v->defect = measure_defect(n, count, vectors) + 8 * MGK_ROUNDOFF + 2.01 * moved;
    v->rounding = (terms + 2 * v->defect) * length * length + 2 * noise * length;
    v->residual = norm(count * n, rest) * (1 + 0x1p-40) +
                  mgk_gram_norm(gram) * (terms * length + noise) +
                  (terms + moved + 4 * v->defect) * (double)count * length * length;
}

/* Eigenvalues [count], ascending, of a symmetric matrix [count, count], which is overwritten. */
static bool diagonalise(size_t count, double *matrix, double *values)
{
    double work[4 * MOST];
    const lapack_int many = (lapack_int)count;
    return mgk_blas.dsyev_work(LAPACK_COL_MAJOR, 'N', 'L', many, matrix, many, values, work,
                               4 * MOST) == 0;
}

/* Measures V. */
static bool measure(mgk_refine *refine, mgk_gram *gram)
{
    subspace *v = &refine->v;
    v->rounding = v->defect = v->residual = 0;
    if (v->count == 0)
        return true;
    project(refine, gram, v);
    memcpy(refine->matrix, v->product, v->count * v->count * sizeof(*v->product));
    if (!isfinite(v->residual) || !diagonalise(v->count, refine->matrix, v->sigma))
        return false;
    for (size_t k = 0; k < v->count; k++)
        v->sigma[k] = sqrt(fmax(v->sigma[k], 0));
    return true;
}

/*
 * How many eigenvalues of N are above an edge, the shift of the last count, except for those within
 * *reach of it; false if this cannot be decided.
 */
static bool count_others(mgk_refine *refine, mgk_gram *gram, const edge *at, size_t *others,
                         double *reach)
{
    const subspace *v = &refine->v;
    const size_t n = mgk_gram_order(gram), count = v->count;
    double *p = refine->matrix, values[MOST];
    size_t positive = 0;
    *others = at->above;
    *reach = at->delta;
    if (count == 0)
        return true;
    double noise = mgk_gram_apply_error(gram, count, refine->vectors, refine->images);
    noise *= sqrt((double)count);
    products(n, count, refine->vectors, refine->images, p);
    for (size_t k = 0; k < count * count; k++)
        p[k] += v->product[k] - (k % (count + 1) == 0) * at->shift;
    if (!diagonalise(count, p, values))
        return false;
    const double length = norm(count * n, refine->images) * (1 + 0x1p-40) + noise;
    const double coupling = 1.01 * (v->residual + length);
    const double terms = 1.01 * mgk_gamma((double)(n + 4 * count + 8));
    const double off = v->rounding + noise + (terms + v->defect) * (length + 4 * at->shift);
    for (size_t k = 0; k < count; k++) {
        if (!(fabs(values[k]) > coupling + off))
            return false;
        positive += values[k] > 0;
    }
    *others -= positive;
    *reach += coupling;
    return positive <= at->above;
}

/*
 * The error of sigma for counts within `width` of tau; infinite if eigenvalues of N may be that
 * close.
 */
static double error_within(const subspace *v, const other_values *others, double tau, double width)
{
    const double below = tau - width, above = tau + width;
    const double gap = fmin(below * below - others->low, others->high - above * above);
    const double coupling = v->residual * v->residual / gap;
    return below > 0 && gap > 0 ? (coupling + v->rounding) / below : INFINITY;
}

/* How many singular values of V are at least `level`. */
static size_t above(const subspace *v, double level)
{
    size_t count = 0;
    for (size_t k = 0; k < v->count; k++)
        count += v->sigma[k] >= level;
    return count;
}

/* The singular value of V nearest to tau; NaN if one of N may be nearer. */
static double nearest(const subspace *v, const other_values *others, double tau)
{
    double found = NAN;
    for (size_t k = 0; k < v->count; k++)
        if (!(fabs(found - tau) <= fabs(v->sigma[k] - tau)))
            found = v->sigma[k];
    const double distance = fmin(tau - sqrt(others->low), sqrt(others->high) - tau);
    return fabs(found - tau) <= distance ? found : NAN;
}

/*
 * Whether V may have a singular value between the lower shift and τ²; N has none. The search for
 * the nearest one with the factors of a shift allows none there (landmarks.h).
 */
static bool is_between(const subspace *v, double shift, const other_values *others, double tau)
{
    const double reach = others->low - shift, lowest = sqrt(fmax(shift - reach, 0));
    for (size_t k = 0; k < v->count; k++)
        if (v->sigma[k] > lowest && v->sigma[k] < tau)
            return true;
    return false;
}

/*
 * The rank from the singular values of V and the number above them, if they decide it. `inner` and
 * `outer` are the errors at tau of the matrix as read, and of the matrix before storage.
 */
static bool decide(const subspace *v, const other_values *others, double tau, double inner,
                   double outer, mgk_rank_count *out)
{
    const double near = inner + error_within(v, others, tau, inner);
    const double far = outer + error_within(v, others, tau, outer);
    *out = (mgk_rank_count){.rank = others->above + above(v, tau),
                            .rank_low = others->above + above(v, tau + far),
                            .rank_high = others->above + above(v, tau - far),
                            .certificate = MGK_CERTIFICATE_MEASURED,
                            .nearest = nearest(v, others, tau)};
    out->undecided = out->rank_low < out->rank_high;
    return far < tau && above(v, tau + near) == above(v, tau - near);
}

/* Fraction of δ: additional distance of edges from levels, a divisor of the coupling. */
static const double room = 0.5;
/* The ratio of δ at two shifts, at most. */
static const double variation = 1.5;
/* Fraction of δ: distance of edges from the values of V; nearly always more than ‖R‖ + ‖E V‖. */
static const double margin = 1.0 / 8;
/* Fraction of a shift: with a larger δ there would be too many values to find. */
static const double hopeless = 0.25;

/* Counts at a shift; the measurement of δ stops at `enough`. */
static bool count_at(mgk_gram *gram, double shift, double enough, edge *out)
{
    mgk_gram_count at;
    if (!mgk_gram_take(gram, shift, &at))
        return false;
    *out = (edge){shift, mgk_gram_measure(gram, enough), at.count};
    return out->delta <= hopeless * shift;
}

/* The distance of a shift from the nearest found value. */
static double clearance(const found_values *found, double shift)
{
    double nearest = INFINITY;
    for (size_t k = 0; k < found->count; k++)
        nearest = fmin(nearest, fabs(found->square[k] - shift));
    return nearest;
}

/* Whether all values within δ of a shift have been found. */
static bool is_known(const found_values *found, double shift, double delta)
{
    return shift - delta > found->lowest && shift + delta < found->highest;
}

/*
 * A shift near a level, on the side of `sign`: the first of several that is clear of all values, or
 * the clearest.
 */
static double place(const found_values *found, double level, int sign, double delta)
{
    enum { PLACES = 16 };
    double widest = 0, best = level;
    for (int k = 0; k < PLACES; k++) {
        const double shift = level + sign * (1 + room + (double)k / PLACES) * delta;
        const double clear = fmin(clearance(found, shift), 2 * margin * delta);
        if (clear > widest) {
            widest = clear;
            best = shift;
        }
    }
    return best;
}

/* The levels, below and above τ², and the shifts of their counts. */
typedef struct plan {
    double low_level, high_level;
    double low, high; /* the shifts */
} plan;

/* Places the edges; keeps the upper shift if possible. False if more values must be found first. */
static bool place_edges(const found_values *found, const edge *high, plan *p)
{
    const double delta = variation * high->delta;
    const bool stays = high->shift - p->high_level >= (1 + room) * high->delta &&
                       clearance(found, high->shift) >= margin * high->delta;
    p->high = stays ? high->shift : place(found, p->high_level, 1, delta);
    p->low = place(found, p->low_level, -1, delta);
    return p->low > 0 && is_known(found, p->low, delta) && is_known(found, p->high, delta);
}

/* Converts eigenvalues of (AᵀA - x I)⁻¹ to eigenvalues of AᵀA. */
static void convert(const mgk_lanczos_pairs *pairs, double x, found_values *out)
{
    out->count = pairs->count;
    for (size_t k = 0; k < pairs->count; k++)
        out->square[k] = x + 1 / pairs->values[k];
    out->lowest = x - 1 / pairs->next;
    out->highest = x + 1 / pairs->next;
}

/*
 * Finds the values near the shift of the last count, with its factors, until edges can be placed;
 * if there are too many, measures δ to its end. V consists of the values between the edges, and
 * those that may be on either side of an edge.
 */
static bool look(mgk_refine *refine, mgk_gram *gram, edge *high, plan *p)
{
    const size_t n = mgk_gram_order(gram);
    subspace *v = &refine->v;
    mgk_lanczos_pairs pairs = {0};
    found_values found;
    bool placed = false;
    if (!mgk_lanczos_begin(refine->lanczos, n, solve, gram))
        return false;
    while (!placed && !pairs.full) {
        if (!mgk_lanczos_step(refine->lanczos, &pairs))
            return false;
        convert(&pairs, high->shift, &found);
        placed = place_edges(&found, high, p);
    }
    if (!placed) {
        high->delta = mgk_gram_measure(gram, 0);
        if (!place_edges(&found, high, p))
            return false;
    }
    const double *vectors = mgk_lanczos_vectors(refine->lanczos, &pairs);
    const double reach = variation * high->delta;
    v->count = 0;
    for (size_t k = 0; vectors && k < found.count; k++)
        if (found.square[k] > p->low - reach && found.square[k] < p->high + reach)
            memcpy(refine->vectors + v->count++ * n, vectors + k * n, n * sizeof(*vectors));
    return vectors != NULL;
}

/* Counts at both edges (the upper one may be counted already) and subtracts the values of V. */
static bool count_both(mgk_refine *refine, mgk_gram *gram, const plan *p, edge *high,
                       other_values *out)
{
    edge low;
    size_t below;
    double reach;
    if (p->high != high->shift &&
        !count_at(gram, p->high, (p->high - p->high_level) / (1 + room), high))
        return false;
    if (!count_others(refine, gram, high, &out->above, &reach))
        return false;
    out->high = high->shift - reach;
    if (!count_at(gram, p->low, (p->low_level - p->low) / (1 + room), &low) ||
        !count_others(refine, gram, &low, &below, &reach))
        return false;
    out->low = low.shift + reach;
    return below == out->above;
}

/*
 * The expected δ: nearly always less than a twelfth of the estimate. A larger distance would leave
 * more values to find.
 */
static double first_guess(const mgk_gram *gram, double tau)
{
    return fmin(mgk_gram_expect(gram).expected / 12, tau * tau / 40);
}

bool mgk_refine_rank(mgk_refine *refine, mgk_gram *gram, double tau, double moved, double storage,
                     const mgk_known *known, mgk_rank_count *out)
{
    const double inner = moved + 8 * MGK_ROUNDOFF * tau, outer = inner + storage;
    plan p = {.low_level = (tau - outer) * (tau - outer),
              .high_level = (tau + outer) * (tau + outer)};
    const double guess = first_guess(gram, tau);
    edge high;
    other_values others;
    if (mgk_gram_order(gram) < MGK_REFINE_ORDER || outer >= tau ||
        !count_at(gram, p.high_level + (1 + room) * guess, guess, &high))
        return false;
    if (high.above == known->most && high.shift - high.delta > p.high_level) {
        *out = mgk_count_certain(known->most, MGK_CERTIFICATE_MEASURED);
        return true;
    }
    if (!look(refine, gram, &high, &p) || !measure(refine, gram) ||
        !count_both(refine, gram, &p, &high, &others) ||
        !decide(&refine->v, &others, tau, inner, outer, out))
        return false;
    mgk_gram_count unused;
    return !isnan(out->nearest) || !is_between(&refine->v, p.low, &others, tau) ||
           mgk_gram_take(gram, tau * tau, &unused);
}
