/*
 * The alphabet in which byte-level vocabularies are written (Radford et al. 2019): each byte is a
 * character that can be seen. Printable ones of Latin-1 stand for themselves, the others
 * are U+0100, U+0101, ... in their order; so a space is U+0120.
 */
#ifndef MGK_DATA_BYTE_ALPHABET_H
#define MGK_DATA_BYTE_ALPHABET_H

#include <stdint.h>

#include "data/buffer.h"
#include "data/datasets/lines.h"

/* The character of a byte. */
uint32_t mgk_byte_character(unsigned char byte);

/* The byte of a character, -1 where it is none of the alphabet. */
int mgk_character_byte(uint32_t code);

/* Writes bytes in the alphabet into *out, as UTF-8; what was there is gone. */
mgk_status mgk_spell_bytes(mgk_span bytes, mgk_buffer *out);

#endif
