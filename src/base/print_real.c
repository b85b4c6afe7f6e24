/* SPDX-License-Identifier: MIT */
/*
 * Decimal digits of doubles. A double f * 2^e is scaled by a power of ten to a number with 17
 * digits before the point. 128 bits of this number tell how it rounds to 15, 16 and 17 digits, and
 * which of these are closer to it than any other double, as in Grisu (Loitsch 2010). Where the
 * error of the power leaves this open, the C library decides.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

__extension__ typedef unsigned __int128 wide;

enum { FEWEST = 15, MOST = 17 }; /* digits: 15 survive in a double, and a double in 17 */

static const uint64_t limit = 100000000000000000; /* 10^MOST */

/* A number rounded to `count` digits. */
typedef struct decimal {
    uint64_t digits; /* 17 without a point, of which those after `count` are 0 */
    int count;
    int exponent; /* the first digit counts 10^exponent */
} decimal;

/* ---- powers of ten --------------------------------------------------------------------------- */

/* 10^LEAST_POWER to 10^GREATEST_POWER scale all doubles, from 2^-1074 to 2^1024. */
enum { LEAST_POWER = -292, GREATEST_POWER = 340 };

/* digits * 2^exponent, 2^123 <= digits < 2^124. */
typedef struct power {
    wide digits;
    int exponent;
} power;

static power powers[GREATEST_POWER - LEAST_POWER + 1];

/* Each step cuts off less than 2^-123 of the number, all steps together less than 2^-114. */
static void fill_powers(void)
{
    const wide most = (wide)1 << 124;
    const int zero = -LEAST_POWER, count = sizeof(powers) / sizeof(*powers);
    powers[zero] = (power){most / 2, -123};
    for (int i = zero + 1; i < count; i++) {
        powers[i] = (power){powers[i - 1].digits * 10, powers[i - 1].exponent};
        for (; powers[i].digits >= most; powers[i].digits >>= 1)
            powers[i].exponent++;
    }
    for (int i = zero - 1; i >= 0; i--) {
        const power above = powers[i + 1];
        const int shift = above.digits * 8 / 10 >= most / 2 ? 3 : 4;
        powers[i] = (power){(above.digits << shift) / 10, above.exponent - shift};
    }
}

/* ---- digits ---------------------------------------------------------------------------------- */

/*
 * A double scaled to 17 or 18 digits before the point, and the half distance to the doubles
 * beside it, which read back as others; both in units of 2^-64.
 */
typedef struct scaled {
    wide value, above, below;
} scaled;

/* More than the errors of two members: 2^-114 of a value below 2^122 is below 2^8, and the last bit
 * is cut off. */
static const wide error = 1 << 10;

static scaled scale(uint64_t fraction, int exponent, bool closer_below, const power *p)
{
    const int zeros = __builtin_clzll(fraction);
    const uint64_t f = fraction << zeros;
    const uint64_t high = (uint64_t)(p->digits >> 64), low = (uint64_t)p->digits;
    const wide product = (wide)f * high + ((wide)f * low >> 64);
    const wide half = p->digits >> -(exponent - 1 + p->exponent + 64);
    return (scaled){product >> -(exponent - zeros + p->exponent + 128), half,
                    closer_below ? half / 2 : half};
}

static wide distance(wide a, wide b)
{
    return a > b ? a - b : b - a;
}

/*
 * Rounds to so many digits. Returns 1 if the rounded number reads back as the same double, 0 if
 * not, and -1 if the error leaves open how it is rounded or what it reads as.
 */
static int round_to(const scaled *s, int count, uint64_t *digits)
{
    const uint64_t unit = count == 17 ? 1 : count == 16 ? 10 : 100;
    const uint64_t whole = (uint64_t)(s->value >> 64);
    const wide one = (wide)unit << 64;
    const wide rest = s->value - ((wide)(whole - whole % unit) << 64);
    const bool up = rest > one / 2;
    const wide moved = up ? one - rest : rest, room = up ? s->above : s->below;
    if (distance(rest, one / 2) <= error)
        return -1;
    *digits = whole - whole % unit + (up ? unit : 0);
    if (count == MOST)
        return 1;
    if (distance(moved, room) <= error)
        return -1;
    return moved < room;
}

