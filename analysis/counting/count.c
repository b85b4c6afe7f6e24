/* SPDX-License-Identifier: MIT */
#include "analysis/counting/count.h"

#include "kernels/spectral/rounding.h"

#include <math.h>
#include <stdint.h>

/* A level, and the side of it on which singular values are counted. */
typedef struct side {
    double level;
    int sign; /* 1: count those above, -1: exclude those below */
    mgk_certificate certificate;
    size_t wanted; /* the only useful count, others are not measured; SIZE_MAX: any */
} side;

/* δ of a count; a measurement stops when it is below `enough`. */
static double uncertainty(mgk_gram *gram, const mgk_gram_count *count, mgk_certificate certificate,
                          double enough)
{
    return certificate == MGK_CERTIFICATE_BOUND ? count->bound : mgk_gram_measure(gram, enough);
}

/* The first distance of a shift from the level; δ hardly depends on the shift. */
static double first_guess(const mgk_gram *gram, const side *s)
{
    const mgk_gram_count at = mgk_gram_expect(gram);
    return s->certificate == MGK_CERTIFICATE_BOUND ? 1.125 * at.bound : 1.25 * at.expected;
}

/*
 * Relative to the squared level: with a larger δ there is nearly always a singular value between
 * the two sides.
 */
static const double hopeless = 0.5;

/*
 * Counts on one side of a level: at least *above are above it if the sign is 1, at most *above if
 * it is -1. δ is a bound of rounding errors with MGK_CERTIFICATE_BOUND, and measured with
 * MGK_CERTIFICATE_MEASURED. False if the count fails.
 */
static bool count_beside(mgk_gram *gram, const side *s, size_t *above)
{
    enum { ATTEMPTS = 4 };
    const double square = s->level * s->level;
    double delta = first_guess(gram, s);
    for (int attempt = 0; attempt < ATTEMPTS && delta <= hopeless * square; attempt++) {
        mgk_gram_count at;
        if (!mgk_gram_take(gram, square + s->sign * delta, &at) ||
            (s->wanted != SIZE_MAX && at.count != s->wanted))
            return false;
        const double actual = uncertainty(gram, &at, s->certificate, delta);
        *above = at.count;
        if (actual <= delta)
            return true;
        delta = 2 * actual; /* δ differs at this shift: go further */
    }
    return false;
}

/*
 * Counts on both sides; if all values that may be above are above, the lower count is not needed.
 */
static bool count_both_sides(mgk_gram *gram, const side *above, const side *below, mgk_known *known)
{
    size_t fewest, most = known->most;
    if (!count_beside(gram, above, &fewest) ||
        (fewest < known->most && !count_beside(gram, below, &most)))
        return false;
    known->fewest = fewest > known->fewest ? fewest : known->fewest;
    known->most = most < known->most ? most : known->most;
    return fewest == most;
}

/*
 * If a single singular value is in doubt, one side is enough: it is above, or it is not. δ is
 * measured only for a count that decides this.
 */
static bool count_one_side(mgk_gram *gram, side above, side below, mgk_known *known)
{
    size_t count;
    above.wanted = known->most;
    below.wanted = known->fewest;
    if (!count_beside(gram, &above, &count) && !count_beside(gram, &below, &count))
        return false;
    *known = (mgk_known){count, count};
    return true;
}

bool mgk_count_rank(mgk_gram *gram, double tau, double moved, double storage,
                    mgk_certificate certificate, mgk_known *known, mgk_rank_count *out)
{
    const double distance = moved + storage + 8 * MGK_ROUNDOFF * tau; /* levels are rounded, too */
    const side above = {tau + distance, 1, certificate, SIZE_MAX};
    const side below = {fmax(tau - distance, 0), -1, certificate, SIZE_MAX};
    const bool single = known->most - known->fewest == 1;
    if (!(single ? count_one_side(gram, above, below, known)
                 : count_both_sides(gram, &above, &below, known)))
        return false;
    *out = mgk_count_certain(known->most, certificate);
    return true;
}

mgk_rank_count mgk_count_certain(size_t rank, mgk_certificate certificate)
{
    return (mgk_rank_count){.rank = rank,
                            .rank_low = rank,
                            .rank_high = rank,
                            .certificate = certificate,
                            .nearest = (double)NAN};
}
