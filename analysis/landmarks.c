#include "analysis/landmarks.h"

#include <cblas.h>
#include <math.h>

#include "analysis/extremes.h"
#include "base/memory.h"

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

double mgk_landmarks_largest(mgk_landmarks *landmarks, mgk_gram *gram)
{
    /* The residual has no say in the digits: it must not settle on σ₂ before σ₁ comes to light. */
    static const double precise = 1e-6, settled = 1e-4;
    mgk_extreme lowest, highest;
    mgk_extremes_begin(landmarks->extremes, mgk_gram_order(gram), multiply, gram);
    while (mgk_extremes_step(landmarks->extremes, &lowest, &highest))
        if (highest.error <= precise * highest.value && highest.residual <= settled * highest.value)
            return sqrt(highest.value);
    return NAN;
}

/* How far the singular value that an eigenvalue of (AᵀA - x I)⁻¹ stands for is from tau. */
static double distance(double eigenvalue, double x, double tau)
{
    return fabs(sqrt(fmax(x + 1 / eigenvalue, 0)) - tau);
}

/*
 * The nearest of the singular values on one side of tau, whose eigenvalues have the sign of `sign`.
 * `closest`: none can be nearer.
 */
typedef struct side {
    bool found;
    double distance, closest;
} side;

static side look(const mgk_extreme *end, double sign, double x, double tau)
{
    /* One that the first vector hardly has may come to light late. */
    static const double precise = 1e-4, late = 8;
    const double magnitude = sign * end->value, most = magnitude + late * end->residual;
    if (!(most > 0))
        return (side){.closest = 0}; /* not yet seen */
    return (side){.found = end->residual <= precise * magnitude,
                  .distance = distance(end->value, x, tau),
                  .closest = distance(sign * most, x, tau)};
}

/* ‖A v‖: what rounding did to AᵀA is not in it, and an error of v counts squared. */
static double image_norm(mgk_landmarks *landmarks, mgk_gram *gram, const mgk_extreme *end)
{
    const double *vector = mgk_extremes_vector(landmarks->extremes, end);
    mgk_gram_apply(gram, false, 1, vector, landmarks->image);
    return cblas_dnrm2((blasint)mgk_gram_order(gram), landmarks->image, 1);
}

double mgk_landmarks_nearest(mgk_landmarks *landmarks, mgk_gram *gram, double tau, size_t above)
{
    static const side nothing = {.closest = INFINITY};
    const double x = mgk_gram_shift(gram);
    const size_t n = mgk_gram_order(gram);
    mgk_extreme lowest, highest;
    mgk_extremes_begin(landmarks->extremes, n, solve, gram);
    while (mgk_extremes_step(landmarks->extremes, &lowest, &highest)) {
        const side larger = above > 0 ? look(&highest, 1, x, tau) : nothing;
        const side smaller = above < n ? look(&lowest, -1, x, tau) : nothing;
        if (larger.found && larger.distance <= smaller.closest)
            return image_norm(landmarks, gram, &highest);
        if (smaller.found && smaller.distance <= larger.closest)
            return image_norm(landmarks, gram, &lowest);
    }
    return NAN;
}
