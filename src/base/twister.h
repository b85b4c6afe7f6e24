/* SPDX-License-Identifier: MIT */
/* The generator MT19937 (Matsumoto and Nishimura 1998), with which NumPy and torch draw. */
#ifndef MGK_BASE_TWISTER_H
#define MGK_BASE_TWISTER_H

#include <stdint.h>

enum { MGK_TWISTER_WORDS = 624 };

typedef struct mgk_twister {
    uint32_t words[MGK_TWISTER_WORDS];
    int used; /* of the words */
} mgk_twister;

void mgk_twister_seed(mgk_twister *twister, uint32_t seed);

/* The next 32 bits. */
uint32_t mgk_twister_draw(mgk_twister *twister);

#endif
