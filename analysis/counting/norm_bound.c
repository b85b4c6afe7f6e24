/* SPDX-License-Identifier: MIT */
#include "analysis/counting/norm_bound.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels/blas.h"
#include "kernels/cpu/spectral/reductions.h"

enum {
    VECTORS = MGK_RESIDUAL_VECTORS,
    STEPS = 12, /* later steps gain little */
    IDLE = 2    /* stop after so many steps that each gained less than a hundredth */
};

/* The recurrence of one random vector. */
typedef struct recurrence {
    double share;           /* lower bound of the component of q in v₀ */
    double alpha[STEPS];    /* α_k */
    double beta[STEPS + 1]; /* β_k, β₀ = 0 */
    double rounding[STEPS]; /* bound of the error of step k's sum */
} recurrence;

struct mgk_norm_bound {
    double *vectors;  /* v_k [VECTORS, pitch] */
    double *previous; /* v_(k-1) */
    double *images;   /* E v_k */
    size_t n, steps;  /* of the current search */
    double least;     /* the best bound so far */
    int idle;         /* successive steps that hardly gained */
    recurrence recurrences[VECTORS];
};

mgk_status mgk_norm_bound_open(size_t n_max, mgk_norm_bound **out)
{
    mgk_status status;
    mgk_norm_bound *bound = NULL;
    const size_t size = VECTORS * mgk_reduction_pitch(n_max);
    *out = NULL;
    CHECK(mgk_blas_open());
    CHECK(mgk_alloc(1, sizeof(*bound), &bound));
    CHECK(mgk_alloc(size, sizeof(double), &bound->vectors));
    CHECK(mgk_alloc(size, sizeof(double), &bound->previous));
    CHECK(mgk_alloc(size, sizeof(double), &bound->images));
    *out = bound;
    bound = NULL;
out:
    mgk_norm_bound_close(bound);
    return status;
}

void mgk_norm_bound_close(mgk_norm_bound *bound)
{
    if (!bound)
        return;
    mgk_free(bound->vectors);
    mgk_free(bound->previous);
    mgk_free(bound->images);
    mgk_free(bound);
}

/* Normalises a vector and returns its former length. */
static double normalise(size_t n, double *x)
{
    const double length = mgk_blas.dnrm2((blasint)n, x, 1);
    if (length > 0)
        mgk_blas.dscal((blasint)n, 1 / length, x, 1);
    return length;
}

/* Each entry is made of 53 random bits. */
void mgk_norm_bound_begin(mgk_norm_bound *bound, size_t n, uint64_t seed)
{
    mgk_norm_bound *b = bound;
    const size_t pitch = mgk_reduction_pitch(n);
    const double t = pow(MGK_NORM_BOUND_RISK, 1.0 / VECTORS) / sqrt(8);
    b->n = n;
    b->steps = 0;
    b->least = INFINITY;
    b->idle = 0;
    memset(b->vectors, 0, VECTORS * pitch * sizeof(*b->vectors));
    memset(b->previous, 0, VECTORS * pitch * sizeof(*b->previous));
    for (size_t v = 0; v < VECTORS; v++) {
        double *w = b->vectors + v * pitch;
        for (size_t i = 0; i < n; i += 2) {
            const mgk_random4 block = mgk_random_block(seed, v, i);
            w[i] = (double)((uint64_t)block.word[0] << 21 ^ block.word[1] >> 11) * 0x1p-53 - 0.5;
            if (i + 1 < n)
                w[i + 1] =
                    (double)((uint64_t)block.word[2] << 21 ^ block.word[3] >> 11) * 0x1p-53 - 0.5;
        }
        b->recurrences[v].beta[0] = 0;
        b->recurrences[v].share = t / normalise(n, w) * (1 - 0x1p-24);
    }
}

/*
 * The next vector of a recurrence, β_(k+1) v_(k+1) = E v_k - α_k v_k - β_k v_(k-1), replaces
 * v_(k-1). `rounding` bounds the errors of the image, of the products and sums of three vectors,
 * and of their lengths, which are not exactly 1.
 */
