/* FNV-1a (Fowler, Noll, Vo): tells different bytes apart, not those made to look alike. */
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

#endif
