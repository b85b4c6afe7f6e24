/* SPDX-License-Identifier: MIT */
#include "analysis/counting/landmarks.h"

#include <math.h>

#include "analysis/counting/extremes.h"
#include "base/memory.h"
#include "kernels/blas.h"

struct mgk_landmarks {
    mgk_extremes *extremes;
    double *image; /* [n_max] */
};

mgk_status mgk_landmarks_open(size_t n_max, mgk_landmarks **out)
{
    mgk_status status;
    mgk_landmarks *landmarks = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*landmarks), &landmarks));
    CHECK(mgk_extremes_open(n_max, &landmarks->extremes));
    CHECK(mgk_alloc(n_max, sizeof(double), &landmarks->image));
    *out = landmarks;
    landmarks = NULL;
out:
    mgk_landmarks_close(landmarks);
    return status;
}

void mgk_landmarks_close(mgk_landmarks *landmarks)
{
    if (!landmarks)
        return;
    mgk_extremes_close(landmarks->extremes);
    mgk_free(landmarks->image);
    mgk_free(landmarks);
}

static void multiply(void *state, size_t count, double *rows)
{
    mgk_gram_multiply(state, count, rows);
}

static void solve(void *state, size_t count, double *rows)
{
    mgk_gram_solve(state, count, rows);
}

/*
 * Relative residual. A settled pair is almost always that of the end; an end that the first vector
 * hardly contains appears late.
 */
static const double settled = 1e-6;

double mgk_landmarks_largest(mgk_landmarks *landmarks, mgk_gram *gram)
{
    mgk_extremes_begin(landmarks->extremes, mgk_gram_order(gram), multiply, gram);
    while (mgk_extremes_step(landmarks->extremes)) {
        const mgk_extreme highest = mgk_extremes_look(landmarks->extremes, MGK_HIGHEST);
        if (highest.residual <= settled * highest.value)
            return sqrt(highest.value);
    }
    return NAN;
}

/*
 * The nearest singular value on one side of tau, from one end of (AᵀA - x I)⁻¹. `closest`: a lower
 * bound of the distance.
 */
typedef struct side {
    bool found;
    double distance, closest;
} side;

/* The distance from tau of the singular value that belongs to an eigenvalue. */
static double distance(double eigenvalue, double x, double tau)
{
    return fabs(sqrt(fmax(x + 1 / eigenvalue, 0)) - tau);
}

static side look(mgk_landmarks *landmarks, mgk_end end, double x, double tau)
{
    static const double late = 8;
    const mgk_extreme seen = mgk_extremes_look(landmarks->extremes, end);
    const double sign = end == MGK_HIGHEST ? 1 : -1;
    /*
     * A value of the wrong sign: this end has not appeared, or is lost in roundings of the other.
     */
    const double magnitude = fmax(sign * seen.value, 0);
    return (side){.found = magnitude > 0 && seen.residual <= settled * magnitude,
                  .distance = distance(seen.value, x, tau),
                  .closest = distance(sign * (magnitude + late * seen.residual), x, tau)};
}

/* ‖A v‖: free of the rounding of AᵀA, and an error of v counts squared. */
static double image_norm(mgk_landmarks *landmarks, mgk_gram *gram, mgk_end end)
{
    const double *vector = mgk_extremes_vector(landmarks->extremes, end);
    mgk_gram_apply(gram, false, 1, vector, landmarks->image);
    return mgk_blas.dnrm2((blasint)mgk_gram_order(gram), landmarks->image, 1);
}

double mgk_landmarks_nearest(mgk_landmarks *landmarks, mgk_gram *gram, double tau, size_t above)
{
    static const side nothing = {.closest = INFINITY};
    const double x = mgk_gram_shift(gram);
    const size_t n = mgk_gram_order(gram);
    mgk_extremes_begin(landmarks->extremes, n, solve, gram);
    while (mgk_extremes_step(landmarks->extremes)) {
        const side larger = above > 0 ? look(landmarks, MGK_HIGHEST, x, tau) : nothing;
        const side smaller = above < n ? look(landmarks, MGK_LOWEST, x, tau) : nothing;
        if (larger.found && larger.distance <= smaller.closest)
            return image_norm(landmarks, gram, MGK_HIGHEST);
        if (smaller.found && smaller.distance <= larger.closest)
            return image_norm(landmarks, gram, MGK_LOWEST);
    }
    return NAN;
}
