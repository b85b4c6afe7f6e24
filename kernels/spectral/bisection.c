/* SPDX-License-Identifier: MIT */
/*
 * Cuts intervals that hold singular values until they are as narrow as roundings. Only the counts
 * at its ends define the values in an interval; the choice of the cuts affects only speed. An
 * interval with several values is cut in the middle, or at several points if few intervals are
 * left. An interval with one value is cut at the zero of the characteristic polynomial, by inverse
 * quadratic interpolation through three points, or in the middle where interpolation is unreliable
 * (Chandrupatla, Advances in Engineering Software 28, 1997).
 */
#include "kernels/spectral/bisection.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

/* Half the width, relative to a bound of sigma_1, of a finished interval. */
static const double tolerance = 0x1p-53;

/* The least entry: it replaces 0, a change below a rounding of the largest entry. */
static const double least_entry = 0x1p-56;

/* After this many cuts of an interval with one value, the middle replaces interpolation. */
enum { PATIENCE = 20 };

/* Value and exponent of the characteristic polynomial at x, if known. */
typedef struct point {
    double x, value;
    int64_t exponent, above;
    bool known;
} point;

/* The interval between a and b, where a is newer, and the third point c for interpolation. */
typedef struct interval {
    point a, b, c;
    int age; /* cuts since it holds one value */
} interval;

struct mgk_bisection {
    double *squares;     /* [2 n_max, to whole blocks] */
    interval *intervals; /* [n_max], disjoint and not empty */
    size_t count;
    mgk_sturm_points points;
};

static size_t padded_steps(size_t n)
{
    return (2 * n + MGK_STURM_BLOCK - 1) / MGK_STURM_BLOCK * MGK_STURM_BLOCK;
}

mgk_status mgk_bisection_open(size_t n_max, mgk_bisection **out)
{
    mgk_status status = STATUS_OK;
    mgk_bisection *s;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof *s, &s));
    CHECK(mgk_alloc(padded_steps(n_max), sizeof(double), &s->squares));
    CHECK(mgk_alloc(n_max, sizeof(interval), &s->intervals));
    *out = s;
    s = NULL;
out:
    mgk_bisection_close(s);
    return status;
}

void mgk_bisection_close(mgk_bisection *bisection)
{
    if (!bisection)
        return;
    mgk_free(bisection->squares);
    mgk_free(bisection->intervals);
    mgk_free(bisection);
}

/* The largest sum of a row or column, an upper bound of sigma_1. */
static double bound(size_t n, const double *d, const double *e)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double before = i > 0 ? fabs(e[i - 1]) : 0, after = i + 1 < n ? fabs(e[i]) : 0;
        largest = fmax(largest, fabs(d[i]) + fmax(before, after));
    }
    return largest;
}

/* Squares of the scaled entries, in the order of the tridiagonal matrix; returns their number. */
static size_t fill_squares(size_t n, const double *d, const double *e, double scale,
                           double *squares)
{
    const size_t steps = padded_steps(n);
    memset(squares, 0, steps * sizeof *squares);
    for (size_t i = 0; i < n; i++) {
        const double entry = fmax(fabs(d[i]) * scale, least_entry);
        squares[2 * i + 1] = entry * entry;
        if (i + 1 < n) {
            const double beside = fmax(fabs(e[i]) * scale, least_entry);
            squares[2 * i + 2] = beside * beside;
        }
    }
    return steps;
}

static int64_t values_in(const interval *x)
{
    return x->a.above > x->b.above ? x->a.above - x->b.above : x->b.above - x->a.above;
}

/* value 2^(exponent − reference); far smaller results become 0. */
static double scaled(const point *p, int64_t reference)
{
    const int64_t exponent = p->exponent - reference;
    if (exponent < -1000)
        return 0;
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return p->value * scale;
}

/* The cut of an interval with one value, as a fraction of the way from a to b. */
static double interpolate(const interval *s)
{
    const point *a = &s->a, *b = &s->b, *c = &s->c;
    if (!a->known || !b->known || !c->known || s->age > PATIENCE)
        return 0.5;
    int64_t reference = a->exponent > b->exponent ? a->exponent : b->exponent;
    reference = reference > c->exponent ? reference : c->exponent;
    const double fa = scaled(a, reference), fb = scaled(b, reference), fc = scaled(c, reference);
    const double xi = (a->x - b->x) / (c->x - b->x), phi = (fa - fb) / (fc - fb);
    if (!(phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi))
        return 0.5;
    return fa / (fb - fa) * (fc / (fb - fc)) +
           (c->x - a->x) / (b->x - a->x) * (fa / (fc - fa)) * (fb / (fc - fb));
}

