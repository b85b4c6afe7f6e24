#include "analysis/refine.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/lanczos.h"
#include "base/memory.h"
#include "kernels/blas.h"

enum {
    MOST = MGK_LANCZOS_BLOCK,
    FEWEST = 8 /* eigenvectors on which E is measured */
};

struct mgk_refine {
    mgk_lanczos *lanczos;
    double *images;    /* A V, rows [MOST, n_max] */
    double *residuals; /* R, rows [MOST, n_max] */
};

/* Singular values of A near √x, ascending, and what there is to say how far off they may be. */
typedef struct near_values {
    size_t count;
    double sigma[MOST];
    double rounding; /* of A V, and of its singular values */
    double residual; /* ‖R‖₂ */
    double distance; /* from x to all other eigenvalues */
} near_values;

mgk_status mgk_refine_open(size_t n_max, mgk_refine **out)
{
    mgk_status status;
    mgk_refine *refine = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*refine), &refine));
    CHECK(mgk_lanczos_open(n_max, &refine->lanczos));
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
    mgk_free(refine->images);
    mgk_free(refine->residuals);
    mgk_free(refine);
}

static void solve(void *state, size_t count, double *rows)
{
    mgk_gram_solve(state, count, rows);
}

/* The largest eigenvalue of rows rowsᵀ, [count, n]; NaN if it cannot be found. */
static double largest_square(size_t n, size_t count, const double *rows)
{
    double product[MOST * MOST], values[MOST], work[4 * MOST];
    const blasint order = (blasint)n, many = (blasint)count;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, many, many, order, 1, rows, order, rows,
                   order, 0, product, many);
    if (mgk_blas.dsyev_work(LAPACK_COL_MAJOR, 'N', 'L', many, product, many, values, work,
                            4 * MOST) != 0)
        return NAN;
    return values[count - 1];
}

/*
 * Where α and b were split off, the first row of A V is small because α v₀ and bᵀ v' cancel, and
 * what is left of them is rounding. It is v₀ (VᵀAᵀA V) / α instead, for R has no first row where v₀
 * is as exact as that.
 */
static void set_first(size_t n, size_t count, double alpha, const double *vectors,
                      const double *product, double *images)
{
    for (size_t k = 0; k < count; k++)
        images[k * n] =
            mgk_blas.ddot((blasint)count, product + k * count, 1, vectors, (blasint)n) / alpha;
}

/*
 * M = VᵀAᵀA V, [count, count], and ‖R‖₂: as it is measured, and roundings add to what is seen of it
 * more often than not.
 */
static double project(mgk_refine *refine, mgk_gram *gram, size_t count, const double *vectors,
                      double *product)
{
    const size_t n = mgk_gram_order(gram);
    const double alpha = mgk_gram_split(gram);
    const blasint order = (blasint)n, many = (blasint)count;
    double *images = refine->images, *residuals = refine->residuals;
    mgk_gram_apply(gram, false, count, vectors, images);
    for (size_t k = 0; k < count && alpha != 0; k++)
        images[k * n] = 0;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, many, many, order, 1, images, order,
                   images, order, 0, product, many);
    if (alpha != 0)
        set_first(n, count, alpha, vectors, product, images);
    if (alpha != 0) /* which adds its own squares */
        mgk_blas.dger(CblasRowMajor, many, many, 1, images, order, images, order, product, many);
    mgk_gram_apply(gram, true, count, images, residuals);
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, many, order, many, -1, product, many,
                   vectors, order, 1, residuals, order);
    return sqrt(largest_square(n, count, residuals));
}

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/*
 * How far the factors, which are those of AᵀA + E - x I, may have moved another eigenvalue near x:
 * four times what is seen of E on those that were found, for most others are like them, and a 32nd
 * of the estimate at least, for parts of A may have another scale. The part of E V outside of V is
 * R, and the part inside moves eigenvalues [count], ascending.
 */
static double measure_error(const mgk_lanczos_pairs *pairs, double x, const double *eigenvalues,
                            double residual, double estimate)
{
    double factored[MOST], largest = residual;
    for (size_t k = 0; k < pairs->count; k++)
        factored[k] = x + 1 / pairs->values[k];
    qsort(factored, pairs->count, sizeof(*factored), ascending);
    for (size_t k = 0; k < pairs->count; k++)
        largest = fmax(largest, fabs(factored[k] - eigenvalues[k]));
    return fmax(4 * largest, estimate / 32);
}

/*
 * sigma [count] = ‖A V w‖ for each eigenvector w of VᵀAᵀA V, rows [count, count]. Where V holds
 * large singular values, too, the squares of small ones are lost in theirs, the norms are not.
 */
static void measure_images(mgk_refine *refine, size_t n, size_t count, const double *eigenvectors,
                           double *sigma)
{
    const blasint order = (blasint)n, many = (blasint)count;
    double *turned = refine->residuals; /* which have been measured */
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, many, order, many, 1, eigenvectors,
                   many, refine->images, order, 0, turned, order);
    for (size_t k = 0; k < count; k++)
        sigma[k] = mgk_blas.dnrm2(order, turned + k * n, 1);
}

