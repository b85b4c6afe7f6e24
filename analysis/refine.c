#include "analysis/refine.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/lanczos.h"
#include "base/memory.h"
#include "kernels/blas.h"

enum { MOST = MGK_LANCZOS_BLOCK };

static const double roundoff = 0x1p-53;

struct mgk_refine {
    mgk_lanczos *lanczos;
    double *vectors;   /* V, rows [MOST, n_max] */
    double *images;    /* A V, rows [MOST, n_max] */
    double *residuals; /* R, rows [MOST, n_max] */
};

/* Two edges and what is between them. */
typedef struct bracket {
    mgk_edge low, high;
} bracket;

/* Approximate σ² and their vectors, which are V. */
typedef struct found_values {
    size_t count;
    double square[MOST];
    double lowest, highest; /* no others are expected between these */
} found_values;

/* The singular values between low and high, ascending, and how far off they may be. */
typedef struct near_values {
    size_t count;
    double sigma[MOST];
    double rounding;  /* of their squares */
    double residual;  /* at least ‖R‖ */
    double low, high; /* the other σ² are outside of these */
} near_values;

mgk_status mgk_refine_open(size_t n_max, mgk_refine **out)
{
    mgk_status status;
    mgk_refine *refine = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*refine), &refine));
    CHECK(mgk_lanczos_open(n_max, &refine->lanczos));
    CHECK(mgk_alloc(n_max * MOST, sizeof(double), &refine->vectors));
    CHECK(mgk_alloc(n_max * MOST, sizeof(double), &refine->images));
    CHECK(mgk_alloc(n_max * MOST, sizeof(double), &refine->residuals));
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
    mgk_free(refine->residuals);
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

/* At least ‖VᵀV - I‖. */
static double measure_defect(size_t n, size_t count, const double *vectors)
{
    double product[MOST * MOST];
    products(n, count, vectors, vectors, product);
    for (size_t k = 0; k < count; k++)
        product[k * (count + 1)] -= 1;
    return norm(count * count, product) + 1.01 * (double)((n + 2) * count) * roundoff;
}

/*
 * Where α and b were split off, the first row of A V is small because α v₀ and bᵀ v' cancel. It is
 * chosen so that R has no first row, v₀ (VᵀAᵀA V) / α; which makes a v₀ that differs from the one
 * in V in its last digit, so that V is as orthonormal as it was but for a few roundings.
 */
static void set_first(size_t n, size_t count, double alpha, const double *vectors, double *product,
                      double *images)
{
    const blasint order = (blasint)n, many = (blasint)count;
    for (size_t k = 0; k < count; k++)
        images[k * n] = mgk_blas.ddot(many, product + k * count, 1, vectors, order) / alpha;
    mgk_blas.dger(CblasRowMajor, many, many, 1, images, order, images, order, product, many);
}

/*
 * M = VᵀAᵀA V, [count, count], and what is off in it and in R. A V, whose entries are sums of far
 * larger numbers, is made in twice the precision; its products with itself and with Aᵀ then round
 * as products of what is small. Vectors that are orthonormal up to `defect` change the eigenvalues
 * of M by that share (Ostrowski), and R by no more.
 */
static void project(mgk_refine *refine, mgk_gram *gram, size_t count, double *product,
                    near_values *out)
{
    const size_t n = mgk_gram_order(gram);
    const double alpha = mgk_gram_split(gram);
    const blasint order = (blasint)n, many = (blasint)count;
    const double *vectors = refine->vectors;
    double *images = refine->images, *residuals = refine->residuals;
    double noise = mgk_gram_apply_exactly(gram, count, vectors, images);
    noise *= sqrt((double)count);
    products(n, count, images, images, product);
    if (alpha != 0)
        set_first(n, count, alpha, vectors, product, images);
    mgk_gram_apply(gram, true, count, images, residuals);
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, many, order, many, -1, product, many,
                   vectors, order, 1, residuals, order);
    const double length = norm(count * n, images) * (1 + 0x1p-40) + noise;
    const double defect = measure_defect(n, count, vectors) + 8 * roundoff;
    const double terms = 1.01 * (double)(n + 4 * count + 8) * roundoff;
    out->rounding = (terms + 2 * defect) * length * length + 2 * noise * length;
    out->residual = norm(count * n, residuals) * (1 + 0x1p-40) +
                    mgk_gram_norm(gram) * (terms * length + noise) +
                    (terms + 4 * defect) * (double)count * length * length;
}