/* Finds the fewest digits of a number above 0; false if the error leaves them open. */
static bool find_digits(double value, decimal *out)
{
    static pthread_once_t filled = PTHREAD_ONCE_INIT;
    uint64_t bits;
    pthread_once(&filled, fill_powers);
    memcpy(&bits, &value, sizeof(bits));
    const int biased = (int)(bits >> 52 & 0x7FF);
    const uint64_t hidden = (uint64_t)1 << 52, stored = bits & (hidden - 1);
    const uint64_t fraction = biased > 0 ? stored | hidden : stored;
    const int exponent = biased > 0 ? biased - 1075 : -1074;
    const bool closer_below = stored == 0 && biased > 1;
    const int top = exponent + 63 - __builtin_clzll(fraction); /* 2^top <= value */
    out->exponent = (int)floor(top * 0.30102999566398120);     /* log10 2; at most one too small */
    const power *p = &powers[16 - out->exponent - LEAST_POWER];
    scaled s = scale(fraction, exponent, closer_below, p);
    if (s.value >> 64 >= limit) {
        out->exponent++;
        s = scale(fraction, exponent, closer_below, p - 1);
    }
    int found;
    for (out->count = FEWEST; (found = round_to(&s, out->count, &out->digits)) == 0;)
        out->count++;
    if (found > 0 && out->digits == limit) {
        out->digits /= 10;
        out->exponent++;
    }
    return found > 0;
}

/* The same by the C library, which writes and reads the same decimal point in any locale. */
static void ask_library(double value, decimal *out)
{
    char text[40];
    out->count = FEWEST;
    do
        snprintf(text, sizeof(text), "%.*e", out->count - 1, value);
    while (strtod(text, NULL) != value && ++out->count <= MOST);
    const char *end = strchr(text, 'e');
    out->digits = 0;
    for (const char *c = text; c < end; c++)
        if (*c >= '0' && *c <= '9')
            out->digits = out->digits * 10 + (uint64_t)(*c - '0');
    for (int i = out->count; i < MOST; i++)
        out->digits *= 10;
    out->exponent = atoi(end + 1);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Copies the digits from `first` to before `end`; returns the end of the copy. */
static char *put_digits(char *out, const char *digits, int first, int end)
{
    memcpy(out, digits + first, (size_t)(end - first));
    return out + (end - first);
}

/* Writes the exponent, with a sign and at least two digits. */
static char *put_exponent(char *out, int exponent)
{
    const int size = abs(exponent);
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (size >= 100)
        *out++ = (char)('0' + size / 100);
    *out++ = (char)('0' + size / 10 % 10);
    *out++ = (char)('0' + size % 10);
    return out;
}

/* Writes a number as "%.*g" does with `count` as precision. */
static char *put_decimal(char *out, const decimal *number)
{
    char digits[MOST];
    uint64_t rest = number->digits;
    int end = MOST;
    for (int i = MOST; i-- > 0; rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    while (end > 1 && digits[end - 1] == '0')
        end--;
    const bool scientific = number->exponent < -4 || number->exponent >= number->count;
    const int before = scientific ? 1 : number->exponent + 1; /* digits before the point */
    if (before <= 0)
        return put_digits(put_digits(out, "0.000", 0, 2 - before), digits, 0, end);
    out = put_digits(out, digits, 0, before);
    if (end > before) {
        *out++ = '.';
        out = put_digits(out, digits, before, end);
    }
    return scientific ? put_exponent(out, number->exponent) : out;
}

void mgk_print_real(FILE *file, double value)
{
    char text[32], *end = text;
    decimal number;
    if (value == 0 || !isfinite(value)) {
        fprintf(file, "%g", value);
        return;
    }
    if (!find_digits(fabs(value), &number))
        ask_library(fabs(value), &number);
    if (value < 0)
        *end++ = '-';
    end = put_decimal(end, &number);
    fwrite(text, 1, (size_t)(end - text), file);
}
