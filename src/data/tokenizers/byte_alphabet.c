/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/byte_alphabet.h"

#include "base/utf8.h"

/* Bytes 21-7E, A1-AC and AE-FF stand for themselves. The other 68 form three runs. */
enum { FIRST = 0x100, RUN_1 = 0x21, RUN_2 = 0xa1 - 0x7f, OTHERS = 0x44 };

uint32_t mgk_byte_character(unsigned char byte)
{
    if (byte < 0x21)
        return FIRST + (uint32_t)byte;
    if (byte >= 0x7f && byte < 0xa1)
        return FIRST + RUN_1 + (uint32_t)(byte - 0x7f);
    return byte == 0xad ? FIRST + RUN_1 + RUN_2 : byte;
}

int mgk_character_byte(uint32_t code)
{
    if (code >= FIRST + OTHERS)
        return -1;
    if (code >= FIRST + RUN_1 + RUN_2)
        return 0xad;
    if (code >= FIRST + RUN_1)
        return (int)(code - FIRST - RUN_1 + 0x7f);
    if (code >= FIRST)
        return (int)(code - FIRST);
    return mgk_byte_character((unsigned char)code) == code ? (int)code : -1;
}

mgk_status mgk_spell_bytes(mgk_span bytes, mgk_buffer *out)
{
    out->size = 0;
    TRY(mgk_buffer_reserve(out, 2 * bytes.size));
    for (size_t i = 0; i < bytes.size; i++)
        out->size += mgk_utf8_write(mgk_byte_character((unsigned char)bytes.data[i]),
                                    (char *)out->data + out->size);
    return STATUS_OK;
}
