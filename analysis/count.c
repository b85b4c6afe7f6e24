#include "analysis/count.h"

#include <math.h>

static double uncertainty(const mgk_gram_count *count, mgk_certificate certificate)
{
    return certificate == MGK_CERTIFICATE_BOUND ? count->bound : count->estimate;
}

/* One side of tau: counts are wanted `outer` away from it, and must be certain `inner` away. */
typedef struct side {
    int sign; /* 1 above tau, -1 below */
    double outer, inner;
} side;

/* The square of a level on this side; 0 where it would lie below zero. */
static double square_of(double tau, double distance, int sign)
{
    double level = fmax(tau + sign * distance, 0);
    return level * level;
}

/*
 * The count at tau ± outer, or further away where δ reaches beyond tau ± inner; δ is known only
 * afterwards. False if that cannot be had.
 */
static bool count_beside(mgk_gram *gram, double tau, side s, mgk_certificate certificate,
                         size_t *count)
{
    enum { ATTEMPTS = 4 };
    const double inner = square_of(tau, s.inner, s.sign), outer = square_of(tau, s.outer, s.sign);
    mgk_gram_count at = mgk_gram_expect(gram);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        /* δ is the same at most shifts; where it is not, go further at once. */
        double delta = (attempt == 0 ? 1.125 : 2) * uncertainty(&at, certificate);
        double x = s.sign > 0 ? fmax(outer, inner + delta) : fmin(outer, inner - delta);
        if (!mgk_gram_take(gram, x, &at))
            return false;
        *count = at.count;
        if (uncertainty(&at, certificate) < s.sign * (x - inner))
            return true;
    }
    return false;
}

/*
 * Counts on both sides of tau. At most *high can be the one above, as is known before: where that
 * many are, none has to be looked for below.
 */
static bool bracket(mgk_gram *gram, double tau, double outer, double inner,
                    mgk_certificate certificate, size_t *low, size_t *high)
{
    const side above = {1, outer, inner}, below = {-1, outer, inner};
    /* More than there can be: an estimate of roundings was too small. */
    return count_beside(gram, tau, above, certificate, low) && *low <= *high &&
           (*low == *high || count_beside(gram, tau, below, certificate, high)) && *low <= *high;
}

/* Of τ²: the δ beyond which there is nearly always a singular value between two sides. */
static const double hopeless = 0.5;

bool mgk_count_rank(mgk_gram *gram, double tau, double moved, double storage,
                    mgk_certificate certificate, size_t *most, mgk_rank_count *out)
{
    const double inner = moved + 8 * 0x1p-53 * tau; /* levels are rounded, too */
    size_t low, high = *most;
    mgk_gram_count expected = mgk_gram_expect(gram);
    if (uncertainty(&expected, certificate) > hopeless * tau * tau)
        return false;
    if (!bracket(gram, tau, inner + storage, inner, certificate, &low, &high))
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
