#include "analysis/counting/count.h"

#include "kernels/spectral/rounding.h"

#include <math.h>
#include <stdint.h>

/* A level on one side of which singular values are counted. */
typedef struct side {
    double level;
    int sign; /* 1: those above it, -1: those below are not */
    mgk_certificate certificate;
    size_t wanted; /* another count is of no use, and is not measured; SIZE_MAX: any is */
} side;

/* δ of a count, which is measured until it is `enough`. */
static double uncertainty(mgk_gram *gram, const mgk_gram_count *count, mgk_certificate certificate,
                          double enough)
{
    return certificate == MGK_CERTIFICATE_BOUND ? count->bound : mgk_gram_measure(gram, enough);
}

/* Where to begin; δ is nearly the same at most shifts. */
static double first_guess(const mgk_gram *gram, const side *s)
{
    const mgk_gram_count at = mgk_gram_expect(gram);
    return s->certificate == MGK_CERTIFICATE_BOUND ? 1.125 * at.bound : 1.25 * at.expected;
}

/* Of what is squared: the δ beyond which there is nearly always a singular value between two sides.
 */
static const double hopeless = 0.5;

/*
 * Counts beside a level: no fewer than *above are above it where the sign is 1, no more where it is
 * -1. With MGK_CERTIFICATE_BOUND, δ is a bound on roundings, with MGK_CERTIFICATE_MEASURED it is
 * measured. False if that cannot be had.
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
        delta = 2 * actual; /* where it is not the same, go further at once */
    }
    return false;
}

/* Both sides; where all that are known of are above, none has to be looked for below. */
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
 * Where one singular value is left in doubt, one side is enough: it is above, or it is not, and
 * nothing is measured where it is not so.
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
