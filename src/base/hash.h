/*
 * Hashes. FNV-1a (Fowler, Noll, Vo) tells different bytes apart, not those made to look alike, and
 * is the same everywhere. For tables of what others wrote there is a hash with a secret seed: it
 * decides how fast they are and nothing else.
 */
#ifndef MGK_BASE_HASH_H
#define MGK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of no bytes, to begin with. */
#define MGK_HASH_START ((uint64_t)0xCBF29CE484222325)

/* The hash of what `hash` stands for, followed by `size` bytes (NULL when 0). */
static inline uint64_t mgk_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * 0x100000001B3;
    return hash;
}

/* A permutation of 64 bits in which each depends on all (the finaliser of Steele et al. 2014). */
static inline uint64_t mgk_mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
    return bits ^ bits >> 31;
}

/* The seeded hash: of the seed, or of what `hash` stands for, followed by `size` bytes. */
static inline uint64_t mgk_hash_seeded(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = mgk_mix(hash ^ byte[i]);
    return hash;
}

/* A seed that nobody can tell beforehand, never 0. */
uint64_t mgk_hash_seed(void);

#endif
