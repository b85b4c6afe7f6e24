/* SPDX-License-Identifier: MIT */
/* NumPy's numpy.random.permutation after numpy.random.seed, for what published code drew with it.
 */
#ifndef MGK_BASE_NUMPY_RANDOM_H
#define MGK_BASE_NUMPY_RANDOM_H

#include "base/twister.h"

/* Permutes `count` numbers as numpy.random.permutation and numpy.random.shuffle do. */
void mgk_numpy_shuffle(mgk_twister *random, int32_t *numbers, int count);

#endif
