#include "analysis/count.h"

#include <math.h>

static double uncertainty(const mgk_gram_count *count, mgk_certificate certificate)
{
    return certificate == MGK_CERTIFICATE_BOUND ? count->bound : count->estimate;
}

/*
 * No more than are above `level` where side is 1, no fewer where it is -1: the count a δ beyond it,
 * which is known only afterwards. False if that cannot be had.
 */
static bool count_beside(mgk_gram *gram, double level, int side, mgk_certificate certificate,
                         size_t *count)
{
    enum { ATTEMPTS = 4 };
    mgk_gram_count at = mgk_gram_expect(gram);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        /* δ is the same at most shifts; where it is not, go further at once. */
        double delta = (attempt == 0 ? 1.125 : 2) * uncertainty(&at, certificate);
        if (!mgk_gram_take(gram, level * level + side * delta, &at))
            return false;
        *count = at.count;
        if (uncertainty(&at, certificate) < delta)
            return true;
    }
    return false;
}

/*
 * Counts above and below tau, further from it than `distance`. At most *high can be the one above,
 * as is known before: where that many are, none has to be looked for below.
 */
static bool bracket(mgk_gram *gram, double tau, double distance, mgk_certificate certificate,
                    size_t *low, size_t *high)
{
    const double above = tau + distance, below = fmax(tau - distance, 0);
    /* More than there can be: an estimate of roundings was too small. */
    return count_beside(gram, above, 1, certificate, low) && *low <= *high &&
           (*low == *high || count_beside(gram, below, -1, certificate, high)) && *low <= *high;
}

/* Of τ²: the δ beyond which there is nearly always a singular value between two sides. */
static const double hopeless = 0.5;

bool mgk_count_rank(mgk_gram *gram, double tau, double moved, double storage,
                    mgk_certificate certificate, size_t *most, mgk_rank_count *out)
{
    const double distance = moved + storage + 8 * 0x1p-53 * tau; /* levels are rounded, too */
    size_t low, high = *most;
    mgk_gram_count expected = mgk_gram_expect(gram);
    if (uncertainty(&expected, certificate) > hopeless * tau * tau)
        return false;
    if (!bracket(gram, tau, distance, certificate, &low, &high))
        return false;
    if (certificate == MGK_CERTIFICATE_BOUND)
        *most = high;
    if (low < high)
        return false;
    *out = (mgk_rank_count){.rank = low,
                            .rank_low = low,
                            .rank_high = low,
                            .certificate = certificate,
                            .nearest = (double)NAN};
    return true;
}
