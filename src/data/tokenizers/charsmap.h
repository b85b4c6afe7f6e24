/* SPDX-License-Identifier: MIT */
/*
 * The table by which SentencePiece replaces characters: texts and their replacements, stored as a
 * double array (Aoe 1989) in the layout of darts-clone.
 *
 *   u32            bytes of the array, little-endian
 *   u32 [...]      the array
 *   the rest       the replacements, UTF-8, each ended by a zero byte
 *
 * State s goes on with byte c to unit s ^ c if this unit's label, bits 0-7 and 31, is c; then to
 * state (s ^ c) ^ offset. The offset is in bits 10-30, times 256 if bit 9 is set. Bit 8: a text
 * ends there, and the unit of the new state holds the place of its replacement, in bits 0-30.
 */
#ifndef MGK_DATA_CHARSMAP_H
#define MGK_DATA_CHARSMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "data/buffer.h"
#include "data/datasets/lines.h"

/* A zeroed one replaces nothing. */
typedef struct mgk_charsmap {
    mgk_buffer units;        /* uint32_t */
    mgk_buffer replacements; /* ends with a zero byte */
    uint32_t root;           /* the first state */
} mgk_charsmap;

/* Reads a table, from bytes or from base64, and checks every unit that a text can lead to.
 * STATUS_FORMAT: malformed. Release *out with mgk_charsmap_free, also on failure. */
mgk_status mgk_charsmap_read(mgk_span bytes, mgk_charsmap *out);
mgk_status mgk_charsmap_read_base64(mgk_span text, mgk_charsmap *out);

/* Finds the shortest or the longest text of the table at the start of `text`; returns its size, 0:
 * none. */
size_t mgk_charsmap_find(const mgk_charsmap *map, mgk_span text, bool longest,
                         mgk_span *replacement);

/* Whether a text of the table begins with this byte. */
bool mgk_charsmap_begins(const mgk_charsmap *map, unsigned char byte);

void mgk_charsmap_free(mgk_charsmap *map);

#endif