/* The points at which an interval is cut, from a to b; returns their number, at most `most`. */
static size_t choose_cuts(const interval *s, size_t most, double *x)
{
    const double width = s->b.x - s->a.x;
    if (values_in(s) > 1) {
        for (size_t i = 0; i < most; i++)
            x[i] = s->a.x + width * (double)(i + 1) / (double)(most + 1);
        return most;
    }
    /* A closer cut to an end than the tolerance gains nothing. */
    const double least = tolerance / fabs(width);
    double part = interpolate(s);
    part = fmin(fmax(part, least), 1 - least);
    x[0] = s->a.x + part * width;
    return 1;
}

/* Writes the values of a finished interval, 0 if they may be 0; keeps others for more cuts. */
static void add(mgk_bisection *w, const interval *s, double *sigma)
{
    if (fabs(s->a.x - s->b.x) > 2 * tolerance) {
        w->intervals[w->count++] = *s;
        return;
    }
    const int64_t begin = s->a.above < s->b.above ? s->a.above : s->b.above;
    const bool at_zero = s->a.x == 0 || s->b.x == 0;
    for (int64_t k = begin; k < begin + values_in(s); k++)
        sigma[k] = at_zero ? 0 : 0.5 * (s->a.x + s->b.x);
}

/* The count at point i, clamped to the counts of the interval: roundings may contradict them. */
static point read_point(const mgk_sturm_points *points, size_t i, const interval *s)
{
    point p = {points->x[i], points->value[i], points->exponent[i], points->above[i], true};
    const bool rising = s->a.above < s->b.above;
    const int64_t low = rising ? s->a.above : s->b.above, high = rising ? s->b.above : s->a.above;
    p.above = p.above < low ? low : p.above > high ? high : p.above;
    p.value = p.above % 2 ? -fabs(p.value) : fabs(p.value);
    return p;
}

/* Replaces an interval, cut at points [first, first + cuts), by its parts that hold values. */
static void cut(mgk_bisection *w, const interval *s, size_t first, size_t cuts, double *sigma)
{
    const int age = values_in(s) == 1 ? s->age + 1 : 0;
    point last = s->b, p = s->a, next = read_point(&w->points, first, s);
    for (size_t i = 0; i <= cuts; i++) {
        const point after = i + 1 < cuts    ? read_point(&w->points, first + i + 1, s)
                            : i + 1 == cuts ? s->b
                                            : next;
        if (p.above != next.above) {
            const interval part =
                i == 0 ? (interval){next, p, after, age} : (interval){p, next, last, age};
            add(w, &part, sigma);
        }
        last = p;
        p = next;
        next = after;
    }
}

/* Cuts the most recent intervals, at as many points as one Sturm count takes. */
static void turn(mgk_bisection *w, const mgk_reductions *reductions, size_t steps, double *sigma)
{
    interval taken[MGK_STURM_POINTS];
    size_t cuts[MGK_STURM_POINTS], used = 0;
    const size_t count = w->count < MGK_STURM_POINTS ? w->count : MGK_STURM_POINTS;
    const size_t most = MGK_STURM_POINTS / count;
    w->count -= count;
    memcpy(taken, w->intervals + w->count, count * sizeof *taken);
    for (size_t i = 0; i < count; i++) {
        cuts[i] = choose_cuts(&taken[i], most, w->points.x + used);
        used += cuts[i];
    }
    for (size_t i = used; i < MGK_STURM_POINTS; i++)
        w->points.x[i] = 1;
    reductions->sturm(steps, w->squares, &w->points);
    used = 0;
    for (size_t i = 0; i < count; i++) {
        cut(w, &taken[i], used, cuts[i], sigma);
        used += cuts[i];
    }
}

void mgk_bisection_run(mgk_bisection *bisection, const mgk_reductions *reductions, size_t n,
                       const double *diagonal, const double *superdiagonal, double *sigma)
{
    mgk_bisection *w = bisection;
    const double largest = bound(n, diagonal, superdiagonal);
    if (largest == 0) {
        memset(sigma, 0, n * sizeof *sigma);
        return;
    }
    const int exponent = ilogb(largest) + 1;
    const size_t steps = fill_squares(n, diagonal, superdiagonal, ldexp(1, -exponent), w->squares);
    /* Slightly above 1: sigma_1 may equal the bound. */
    const interval all = {.a = {.x = 0, .above = (int64_t)n}, .b = {.x = 1 + 0x1p-40}};
    w->count = 0;
    add(w, &all, sigma);
    while (w->count > 0)
        turn(w, reductions, steps, sigma);
    for (size_t i = 0; i < n; i++)
        sigma[i] = ldexp(sigma[i], exponent);
}
