#include "analysis/count.h"

#include <math.h>
#include <stdint.h>

/* δ of a count, which is measured until it is `enough`. */
static double uncertainty(mgk_gram *gram, const mgk_gram_count *count, mgk_certificate certificate,
                          double enough)
{
    return certificate == MGK_CERTIFICATE_BOUND ? count->bound : mgk_gram_measure(gram, enough);
}

/*
 * Where to begin; δ is nearly the same at most shifts. Where there is room, and vectors are looked
 * for that fill it, it pays to measure more closely, and to try what may turn out small enough.
 */
static double first_guess(const mgk_gram *gram, const mgk_side *side)
{
    const mgk_gram_count at = mgk_gram_expect(gram);
    if (side->guess > 0)
        return side->guess;
    if (side->certificate == MGK_CERTIFICATE_BOUND)
        return 1.125 * at.bound;
    if (side->room > 0)
        return fmin(at.expected / 2, fmax(at.expected / 16, side->level * side->level / 4));
    return 1.25 * at.expected;
}

/* Of what is squared: the δ beyond which there is nearly always a singular value between two sides.
 */
static const double hopeless = 0.5;

bool mgk_count_beside(mgk_gram *gram, const mgk_side *side, mgk_edge *out)
{
    enum { ATTEMPTS = 4 };
    const double square = side->level * side->level;
    double delta = first_guess(gram, side);
    for (int attempt = 0; attempt < ATTEMPTS && delta <= hopeless * square; attempt++) {
        const double shift = square + side->sign * (1 + side->room) * delta;
        const double enough = (1 + 0.2 * side->room) * delta;
        mgk_gram_count at;
        if (!mgk_gram_take(gram, shift, &at) ||
            (side->wanted != SIZE_MAX && at.count != side->wanted))
            return false;
        const double actual = uncertainty(gram, &at, side->certificate, enough);
        *out = (mgk_edge){.above = at.count,
                          .inner = shift - side->sign * actual,
                          .outer = shift + side->sign * actual};
        if (actual <= enough)
            return true;
        delta = 2 * actual; /* where it is not the same, go further at once */
    }
    return false;
}

/* Both sides; where all that are known of are above, none has to be looked for below. */
static bool count_both_sides(mgk_gram *gram, const mgk_side *above, const mgk_side *below,
                             mgk_known *known)
{
    mgk_edge high, low = {.above = known->most};
    if (!mgk_count_beside(gram, above, &high) ||
        (high.above < known->most && !mgk_count_beside(gram, below, &low)))
        return false;
    known->fewest = high.above > known->fewest ? high.above : known->fewest;
    known->most = low.above < known->most ? low.above : known->most;
    return high.above == low.above;
}

/*
 * Where one singular value is left in doubt, one side is enough: it is above, or it is not, and
 * nothing is measured where it is not so.
 */
static bool count_one_side(mgk_gram *gram, mgk_side above, mgk_side below, mgk_known *known)
{
    mgk_edge edge;
    above.wanted = known->most;
    below.wanted = known->fewest;
    if (!mgk_count_beside(gram, &above, &edge) && !mgk_count_beside(gram, &below, &edge))
        return false;
    *known = (mgk_known){edge.above, edge.above};
    return true;
}

bool mgk_count_rank(mgk_gram *gram, double tau, double moved, double storage,
                    mgk_certificate certificate, mgk_known *known, mgk_rank_count *out)
{
    const double distance = moved + storage + 8 * 0x1p-53 * tau; /* levels are rounded, too */
    const mgk_side above = {tau + distance, 1, 0, certificate, SIZE_MAX, 0};
    const mgk_side below = {fmax(tau - distance, 0), -1, 0, certificate, SIZE_MAX, 0};
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
