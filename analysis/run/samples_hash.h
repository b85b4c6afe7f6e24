/* SPDX-License-Identifier: MIT */
/* Hashes that tell whether two runs have the same samples: tokens, in the same order. */
#ifndef MGK_ANALYSIS_SAMPLES_HASH_H
#define MGK_ANALYSIS_SAMPLES_HASH_H

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

/* The bytes of a hash as text. */
enum { MGK_SAMPLES_HASH_TEXT = 17 };

/* The fact MGK_FACT_TOKENS of tokens [n]. */
static inline double mgk_tokens_hash(const int32_t *tokens, size_t n)
{
    return (double)(mgk_hash(MGK_HASH_START, tokens, n * sizeof(*tokens)) >> 12);
}

/* Extends the hash of samples, at first MGK_HASH_START, by one of so many rows. */
static inline uint64_t mgk_samples_hash(uint64_t hash, double rows, double tokens)
{
    const double sample[2] = {rows, tokens};
    return mgk_hash(hash, sample, sizeof(sample));
}

static inline void mgk_samples_hash_print(uint64_t hash, char out[MGK_SAMPLES_HASH_TEXT])
{
    snprintf(out, MGK_SAMPLES_HASH_TEXT, "%016" PRIx64, hash);
}

#endif
