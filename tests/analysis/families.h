/* SPDX-License-Identifier: MIT */
/* Families of attention matrices whose ranks are hard to count. */
#ifndef MGK_TESTS_ANALYSIS_FAMILIES_H
#define MGK_TESTS_ANALYSIS_FAMILIES_H

#include <stddef.h>
#include <stdint.h>

typedef struct test_family {
    const char *name;
    /* Makes one matrix of the family [n, n], n >= 2; equal seeds make equal matrices. */
    void (*make)(uint64_t seed, size_t n, double *a);
} test_family;

extern const test_family test_families[];
extern const size_t test_family_count;

#endif
