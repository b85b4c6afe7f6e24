/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/unicode.h"

#include <stddef.h>
#include <utf8proc.h>

static utf8proc_category_t category(uint32_t code)
{
    return utf8proc_category((utf8proc_int32_t)code);
}

bool mgk_is_space(uint32_t code)
{
    if (code < 0x80)
        return code == ' ' || (code >= '\t' && code <= '\r');
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool mgk_is_control(uint32_t code)
{
    if (code < 0x80)
        return (code < ' ' && code != '\t' && code != '\n' && code != '\r') || code == 0x7f;
    utf8proc_category_t c = category(code);
    return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CO;
}

bool mgk_is_punctuation(uint32_t code)
{
    if (code < 0x80)
        return (code > ' ' && code < '0') || (code > '9' && code < 'A') ||
               (code > 'Z' && code < 'a') || (code > 'z' && code < 0x7f);
    utf8proc_category_t c = category(code);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

bool mgk_is_nonspacing(uint32_t code)
{
    return code >= 0x300 && category(code) == UTF8PROC_CATEGORY_MN;
}

bool mgk_is_mark(uint32_t code)
{
    utf8proc_category_t c = category(code);
    return c >= UTF8PROC_CATEGORY_MN && c <= UTF8PROC_CATEGORY_ME;
}

bool mgk_is_ideograph(uint32_t code)
{
    /* The sixth block begins at 2B920, not 2B820, as in the tokenizers library. */
    static const uint32_t blocks[][2] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                                         {0x20000, 0x2a6df}, {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf},
                                         {0x2f800, 0x2fa1f}};
    if (code < blocks[0][0])
        return false;
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (code >= blocks[i][0] && code <= blocks[i][1])
            return true;
    return false;
}

bool mgk_is_word(uint32_t code)
{
    utf8proc_category_t c = category(code);
    bool circled = (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f189);
    bool joiner = code == 0x200c || code == 0x200d;
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NL) || c == UTF8PROC_CATEGORY_PC ||
           circled || joiner;
}

int mgk_lower(uint32_t code, uint32_t out[2])
{
    /* The only character with a lower case of two characters: I with a dot above. */
    if (code == 0x130) {
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    out[0] = code < 0x80 ? (code >= 'A' && code <= 'Z' ? code + 0x20 : code)
                         : (uint32_t)utf8proc_tolower((utf8proc_int32_t)code);
    return 1;
}
