/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/normalize.h"

#include <string.h>

#include "base/utf8.h"
#include "data/tokenizers/normal_form.h"
#include "data/tokenizers/replace.h"
#include "data/tokenizers/unicode.h"

static void free_step(mgk_normal_step *step)
{
    mgk_pattern_free(step->pattern);
    mgk_buffer_free(&step->content);
    mgk_charsmap_free(&step->charsmap);
}

mgk_status mgk_normalizer_add_step(mgk_normalizer *normalizer, mgk_normal_step step)
{
    if (normalizer->count == MGK_NORMAL_STEPS) {
        free_step(&step);
        return mgk_fail(STATUS_UNSUPPORTED, "normalizer of more than %d steps", MGK_NORMAL_STEPS);
    }
    normalizer->steps[normalizer->count++] = step;
    return STATUS_OK;
}

mgk_status mgk_normalizer_add(mgk_normalizer *normalizer, mgk_normal_kind kind)
{
    return mgk_normalizer_add_step(
        normalizer, (mgk_normal_step){.kind = kind, .keeps_cuts = kind != MGK_NORMAL_STRIP_LEFT});
}

mgk_status mgk_normalizer_add_prepend(mgk_normalizer *normalizer, mgk_span content)
{
    mgk_normal_step step = {.kind = MGK_NORMAL_PREPEND};
    TRY(mgk_buffer_append(&step.content, content.data, content.size));
    return mgk_normalizer_add_step(normalizer, step);
}

