/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/charsmap.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/base64.h"

enum { MOST_BYTES = 1 << 22 }; /* that of nmt_nfkc has 240 KB */

static const uint32_t *units_of(const mgk_charsmap *map)
{
    return (const uint32_t *)(const void *)map->units.data;
}

static size_t unit_count(const mgk_charsmap *map)
{
    return map->units.size / sizeof(uint32_t);
}

static uint32_t label(uint32_t unit)
{
    return unit & 0x800000ff;
}

static bool ends_text(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t offset(uint32_t unit)
{
    return unit >> 10 << (unit >> 9 & 1 ? 8 : 0);
}

static uint32_t value(uint32_t unit)
{
    return unit & 0x7fffffff;
}

/* The state after a byte; false: no text goes on like this. */
static bool step(const mgk_charsmap *map, uint32_t *state, unsigned char byte, bool *ends)
{
    uint32_t place = *state ^ byte, unit = units_of(map)[place];
    if (label(unit) != byte)
        return false;
    *state = place ^ offset(unit);
    *ends = ends_text(unit);
    return true;
}

static mgk_status malformed(const char *what)
{
    return mgk_fail(STATUS_FORMAT, "precompiled_charsmap: %s", what);
}

/* A text that ends in this state has a replacement, which begins at a character. */
static bool has_replacement(const mgk_charsmap *map, uint32_t state)
{
    uint32_t place = value(units_of(map)[state]);
    return place < map->replacements.size && (map->replacements.data[place] & 0xc0) != 0x80;
}

/* All states that follow this one are added to the list, unless they were seen. */
static mgk_status visit(const mgk_charsmap *map, uint32_t from, unsigned char *seen,
                        mgk_buffer *list)
{
    for (unsigned byte = 1; byte < 256; byte++) {
        uint32_t state = from;
        bool ends;
        if (!step(map, &state, (unsigned char)byte, &ends))
            continue;
        /* A step from a state reads any unit of its block of 256. */
        if ((state | 0xff) >= unit_count(map))
            return malformed("a unit past the end");
        if (ends && !has_replacement(map, state))
            return malformed("a replacement past the end");
        if (seen[state])
            continue;
        seen[state] = 1;
        TRY(mgk_buffer_append(list, &state, sizeof(state)));
    }
    return STATUS_OK;
}

static mgk_status check(const mgk_charsmap *map)
{
    mgk_status status;
    unsigned char *seen;
    mgk_buffer list = {0};
    if ((map->root | 0xff) >= unit_count(map))
        return malformed("too short");
    TRY(mgk_alloc(unit_count(map), 1, &seen));
    seen[map->root] = 1;
    CHECK(mgk_buffer_append(&list, &map->root, sizeof(map->root)));
    while (list.size > 0) {
        uint32_t state;
        list.size -= sizeof(state);
        memcpy(&state, list.data + list.size, sizeof(state));
        CHECK(visit(map, state, seen, &list));
    }
out:
    mgk_buffer_free(&list);
    mgk_free(seen);
    return status;
}

static uint32_t read_little(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

mgk_status mgk_charsmap_read(mgk_span bytes, mgk_charsmap *out)
{
    const unsigned char *byte = (const unsigned char *)bytes.data;
    *out = (mgk_charsmap){0};
    if (bytes.size < 8)
        return malformed("too short");
    if (bytes.size > MOST_BYTES)
        return malformed("larger than any such table");
    size_t size = read_little(byte) / 4 * 4;
    if (size == 0 || size > bytes.size - 4)
        return malformed("the array is longer than the table");
    TRY(mgk_buffer_reserve(&out->units, size));
    for (size_t i = 0; i < size; i += 4) {
        uint32_t unit = read_little(byte + 4 + i);
        TRY(mgk_buffer_append(&out->units, &unit, sizeof(unit)));
    }
    mgk_span rest = {bytes.data + 4 + size, bytes.size - 4 - size};
    if (mgk_utf8_valid(rest.data, rest.size) != rest.size)
        return malformed("replacements that are not UTF-8");
    TRY(mgk_buffer_append(&out->replacements, rest.data, rest.size));
    TRY(mgk_buffer_append(&out->replacements, "", 1));
    out->root = offset(units_of(out)[0]);
    return check(out);
}

mgk_status mgk_charsmap_read_base64(mgk_span text, mgk_charsmap *out)
{
    mgk_buffer bytes = {0};
    *out = (mgk_charsmap){0};
    mgk_status status = mgk_base64_decode(text, &bytes);
    if (status == STATUS_FORMAT)
        status = malformed("not base64");
    if (status == STATUS_OK)
        status = mgk_charsmap_read((mgk_span){(const char *)bytes.data, bytes.size}, out);
    mgk_buffer_free(&bytes);
    return status;
}

size_t mgk_charsmap_find(const mgk_charsmap *map, mgk_span text, bool longest,
                         mgk_span *replacement)
{
    uint32_t state = map->root;
    size_t size = 0;
    if (map->units.size == 0)
        return 0;
    for (size_t i = 0; i < text.size && text.data[i] != '\0'; i++) {
        bool ends;
        if (!step(map, &state, (unsigned char)text.data[i], &ends))
            break;
        if (!ends)
            continue;
        const char *start = (const char *)map->replacements.data + value(units_of(map)[state]);
        *replacement = (mgk_span){start, strlen(start)};
        size = i + 1;
        if (!longest)
            break;
    }
    return size;
}

bool mgk_charsmap_begins(const mgk_charsmap *map, unsigned char byte)
{
    uint32_t state = map->root;
    bool ends;
    return map->units.size > 0 && step(map, &state, byte, &ends);
}

void mgk_charsmap_free(mgk_charsmap *map)
{
    mgk_buffer_free(&map->units);
    mgk_buffer_free(&map->replacements);
    *map = (mgk_charsmap){0};
}
