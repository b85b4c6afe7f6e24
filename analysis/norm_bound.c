#include "analysis/norm_bound.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels/blas.h"
#include "kernels/cpu/reductions.h"

enum {
    VECTORS = MGK_RESIDUAL_VECTORS,
    STEPS = 6 /* from where on there is little to gain */
};

struct mgk_norm_bound {
    double *vectors;                    /* [VECTORS, pitch] */
    double lengths[VECTORS][STEPS + 1]; /* of w, and of the image of each step's unit vector */
};

mgk_status mgk_norm_bound_open(size_t n_max, mgk_norm_bound **out)
{
    mgk_norm_bound *bound;
    *out = NULL;
    TRY(mgk_blas_open());
    TRY(mgk_alloc(1, sizeof(*bound), &bound));
    mgk_status status =
        mgk_alloc(VECTORS * mgk_reduction_pitch(n_max), sizeof(double), &bound->vectors);
    if (status != STATUS_OK) {
        mgk_norm_bound_close(bound);
        return status;
    }
    *out = bound;
    return STATUS_OK;
}

void mgk_norm_bound_close(mgk_norm_bound *bound)
{
    if (!bound)
        return;
    mgk_free(bound->vectors);
    mgk_free(bound);
}

/* Vectors of length 1, and what their lengths were. */
static void normalise(mgk_norm_bound *b, size_t n, size_t step)
{
    const size_t pitch = mgk_reduction_pitch(n);
    for (size_t v = 0; v < VECTORS; v++) {
        double *w = b->vectors + v * pitch;
        const double length = mgk_blas.dnrm2((blasint)n, w, 1);
        b->lengths[v][step] = length;
        if (length > 0)
            mgk_blas.dscal((blasint)n, 1 / length, w, 1);
    }
}

static void draw(mgk_norm_bound *b, size_t n, uint64_t seed)
{
    const size_t pitch = mgk_reduction_pitch(n);
    memset(b->vectors, 0, VECTORS * pitch * sizeof(*b->vectors));
    for (size_t v = 0; v < VECTORS; v++) {
        double *w = b->vectors + v * pitch;
        for (size_t i = 0; i < n; i += 2) {
            const mgk_random4 block = mgk_random_block(seed, v, i);
            w[i] = (double)((uint64_t)block.word[0] << 21 ^ block.word[1] >> 11) * 0x1p-53 - 0.5;
            if (i + 1 < n)
                w[i + 1] =
                    (double)((uint64_t)block.word[2] << 21 ^ block.word[3] >> 11) * 0x1p-53 - 0.5;
        }
    }
    normalise(b, n, 0);
}

/*
 * What |λ| is below if |qᵀw| >= t for this vector. Were it more, the share of q in the unit vector
 * of each step would be at least (|λ| share - noise) / length, and in the last more than 1.
 */
static double bound_by(const double *lengths, size_t steps, double t, double noise)
{
    double sum = log(lengths[0] / t), bound, share = 0;
    for (size_t k = 1; k <= steps; k++) {
        if (!isfinite(lengths[k]))
            return INFINITY;
        sum += log(fmax(lengths[k], noise));
    }
    bound = fmax(exp(sum / (double)steps), DBL_MIN); /* E = 0: from 0 nothing grows */
    while (!(share > 1) && isfinite(bound)) {
        bound *= 1.01;
        share = t / lengths[0];
        for (size_t k = 1; k <= steps; k++)
            share = (bound * share - noise) / fmax(lengths[k], noise);
    }
    return bound;
}

double mgk_norm_bound_find(mgk_norm_bound *b, size_t n, mgk_norm_operator apply, void *state,
                           uint64_t seed, double noise, double enough)
{
    const double t = pow(MGK_NORM_BOUND_RISK, 1.0 / VECTORS) / sqrt(8);
    double least = INFINITY;
    draw(b, n, seed);
    for (size_t step = 1; step <= STEPS && !(least <= enough); step++) {
        double largest = 0;
        apply(state, b->vectors);
        normalise(b, n, step);
        for (size_t v = 0; v < VECTORS; v++) {
            const double found = bound_by(b->lengths[v], step, t, noise);
            largest = fmax(largest, found);
        }
        least = fmin(least, largest);
    }
    return least;
}