/* Expressions of real tokenizers whose matches begin at a space or do not reach over one. */
static bool begins_at_space(mgk_span pattern)
{
    static const char *const known[] = {" {2,}", "\\s+", "\\s{2,}|[\\n\\r\\t]"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (mgk_span_equals(pattern, known[i]))
            return true;
    return false;
}

static bool ends_printable(mgk_span text)
{
    return text.size > 0 && text.data[text.size - 1] > ' ' && text.data[text.size - 1] <= '~';
}

mgk_status mgk_normalizer_add_replace(mgk_normalizer *normalizer, mgk_span pattern, bool literal,
                                      mgk_span content)
{
    mgk_normal_step step = {.kind = MGK_NORMAL_REPLACE};
    bool space = mgk_span_equals(pattern, " ");
    bool spaces = literal ? memchr(pattern.data, ' ', pattern.size) != NULL : true;
    step.for_spaces = spaces && !mgk_span_equals(content, " ");
    step.all_spaces =
        literal && space && content.size > 0 && !memchr(content.data, ' ', content.size);
    /* A cut is before a space that follows a printable character, which has to stay one. */
    step.keeps_cuts = !spaces   ? !ends_printable(pattern) || ends_printable(content)
                      : literal ? space
                                : begins_at_space(pattern);
    TRY(mgk_buffer_append(&step.content, content.data, content.size));
    mgk_status status = mgk_pattern_compile(pattern, literal, &step.pattern);
    if (status == STATUS_OK)
        return mgk_normalizer_add_step(normalizer, step);
    free_step(&step);
    return status;
}

mgk_status mgk_normalizer_add_charsmap(mgk_normalizer *normalizer, mgk_charsmap map)
{
    return mgk_normalizer_add_step(
        normalizer, (mgk_normal_step){.kind = MGK_NORMAL_CHARSMAP,
                                      .charsmap = map,
                                      .keeps_cuts = !mgk_charsmap_begins(&map, ' ')});
}

void mgk_normalizer_free(mgk_normalizer *normalizer)
{
    for (size_t i = 0; i < normalizer->count; i++)
        free_step(&normalizer->steps[i]);
    normalizer->count = 0;
}

static mgk_span content_of(const mgk_normal_step *step)
{
    return (mgk_span){(const char *)step->content.data, step->content.size};
}

mgk_span mgk_normalizer_sign(const mgk_normalizer *normalizer)
{
    if (normalizer->count == 0 || !normalizer->steps[normalizer->count - 1].all_spaces)
        return (mgk_span){0};
    return content_of(&normalizer->steps[normalizer->count - 1]);
}

bool mgk_normalizer_keeps_cuts(const mgk_normalizer *normalizer, mgk_span sign)
{
    for (size_t i = 0; i < normalizer->count; i++) {
        const mgk_normal_step *step = &normalizer->steps[i];
        mgk_span content = content_of(step);
        bool other = content.size != sign.size ||
                     (sign.size > 0 && memcmp(content.data, sign.data, sign.size) != 0);
        if (!step->keeps_cuts || (step->for_spaces && other))
            return false;
    }
    return true;
}

/* Maps a character to up to 3 others; returns their number. */
static int map_character(mgk_normal_kind kind, uint32_t code, uint32_t out[3])
{
    out[0] = code;
    switch (kind) {
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
static mgk_status map_text(mgk_normal_kind kind, mgk_normal_scratch *scratch, mgk_span text,
                           mgk_buffer *out)
{
    TRY(mgk_buffer_reserve(out, 2 * text.size));
    char *end = (char *)out->data;
    for (size_t at = 0; at < text.size;) {
        uint32_t code, mapped[3];
        bool first = at == 0;
        at += mgk_utf8_read(text.data + at, text.size - at, &code);
        int count = map_character(kind, code, mapped);
        scratch->keeps_start = scratch->keeps_start && (!first || count > 0);
        for (int i = 0; i < count; i++)
            end += mgk_utf8_write(mapped[i], end);
    }
    out->size = (size_t)(end - (char *)out->data);
    return STATUS_OK;
}

static mgk_span strip_left(mgk_span text)
{
    uint32_t code;
    while (text.size > 0) {
        size_t size = mgk_utf8_read(text.data, text.size, &code);
        if (!mgk_is_space(code))
            break;
        text = (mgk_span){text.data + size, text.size - size};
    }
    return text;
}

static mgk_span strip_right(mgk_span text)
{
    uint32_t code;
    for (size_t size = text.size; size > 0; text.size = size) {
        size--;
        while (size > 0 && ((unsigned char)text.data[size] & 0xc0) == 0x80)
            size--;
        mgk_utf8_read(text.data + size, text.size - size, &code);
        if (!mgk_is_space(code))
            break;
    }
    return text;
}

static mgk_status prepend(const mgk_normal_step *step, mgk_span text, mgk_buffer *out)
{
    TRY(mgk_buffer_append(out, step->content.data, step->content.size));
    return mgk_buffer_append(out, text.data, text.size);
}

static mgk_status apply(const mgk_normal_step *step, mgk_normal_scratch *scratch, mgk_span *text,
                        mgk_buffer *next)
{
    const char *start = text->data;
    next->size = 0;
    switch (step->kind) {
    case MGK_NORMAL_STRIP_LEFT:
        *text = strip_left(*text);
        scratch->keeps_start = scratch->keeps_start && text->data == start;
        return STATUS_OK;
    case MGK_NORMAL_STRIP_RIGHT:
        *text = strip_right(*text);
        return STATUS_OK;
    case MGK_NORMAL_PREPEND:
        TRY(prepend(step, *text, next));
        break;
    case MGK_NORMAL_REPLACE:
        TRY(mgk_replace_matches(step, scratch, *text, next));
        break;
    case MGK_NORMAL_CHARSMAP:
        TRY(mgk_replace_characters(&step->charsmap, scratch, *text, next));
        break;
    case MGK_NORMAL_PIECES:
        TRY(mgk_replace_for_pieces(step, scratch, *text, next));
        break;
    case MGK_NORMAL_NFD:
    case MGK_NORMAL_NFC:
    case MGK_NORMAL_NFKD:
    case MGK_NORMAL_NFKC:
        TRY(mgk_normal_form(step->kind, *text, &scratch->points, next));
        break;
    default:
        TRY(map_text(step->kind, scratch, *text, next));
    }
    *text = (mgk_span){(const char *)next->data, next->size};
    return STATUS_OK;
}

mgk_status mgk_normal_room(const mgk_normal_scratch *scratch, size_t size)
{
    if (size <= scratch->most)
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED, "the normalizer makes a text many times as long");
}

mgk_status mgk_normalize(const mgk_normalizer *normalizer, mgk_normal_scratch *scratch,
                         mgk_span text, mgk_span *out)
{
    enum { MOST_GROWTH = 64, LEAST_ROOM = 1 << 12 };
    /* Replacements of real tokenizers make no text longer than 18 times (U+FDFA in NFKC). */
    scratch->most = text.size < LEAST_ROOM ? MOST_GROWTH * LEAST_ROOM : MOST_GROWTH * text.size;
    scratch->keeps_start = true;
    size_t turn = 0; /* the buffer that the text is not in */
    for (size_t i = 0; i < normalizer->count && text.size > 0; i++) {
        TRY(apply(&normalizer->steps[i], scratch, &text, &scratch->text[turn]));
        turn ^= text.data == (const char *)scratch->text[turn].data;
        TRY(mgk_normal_room(scratch, text.size));
    }
    *out = text;
    return STATUS_OK;
}

void mgk_normal_scratch_free(mgk_normal_scratch *scratch)
{
    mgk_buffer_free(&scratch->text[0]);
    mgk_buffer_free(&scratch->text[1]);
    mgk_buffer_free(&scratch->points);
    mgk_matcher_free(scratch->matcher);
    *scratch = (mgk_normal_scratch){0};
}
