/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/normalize.h"

#include "base/utf8.h"
#include "data/tokenizers/normal_form.h"
#include "data/tokenizers/unicode.h"

mgk_status mgk_normalizer_add(mgk_normalizer *normalizer, mgk_normal_step step)
{
    if (normalizer->count == MGK_NORMAL_STEPS)
        return mgk_fail(STATUS_UNSUPPORTED, "normalizer of more than %d steps", MGK_NORMAL_STEPS);
    normalizer->steps[normalizer->count++] = step;
    return STATUS_OK;
}

/* Maps a character to up to 3 others; returns their number. */
static int map_character(mgk_normal_step step, uint32_t code, uint32_t out[3])
{
    out[0] = code;
    switch (step) {
    case MGK_NORMAL_CLEAN:
        if (mgk_is_space(code) && !mgk_is_control(code))
            out[0] = ' ';
        return code != 0 && code != MGK_UTF8_REPLACEMENT && !mgk_is_control(code);
    case MGK_NORMAL_SPACE_IDEOGRAPHS:
        if (!mgk_is_ideograph(code))
            return 1;
        out[0] = out[2] = ' ';
        out[1] = code;
        return 3;
    case MGK_NORMAL_STRIP_NONSPACING:
        return !mgk_is_nonspacing(code);
    case MGK_NORMAL_STRIP_MARKS:
        return !mgk_is_mark(code);
    case MGK_NORMAL_LOWER:
        return mgk_lower(code, out);
    default:
        return 1;
    }
}

/* Applies one step character by character; no character grows to more than twice its bytes. */
static mgk_status map_text(mgk_normal_step step, mgk_span text, mgk_buffer *out)
{
    out->size = 0;
    TRY(mgk_buffer_reserve(out, 2 * text.size));
    char *end = (char *)out->data;
    for (size_t at = 0; at < text.size;) {
        uint32_t code, mapped[3];
        at += mgk_utf8_read(text.data + at, text.size - at, &code);
        int count = map_character(step, code, mapped);
        for (int i = 0; i < count; i++)
            end += mgk_utf8_write(mapped[i], end);
    }
    out->size = (size_t)(end - (char *)out->data);
    return STATUS_OK;
}

mgk_status mgk_normalize(const mgk_normalizer *normalizer, mgk_normal_scratch *scratch,
                         mgk_span text, mgk_span *out)
{
    for (size_t i = 0; i < normalizer->count && text.size > 0; i++) {
        mgk_buffer *next = &scratch->text[i % 2];
        mgk_normal_step step = normalizer->steps[i];
        if (step >= MGK_NORMAL_NFD)
            TRY(mgk_normal_form(step, text, &scratch->points, next));
        else
            TRY(map_text(step, text, next));
        text = (mgk_span){(const char *)next->data, next->size};
    }
    *out = text;
    return STATUS_OK;
}

void mgk_normal_scratch_free(mgk_normal_scratch *scratch)
{
    mgk_buffer_free(&scratch->text[0]);
    mgk_buffer_free(&scratch->text[1]);
    mgk_buffer_free(&scratch->points);
}
