/* SPDX-License-Identifier: MIT */
/*
 * Prints random doubles by mgk_print_real and by the C library, and compares the texts and times.
 * Usage: bench_print_real COUNT [SEED]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/random.h"
#include "base/reference_real.h"

enum { BATCH = 1 << 16 };

typedef double (*source)(uint64_t seed, uint64_t i);

static double any_bits(uint64_t seed, uint64_t i)
{
    const uint64_t bits = mgk_random_u64(seed, 0, i);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return isfinite(value) ? value : 0;
}

static double uniform(uint64_t seed, uint64_t i)
{
    return mgk_random_uniform(seed, 1, i);
}

static double single(uint64_t seed, uint64_t i)
{
    return (float)mgk_random_uniform(seed, 2, i);
}

/* Decimal numbers of 1 to 17 digits. */
static double decimal(uint64_t seed, uint64_t i)
{
    char text[40];
    uint64_t digits = mgk_random_below(seed, 3, 3 * i, 100000000000000000);
    for (uint64_t cut = mgk_random_below(seed, 3, 3 * i + 1, 17); cut > 0; cut--)
        digits /= 10;
    const int exponent = (int)mgk_random_below(seed, 3, 3 * i + 2, 640) - 330;
    snprintf(text, sizeof(text), "%llue%d", (unsigned long long)digits, exponent);
    const double value = strtod(text, NULL);
    return isfinite(value) ? value : 0;
}

/* Fractions of powers of two, many of which have a 5 as last digit. */
static double dyadic(uint64_t seed, uint64_t i)
{
    const int bits = (int)mgk_random_below(seed, 4, 2 * i, 60);
    return ldexp(
        (double)mgk_random_below(seed, 4, 2 * i + 1, (uint64_t)1 << (bits < 53 ? bits : 53)),
        -bits);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Compares `count` numbers; returns how many differ, and adds the seconds of both. */
static size_t compare(const double *values, size_t count, char *text, double *ours, double *theirs)
{
    static char reference[BATCH][REFERENCE_REAL];
    FILE *file = fmemopen(text, (size_t)BATCH * REFERENCE_REAL, "w");
    size_t wrong = 0;
    double start = seconds();
    for (size_t i = 0; i < count; i++) {
        mgk_print_real(file, values[i]);
        fputc('\n', file);
    }
    fclose(file);
    *ours += seconds() - start;
    start = seconds();
    for (size_t i = 0; i < count; i++)
        reference_real(values[i], reference[i]);
    *theirs += seconds() - start;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(reference[i]);
        const char *end = strchr(text, '\n');
        if ((size_t)(end - text) != length || memcmp(text, reference[i], length) != 0) {
            wrong++;
            printf("%a: %.*s, expected %s\n", values[i], (int)(end - text), text, reference[i]);
        }
        text = strchr(text, '\n') + 1;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        source draw;
    } sources[] = {{"any bits", any_bits},
                   {"uniform in [0, 1)", uniform},
                   {"single precision", single},
                   {"decimal", decimal},
                   {"m / 2^k", dyadic}};
    static char text[(size_t)BATCH * REFERENCE_REAL];
    static double values[BATCH];
    const size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    size_t wrong = 0;
    for (size_t s = 0; s < sizeof(sources) / sizeof(*sources); s++) {
        double ours = 0, theirs = 0;
        for (size_t done = 0; done < count;) {
            const size_t now = count - done < BATCH ? count - done : BATCH;
            for (size_t i = 0; i < now; i++)
                values[i] = sources[s].draw(seed, done + i);
            wrong += compare(values, now, text, &ours, &theirs);
            done += now;
        }
        printf("%-18s %zu numbers: %.0f ns each, by the C library %.0f ns\n", sources[s].name,
               count, ours / (double)count * 1e9, theirs / (double)count * 1e9);
        fflush(stdout);
    }
    printf("%zu of the texts differ\n", wrong);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