static void advance(recurrence *r, size_t k, size_t n, double noise, const double *vector,
                    const double *image, double *previous)
{
    const blasint order = (blasint)n;
    const double length = mgk_blas.dnrm2(order, image, 1);
    r->alpha[k] = mgk_blas.ddot(order, vector, 1, image, 1);
    mgk_blas.dscal(order, -r->beta[k], previous, 1);
    mgk_blas.daxpy(order, -r->alpha[k], vector, 1, previous, 1);
    mgk_blas.daxpy(order, 1, image, 1, previous, 1);
    r->beta[k + 1] = normalise(n, previous);
    r->rounding[k] = noise + 0x1p-48 * (length + fabs(r->alpha[k]) + r->beta[k]) + DBL_MIN;
}

/* One step of all recurrences; exchanges the vectors and the previous ones. */
static void step(mgk_norm_bound *b, mgk_norm_operator apply, void *state, double noise)
{
    const size_t n = b->n, pitch = mgk_reduction_pitch(n);
    memcpy(b->images, b->vectors, VECTORS * pitch * sizeof(*b->images));
    apply(state, b->images);
    for (size_t v = 0; v < VECTORS; v++)
        advance(&b->recurrences[v], b->steps, n, noise, b->vectors + v * pitch,
                b->images + v * pitch, b->previous + v * pitch);
    double *next = b->previous;
    b->previous = b->vectors;
    b->vectors = next;
    b->steps++;
}

/*
 * Whether the first component after so many steps rules out every eigenvalue sign λ with λ >=
 * lambda. c_(k+1) / c_k >= ratio > 0 implies a lower bound of the next ratio, which grows with λ;
 * so all larger λ are excluded too.
 */
static bool excludes(const recurrence *r, size_t steps, double sign, double lambda)
{
    double share = r->share, ratio = INFINITY;
    for (size_t k = 0; k < steps; k++) {
        const double part = (lambda - sign * r->alpha[k] - r->beta[k] / ratio) * (1 - 0x1p-48);
        const double next = part * share - r->rounding[k]; /* lower bound of β_(k+1) c_(k+1) */
        if (!(next > 0))
            return false;
        if (next > r->beta[k + 1] * (1 + 0x1p-40))
            return true;
        ratio = next / share / r->beta[k + 1];
        share *= ratio;
    }
    return false;
}

/* The least excluded λ, to a factor of 1.01, at least `floor`; infinite if none is excluded. */
static double find_excluded(const recurrence *r, size_t steps, double sign, double floor)
{
    double low = floor, high = floor;
    while (isfinite(high) && !excludes(r, steps, sign, high)) {
        low = high;
        high *= 2;
    }
    while (isfinite(high) && high > 1.01 * low) {
        const double middle = sqrt(low) * sqrt(high);
        if (excludes(r, steps, sign, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The largest |λ| that some vector does not exclude, to a factor of 1.01. */
static double largest_left(const mgk_norm_bound *b)
{
    double largest = 0;
    for (size_t v = 0; v < VECTORS; v++) {
        const recurrence *r = &b->recurrences[v];
        const double floor = fmax(fmax(r->beta[1], fabs(r->alpha[0])), DBL_MIN);
        for (double sign = -1; sign <= 1; sign += 2)
            largest = fmax(largest, find_excluded(r, b->steps, sign, floor));
    }
    return largest;
}

double mgk_norm_bound_find(mgk_norm_bound *bound, mgk_norm_operator apply, void *state,
                           double noise, double enough)
{
    mgk_norm_bound *b = bound;
    while (b->steps < STEPS && b->idle < IDLE && !(b->least <= enough)) {
        step(b, apply, state, noise);
        const double found = largest_left(b);
        b->idle = found > 0.99 * b->least ? b->idle + 1 : 0;
        b->least = fmin(b->least, found);
    }
    return b->least;
}