/* The values of V, which are between the edges; false if they are not all that there are. */
static bool measure(mgk_refine *refine, mgk_gram *gram, const bracket *edges, size_t count,
                    near_values *out)
{
    double product[MOST * MOST], squares[MOST], work[4 * MOST];
    const lapack_int many = (lapack_int)count;
    project(refine, gram, count, product, out);
    if (!isfinite(out->residual) || mgk_blas.dsyev_work(LAPACK_COL_MAJOR, 'N', 'L', many, product,
                                                        many, squares, work, 4 * MOST) != 0)
        return false;
    out->count = count;
    out->low = edges->low.inner + out->residual;
    out->high = edges->high.inner - out->residual;
    for (size_t k = 0; k < count; k++)
        out->sigma[k] = sqrt(fmax(squares[k], 0));
    return squares[0] - out->rounding > out->low && squares[count - 1] + out->rounding < out->high;
}

/* How far off σ may be where counts are wanted up to `width` from tau; infinite at the edges. */
static double error_within(const near_values *values, double tau, double width)
{
    const double below = tau - width, above = tau + width;
    const double gap = fmin(below * below - values->low, values->high - above * above);
    const double coupling = values->residual * values->residual / gap;
    return below > 0 && gap > 0 ? (coupling + values->rounding) / below : INFINITY;
}

/* Of those near tau, how many are at least `level`. */
static size_t above(const near_values *values, double level)
{
    size_t count = 0;
    for (size_t k = 0; k < values->count; k++)
        count += values->sigma[k] >= level;
    return count;
}

/* NaN where one of the others may be nearer. */
static double nearest(const near_values *values, double tau)
{
    double found = NAN;
    for (size_t k = 0; k < values->count; k++)
        if (!(fabs(found - tau) <= fabs(values->sigma[k] - tau)))
            found = values->sigma[k];
    const double others = fmin(tau - sqrt(values->low), sqrt(values->high) - tau);
    return fabs(found - tau) <= others ? found : NAN;
}

/*
 * The rank, if those near tau and how many are above them tell it. Errors `inner` and `outer` from
 * tau: of the matrix that was read, and of what it was before it was stored.
 */
static bool decide(const near_values *values, size_t others, double tau, double inner, double outer,
                   mgk_rank_count *out)
{
    const double near = inner + error_within(values, tau, inner);
    const double far = outer + error_within(values, tau, outer);
    *out = (mgk_rank_count){.rank = others + above(values, tau),
                            .rank_low = others + above(values, tau + far),
                            .rank_high = others + above(values, tau - far),
                            .certificate = MGK_CERTIFICATE_MEASURED,
                            .nearest = nearest(values, tau)};
    out->undecided = out->rank_low < out->rank_high;
    return far < tau && above(values, tau + near) == above(values, tau - near);
}

/*
 * What is between the edges, or as far outside of them as they may have to move, found with the
 * last factors; as much as converges.
 */
static bool look(mgk_refine *refine, mgk_gram *gram, const bracket *edges, found_values *out)
{
    const size_t n = mgk_gram_order(gram);
    const double x = mgk_gram_shift(gram);
    const double highest = 2 * edges->high.outer - edges->high.inner;
    const double lowest = 2 * edges->low.outer - edges->low.inner;
    const double nearest_other = 1 / fmax(highest - x, x - lowest);
    mgk_lanczos_pairs pairs;
    out->count = 0;
    pairs.next = INFINITY;
    if (!mgk_lanczos_begin(refine->lanczos, n, solve, gram))
        return false;
    do {
        if (!mgk_lanczos_step(refine->lanczos, &pairs))
            break;
        out->count = pairs.count;
        for (size_t k = 0; k < pairs.count; k++)
            out->square[k] = x + 1 / pairs.values[k];
    } while (!pairs.full && pairs.next >= nearest_other);
    pairs.count = out->count;
    out->lowest = x - 1 / pairs.next;
    out->highest = x + 1 / pairs.next;
    const double *vectors = mgk_lanczos_vectors(refine->lanczos, &pairs);
    if (vectors)
        memcpy(refine->vectors, vectors, out->count * n * sizeof(*vectors));
    return vectors != NULL;
}

static size_t count_between(const found_values *found, double low, double high)
{
    size_t count = 0;
    for (size_t k = 0; k < found->count; k++)
        count += found->square[k] > low && found->square[k] < high;
    return count;
}

/*
 * Whether an edge leaves open what it has counted, because σ² lie within its ends. Then it moves
 * outwards until there are none, and is counted again.
 */
