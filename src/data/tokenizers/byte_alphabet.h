/* SPDX-License-Identifier: MIT */
/*
 * The alphabet of byte-level vocabularies (Radford et al. 2019): a visible character for each byte.
 * Printable bytes of Latin-1 stand for themselves, the others for U+0100, U+0101, ... in order; so
 * a space is U+0120.
 */
#ifndef MGK_DATA_BYTE_ALPHABET_H
#define MGK_DATA_BYTE_ALPHABET_H

#include <stdint.h>

#include "data/buffer.h"
#include "data/datasets/lines.h"

/* The character of a byte. */
uint32_t mgk_byte_character(unsigned char byte);

/* The byte of a character; -1: not in the alphabet. */
int mgk_character_byte(uint32_t code);

/* Writes bytes in the alphabet into *out, as UTF-8, and replaces its content. */
mgk_status mgk_spell_bytes(mgk_span bytes, mgk_buffer *out);

#endif
