/* SPDX-License-Identifier: MIT */
/*
 * Hashes. FNV-1a (Fowler, Noll, Vo) distinguishes different bytes, except bytes constructed to
 * collide, and is the same on all machines. Tables of untrusted data use a hash with a secret seed;
 * the seed affects only their speed.
 */
#ifndef MGK_BASE_HASH_H
#define MGK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of no bytes, the start value. */
#define MGK_HASH_START ((uint64_t)0xCBF29CE484222325)

/* Extends a hash by `size` bytes (NULL when 0). */
static inline uint64_t mgk_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * 0x100000001B3;
    return hash;
}

/*
 * A permutation of 64 bits where each bit depends on all bits (the finaliser of Steele et al.
 * 2014).
 */
static inline uint64_t mgk_mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
    return bits ^ bits >> 31;
}

/* Extends a seeded hash, at first the seed, by `size` bytes. */
static inline uint64_t mgk_hash_seeded(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = mgk_mix(hash ^ byte[i]);
    return hash;
}

/* An unpredictable seed, never 0. */
uint64_t mgk_hash_seed(void);

#endif