static bool clear_edge(mgk_gram *gram, const found_values *found, mgk_side side, mgk_edge *edge)
{
    const double width = fabs(edge->outer - edge->inner) * (1 + side.room);
    double level = edge->inner;
    bool clear = false;
    for (size_t turn = 0; turn <= found->count && !clear; turn++) {
        const double far = level + side.sign * width;
        if (far < found->lowest || far > found->highest)
            return level == edge->inner;
        clear = true;
        for (size_t k = 0; k < found->count; k++)
            if (found->square[k] > fmin(level, far) && found->square[k] < fmax(level, far)) {
                level = found->square[k] + side.sign * 0.1 * width;
                clear = false;
            }
    }
    if (level == edge->inner)
        return true;
    side.level = sqrt(fmax(level, 0));
    return clear && level > 0 && mgk_count_beside(gram, &side, edge);
}

/* Those between the edges, to the front of V. */
static size_t keep_between(mgk_refine *refine, size_t n, const bracket *edges, found_values *found)
{
    size_t kept = 0;
    for (size_t k = 0; k < found->count; k++) {
        const double square = found->square[k];
        if (!(square > edges->low.inner && square < edges->high.inner))
            continue;
        memmove(refine->vectors + kept * n, refine->vectors + k * n, n * sizeof(double));
        found->square[kept++] = square;
    }
    return kept;
}

/* Of δ, between the levels that are asked for and the edges: coupling is divided by that. */
static const double room = 0.4;

/* Finds the singular values between the edges, which hold some. */
static bool look_between(mgk_refine *refine, mgk_gram *gram, mgk_side above, mgk_side below,
                         bracket *edges, found_values *found)
{
    mgk_gram_count unused;
    const double middle = (above.level + below.level) / 2;
    above.guess = below.guess = fabs(edges->low.inner - edges->low.outer) / 2;
    /* From the middle they are the nearest ones. */
    if (!mgk_gram_take(gram, middle * middle, &unused) || !look(refine, gram, edges, found))
        return false;
    if (count_between(found, edges->low.inner, edges->high.inner) !=
            edges->low.above - edges->high.above &&
        (!clear_edge(gram, found, above, &edges->high) ||
         !clear_edge(gram, found, below, &edges->low)))
        return false;
    found->count = keep_between(refine, mgk_gram_order(gram), edges, found);
    return edges->low.above >= edges->high.above && found->count > 0 &&
           found->count == edges->low.above - edges->high.above;
}

/* Both edges; where all that are known of are above the upper one, the lower one is 0. */
static bool count_sides(mgk_gram *gram, const mgk_known *known, const mgk_side *above,
                        const mgk_side *below, bracket *edges)
{
    edges->low = (mgk_edge){.above = known->most};
    return mgk_count_beside(gram, above, &edges->high) &&
           (edges->high.above == known->most || mgk_count_beside(gram, below, &edges->low)) &&
           edges->low.above >= edges->high.above;
}

/*
 * The same closer to the levels, if there are many between and that helps: roundings of matrices
 * with entries of both signs are far less than may be expected.
 */
static bool come_closer(mgk_gram *gram, const mgk_known *known, mgk_side above, mgk_side below,
                        bracket *edges)
{
    const size_t between = edges->low.above - edges->high.above;
    if (between <= MOST / 4)
        return true;
    const double measured = 1.25 * mgk_gram_measure(gram, 0);
    if (!(measured < 0.5 * fabs(edges->low.inner - edges->low.outer)))
        return true;
    above.guess = below.guess = measured;
    return count_sides(gram, known, &above, &below, edges);
}

bool mgk_refine_rank(mgk_refine *refine, mgk_gram *gram, double tau, double moved, double storage,
                     const mgk_known *known, mgk_rank_count *out)
{
    const double inner = moved + 8 * roundoff * tau, outer = inner + storage;
    const mgk_side above = {tau + outer, 1, room, MGK_CERTIFICATE_MEASURED, SIZE_MAX, 0};
    const mgk_side below = {tau - outer, -1, room, MGK_CERTIFICATE_MEASURED, SIZE_MAX, 0};
    bracket edges;
    found_values found;
    near_values values;
    if (mgk_gram_order(gram) < MGK_REFINE_ORDER || outer >= tau ||
        !count_sides(gram, known, &above, &below, &edges) ||
        !come_closer(gram, known, above, below, &edges))
        return false;
    if (edges.low.above == edges.high.above) {
        *out = mgk_count_certain(edges.low.above, MGK_CERTIFICATE_MEASURED);
        return true;
    }
    if (!look_between(refine, gram, above, below, &edges, &found) ||
        !measure(refine, gram, &edges, found.count, &values) ||
        !decide(&values, edges.high.above, tau, inner, outer, out))
        return false;
    /* What looks for the nearest one wants no others between tau² and the shift. */
    mgk_gram_count unused;
    return !isnan(out->nearest) || mgk_gram_take(gram, tau * tau, &unused);
}
