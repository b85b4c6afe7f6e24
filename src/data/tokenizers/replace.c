/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/replace.h"

#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"

static mgk_status append(const mgk_normal_scratch *scratch, mgk_span more, mgk_buffer *out)
{
    TRY(mgk_normal_room(scratch, out->size + more.size));
    return mgk_buffer_append(out, more.data, more.size);
}

/* Whether the first `size` bytes are one character; more of them, replaced, count as removed. */
static bool is_one(mgk_span text, size_t size)
{
    uint32_t code;
    return mgk_utf8_read(text.data, text.size, &code) == size;
}

mgk_status mgk_replace_matches(const mgk_normal_step *step, mgk_normal_scratch *scratch,
                               mgk_span text, mgk_buffer *out)
{
    mgk_span content = {(const char *)step->content.data, step->content.size};
    mgk_matches matches = {.pattern = step->pattern, .text = text};
    mgk_match match;
    size_t done = 0;
    if (!scratch->matcher)
        TRY(mgk_matcher_create(&scratch->matcher));
    for (;;) {
        TRY(mgk_matches_next(&matches, scratch->matcher, &match));
        if (!match.found)
            break;
        /* What the tokenizers library makes of these is no rule that we know. */
        if (match.start == match.end)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "the normalizer's regular expression matches between characters");
        TRY(append(scratch, (mgk_span){text.data + done, match.start - done}, out));
        TRY(append(scratch, content, out));
        done = match.end;
        if (match.start == 0)
            scratch->keeps_start =
                scratch->keeps_start && content.size > 0 && is_one(text, match.end);
    }
    return append(scratch, (mgk_span){text.data + done, text.size - done}, out);
}

/* The size of the extended grapheme cluster at the start of the text. */
static size_t cluster_size(mgk_span text)
{
    utf8proc_int32_t state = 0;
    uint32_t code, next;
    size_t size = mgk_utf8_read(text.data, text.size, &code);
    while (size < text.size) {
        unsigned char byte = (unsigned char)text.data[size];
        if (code < 0x80 && byte < 0x80 && code != '\r')
            break;
        size_t more = mgk_utf8_read(text.data + size, text.size - size, &next);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)code, (utf8proc_int32_t)next,
                                             &state))
            break;
        size += more;
        code = next;
    }
    return size;
}

mgk_status mgk_replace_characters(const mgk_charsmap *map, const mgk_normal_scratch *scratch,
                                  mgk_span text, mgk_buffer *out)
{
    enum { LONG = 6 /* bytes of a cluster whose characters are replaced one by one */ };
    for (size_t at = 0; at < text.size;) {
        mgk_span cluster = {text.data + at,
                            cluster_size((mgk_span){text.data + at, text.size - at})};
        mgk_span replacement;
        at += cluster.size;
        if (cluster.size < LONG && mgk_charsmap_find(map, cluster, false, &replacement) > 0) {
            TRY(append(scratch, replacement, out));
            continue;
        }
        for (size_t done = 0, size; done < cluster.size; done += size) {
            uint32_t code;
            size = mgk_utf8_read(cluster.data + done, cluster.size - done, &code);
            mgk_span character = {cluster.data + done, size};
            if (mgk_charsmap_find(map, character, false, &replacement) == 0)
                replacement = character;
            TRY(append(scratch, replacement, out));
        }
    }
    return STATUS_OK;
}

/* The next part of a text and its replacement. */
static size_t next_part(const mgk_charsmap *map, mgk_span text, mgk_span *part)
{
    uint32_t code;
    size_t size = mgk_charsmap_find(map, text, true, part);
    if (size > 0)
        return size;
    size = mgk_utf8_read(text.data, text.size, &code);
    *part = (mgk_span){text.data, size};
    return size;
}

static mgk_span rest_of(mgk_span text, size_t size)
{
    return (mgk_span){text.data + size, text.size - size};
}

/* Appends a part with the sign for each space. */
static mgk_status append_signs(const mgk_normal_scratch *scratch, mgk_span part, mgk_span space,
                               mgk_buffer *out)
{
    for (size_t i = 0; i < part.size; i++) {
        mgk_span byte = {part.data + i, 1};
        TRY(append(scratch, part.data[i] == ' ' ? space : byte, out));
    }
    return STATUS_OK;
}

mgk_status mgk_replace_for_pieces(const mgk_normal_step *step, const mgk_normal_scratch *scratch,
                                  mgk_span text, mgk_buffer *out)
{
    const mgk_span space = {(const char *)step->content.data, step->content.size};
    bool after_space = step->remove_spaces;
    mgk_span part;
    while (step->remove_spaces && text.size > 0) {
        size_t size = next_part(&step->charsmap, text, &part);
        if (!mgk_span_equals(part, " "))
            break;
        text = rest_of(text, size);
    }
    if (text.size == 0)
        return STATUS_OK;
    if (step->dummy_prefix)
        TRY(append(scratch, space, out));
    while (text.size > 0) {
        text = rest_of(text, next_part(&step->charsmap, text, &part));
        while (after_space && part.size > 0 && part.data[0] == ' ')
            part = rest_of(part, 1);
        TRY(append_signs(scratch, part, space, out));
        if (part.size > 0)
            after_space = step->remove_spaces && part.data[part.size - 1] == ' ';
    }
    while (step->remove_spaces && out->size >= space.size &&
           memcmp(out->data + out->size - space.size, space.data, space.size) == 0)
        out->size -= space.size;
    return STATUS_OK;
}
