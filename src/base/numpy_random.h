/* SPDX-License-Identifier: MIT */
/*
 * The random numbers of NumPy's numpy.random.seed and numpy.random.permutation: the generator
 * MT19937 (Matsumoto and Nishimura 1998), for what published code drew with it.
 */
#ifndef MGK_BASE_NUMPY_RANDOM_H
#define MGK_BASE_NUMPY_RANDOM_H

#include <stdint.h>

enum { MGK_MT19937_WORDS = 624 };

typedef struct mgk_numpy_random {
    uint32_t words[MGK_MT19937_WORDS];
    int used; /* of the words */
} mgk_numpy_random;

void mgk_numpy_seed(mgk_numpy_random *random, uint32_t seed);

/* Permutes `count` numbers as numpy.random.permutation and numpy.random.shuffle do. */
void mgk_numpy_shuffle(mgk_numpy_random *random, int32_t *numbers, int count);

#endif
