/* SPDX-License-Identifier: MIT */
/* Tiny models and texts for tests of the public functions. */
#ifndef MGK_TESTS_TINY_H
#define MGK_TESTS_TINY_H

#include "mgk.h"
#include "model/core/config.h"

/* The call succeeds; if not, prints its message. */
#define assert_done(call)                           \
    do {                                            \
        if ((call) != MGK_OK)                       \
            fail_msg("%s: %s", #call, mgk_error()); \
    } while (0)

/* L = 3, H = 4, D = 2, C = 6, F = 5, N = 9, V = 256; M = 2 for mixtures. Bytes in, odd sizes. */
mgk_config tiny_config(mgk_family family, const char *attention);

/* Saves a model of the configuration with random weights of this seed, in float64. */
enum { TINY_SEED = 7 };
void tiny_save(const mgk_config *config, const char *path);

/* Writes `bytes` of letters in articles of 30 bytes, each after a title line. */
void tiny_text(const char *path, int bytes);

#endif
