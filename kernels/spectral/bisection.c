/*
 * Intervals that hold singular values are cut until they are as narrow as roundings. What lies in
 * one is known from counts at its ends, and nothing else: how the cuts are chosen is a matter of
 * speed. Of an interval with several values the middle is taken, or several points where few
 * intervals are left. With one value, it is the zero of the characteristic polynomial, to which
 * inverse quadratic interpolation through three points leads, or the middle where that cannot be
 * trusted (Chandrupatla, Advances in Engineering Software 28, 1997).
 */
#include "kernels/spectral/bisection.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

/* Half the width, relative to a bound of sigma_1, at which an interval is done. */
static const double tolerance = 0x1p-53;

/* The least entry: one of 0 differs from it by less than a rounding of the largest. */
static const double least_entry = 0x1p-56;

/* Cuts of an interval with one value after which interpolation gives way to the middle. */
enum { PATIENCE = 20 };

/* Value and exponent of the characteristic polynomial at x, if it is known there. */
typedef struct point {
    double x, value;
    int64_t exponent, above;
    bool known;
} point;

/* Between a and b, of which a is newer, and beside them c. */
typedef struct interval {
    point a, b, c;
    int age; /* how often it was cut since it holds one value */
} interval;

struct mgk_bisection {
    double *squares;     /* [2 n_max, to whole blocks] */
    interval *intervals; /* [n_max]: they are disjoint and none is empty */
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

/* The largest sum of a row or column, which sigma_1 does not exceed. */
static double bound(size_t n, const double *d, const double *e)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double before = i > 0 ? fabs(e[i - 1]) : 0, after = i + 1 < n ? fabs(e[i]) : 0;
        largest = fmax(largest, fabs(d[i]) + fmax(before, after));
    }
    return largest;
}

/* Squares of the entries times `scale`, in the order of the tridiagonal matrix; their number. */
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

/* value 2^(exponent − reference), or 0 far below. */
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

/* Where to cut an interval with one value, as a part of the way from a to b. */
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
    /* Not closer to an end than is needed to be done there. */
    const double least = tolerance / fabs(width);
    double part = interpolate(s);
    part = fmin(fmax(part, least), 1 - least);
    x[0] = s->a.x + part * width;
    return 1;
}

/* An interval that is done gives its values, 0 if they may be; another waits for more cuts. */
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

/* What was counted at point i, within what is known of an interval: roundings may say otherwise. */
static point read_point(const mgk_sturm_points *points, size_t i, const interval *s)
{
    point p = {points->x[i], points->value[i], points->exponent[i], points->above[i], true};
    const bool rising = s->a.above < s->b.above;
    const int64_t low = rising ? s->a.above : s->b.above, high = rising ? s->b.above : s->a.above;
    p.above = p.above < low ? low : p.above > high ? high : p.above;
    p.value = p.above % 2 ? -fabs(p.value) : fabs(p.value);
    return p;
}

/* Replaces an interval that was cut at points [first, first + cuts) by its parts with values. */
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

/* Cuts the intervals that came last, at as many points as are counted together. */
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
    /* A little above: sigma_1 may be the bound. */
    const interval all = {.a = {.x = 0, .above = (int64_t)n}, .b = {.x = 1 + 0x1p-40}};
    w->count = 0;
    add(w, &all, sigma);
    while (w->count > 0)
        turn(w, reductions, steps, sigma);
    for (size_t i = 0; i < n; i++)
        sigma[i] = ldexp(sigma[i], exponent);
}
