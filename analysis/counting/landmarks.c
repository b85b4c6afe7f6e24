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
 * Of a residual: what has settled so far is hardly ever another pair than that of the end, which
 * may come to light late if the first vector has little of it.
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
 * The nearest of the singular values on one side of tau, those of one end of (AᵀA - x I)⁻¹.
 * `closest`: none can be nearer.
 */
typedef struct side {
    bool found;
    double distance, closest;
} side;

/* How far the singular value that an eigenvalue stands for is from tau. */
static double distance(double eigenvalue, double x, double tau)
{
    return fabs(sqrt(fmax(x + 1 / eigenvalue, 0)) - tau);
}

static side look(mgk_landmarks *landmarks, mgk_end end, double x, double tau)
{
    static const double late = 8;
    const mgk_extreme seen = mgk_extremes_look(landmarks->extremes, end);
    const double sign = end == MGK_HIGHEST ? 1 : -1;
    /* Below 0 there is nothing of this end yet, or it is lost in the roundings of the other. */
    const double magnitude = fmax(sign * seen.value, 0);
    return (side){.found = magnitude > 0 && seen.residual <= settled * magnitude,
                  .distance = distance(seen.value, x, tau),
                  .closest = distance(sign * (magnitude + late * seen.residual), x, tau)};
}

/* ‖A v‖: what rounding did to AᵀA is not in it, and an error of v counts squared. */
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
