/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

mgk_status mgk_base64_encode(mgk_span bytes, mgk_buffer *out)
{
    TRY(mgk_buffer_reserve(out, (bytes.size + 2) / 3 * 4));
    for (size_t i = 0; i < bytes.size; i += 3) {
        const size_t left = bytes.size - i;
        uint32_t bits = 0;
        char four[4];
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < left ? (unsigned char)bytes.data[i + k] : 0u);
        for (size_t k = 0; k < 4; k++)
            four[k] = k <= left ? digits[bits >> (18 - 6 * k) & 63] : '=';
        TRY(mgk_buffer_append(out, four, sizeof(four)));
    }
    return STATUS_OK;
}

/* -1: not a digit of base64. */
static int digit(char letter)
{
    const char *place = letter ? strchr(digits, letter) : NULL;
    return place ? (int)(place - digits) : -1;
}

mgk_status mgk_base64_decode(mgk_span text, mgk_buffer *out)
{
    size_t padding = 0;
    while (padding < 2 && text.size > padding && text.data[text.size - 1 - padding] == '=')
        padding++;
    if (text.size % 4 != 0)
        return mgk_fail(STATUS_FORMAT, "not base64");
    TRY(mgk_buffer_reserve(out, text.size / 4 * 3 + 1));
    uint32_t bits = 0;
    for (size_t i = 0; i < text.size; i++) {
        int value = i < text.size - padding ? digit(text.data[i]) : 0;
        if (value < 0)
            return mgk_fail(STATUS_FORMAT, "not base64");
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 3)
            continue;
        const unsigned char three[] = {(unsigned char)(bits >> 16), (unsigned char)(bits >> 8),
                                       (unsigned char)bits};
        TRY(mgk_buffer_append(out, three, sizeof(three)));
    }
    out->size -= padding;
    return STATUS_OK;
}
