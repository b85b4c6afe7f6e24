/* SPDX-License-Identifier: MIT */
/* Matrices with known ranks that are hard to count: blocks whose singular values follow from their
 * entries, scattered over the matrix by permutations. */
#ifndef MGK_TESTS_ANALYSIS_TRAPS_H
#define MGK_TESTS_ANALYSIS_TRAPS_H

#include <stddef.h>
#include <stdint.h>

typedef struct test_trap {
    const char *name;
    /* Makes a [n, n], n >= 128, and returns its number of singular values >= tau. None is closer to
     * tau than 1e-9 tau. */
    size_t (*make)(uint64_t seed, size_t n, double tau, double *a);
} test_trap;

extern const test_trap test_traps[];
extern const size_t test_trap_count;

#endif