/*
 * The singular values of A V. A product of n terms is off by √n 2⁻⁵³ of what it sums, A V by that
 * of σ₁, and M by that of ‖A V‖². `delta` is an estimate of ‖E‖ that serves where few were found.
 */
static bool measure(mgk_refine *refine, mgk_gram *gram, const mgk_lanczos_pairs *pairs,
                    const double *vectors, double x, double delta, near_values *out)
{
    double product[MOST * MOST], eigenvalues[MOST], work[4 * MOST], squares = 0;
    const blasint many = (blasint)pairs->count;
    const size_t n = mgk_gram_order(gram);
    *out = (near_values){.count = pairs->count, .distance = 1 / pairs->next - delta};
    if (pairs->count == 0)
        return true;
    out->residual = project(refine, gram, pairs->count, vectors, product);
    if (mgk_blas.dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', many, product, many, eigenvalues, work,
                            4 * MOST) != 0)
        return false;
    if (pairs->count >= FEWEST)
        out->distance =
            1 / pairs->next - measure_error(pairs, x, eigenvalues, out->residual, delta);
    for (size_t k = 0; k < pairs->count; k++)
        squares += fmax(eigenvalues[k], 0);
    measure_images(refine, n, pairs->count, product, out->sigma);
    const double terms = sqrt((double)n + 8) * 0x1p-53;
    out->rounding = terms * (squares / sqrt(x) + mgk_gram_norm(gram) * sqrt((double)pairs->count));
    return isfinite(out->rounding) && isfinite(out->distance);
}

/*
 * How far off σ may be where counts are wanted up to `width` from tau; infinite if eigenvalues that
 * are not in V may be there. Twice what was measured of R is enough.
 */
static double error_within(const near_values *values, double tau, double width)
{
    const double gap = values->distance - (2 * tau + width) * width;
    const double coupling = 2 * values->residual;
    return gap > 0 ? coupling * coupling / gap / tau + values->rounding : INFINITY;
}

/* Of those near tau, how many are at least `level`. */
static size_t above(const near_values *values, double level)
{
    size_t count = 0;
    for (size_t k = 0; k < values->count; k++)
        count += values->sigma[k] >= level;
    return count;
}

/* NaN where one of the others may be nearer: above tau they are `distance` away in squares. */
static double nearest(const near_values *values, double tau)
{
    double found = NAN;
    for (size_t k = 0; k < values->count; k++)
        if (!(fabs(found - tau) <= fabs(values->sigma[k] - tau)))
            found = values->sigma[k];
    return fabs(found - tau) <= sqrt(tau * tau + values->distance) - tau ? found : NAN;
}

/*
 * The rank, if those near tau and how many positive eigenvalues there are tell it. Errors `inner`
 * and `outer` from tau: of the matrix that was read, and of what it was before it was stored.
 */
static bool decide(const near_values *values, const mgk_lanczos_pairs *pairs, size_t positive,
                   double tau, double inner, double outer, mgk_rank_count *out)
{
    size_t found = 0;
    for (size_t k = 0; k < pairs->count; k++)
        found += pairs->values[k] > 0;
    if (found > positive)
        return false;
    const size_t others = positive - found;
    const double near = inner + error_within(values, tau, inner);
    const double far = outer + error_within(values, tau, outer);
    *out = (mgk_rank_count){.rank = others + above(values, tau),
                            .rank_low = others + above(values, tau + far),
                            .rank_high = others + above(values, tau - far),
                            .certificate = MGK_CERTIFICATE_STATISTICAL,
                            .nearest = nearest(values, tau)};
    out->undecided = out->rank_low < out->rank_high;
    return far < tau && above(values, tau + near) == above(values, tau - near);
}

bool mgk_refine_rank(mgk_refine *refine, mgk_gram *gram, double tau, double moved, double storage,
                     mgk_rank_count *out)
{
    const double x = tau * tau, inner = moved + 8 * 0x1p-53 * tau, outer = inner + storage;
    const double radius = (2 * tau + outer) * outer;
    mgk_gram_count at;
    mgk_lanczos_pairs pairs;
    near_values values;
    const size_t n = mgk_gram_order(gram);
    size_t measured = 0;
    if (n < MGK_REFINE_ORDER || !mgk_gram_take(gram, x, &at) ||
        !mgk_lanczos_begin(refine->lanczos, n, solve, gram))
        return false;
    while (mgk_lanczos_step(refine->lanczos, &pairs)) {
        /* All that may lie between the levels have converged, and enough to see what E does. */
        bool all = 1 / pairs.next > 1.25 * radius, far = 1 / pairs.next > radius + 2 * at.estimate;
        bool ready = measured == 0 ? all && (pairs.count >= FEWEST || far)
                                   : pairs.count > measured + measured / 2;
        if (!ready)
            continue;
        measured = pairs.count;
        const double *vectors = mgk_lanczos_vectors(refine->lanczos, &pairs);
        if (!vectors || !measure(refine, gram, &pairs, vectors, x, at.estimate, &values))
            return false;
        if (decide(&values, &pairs, at.count, tau, inner, outer, out))
            return true;
    }
    return false;
}
