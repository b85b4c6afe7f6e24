/* SPDX-License-Identifier: MIT */
#include "table/names.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { FIRST_SLOTS = 64, MOST_NAMES = 1 << 30 };

/* The slot of a text [length], or the free one where it belongs. */
static int32_t *find_slot(const mgk_names *names, const char *text, size_t length)
{
    size_t slot = (size_t)mgk_hash_seeded(names->seed, text, length);
    for (;; slot++) {
        int32_t *found = &names->slots[slot & (names->slot_count - 1)];
        if (*found == 0 || strcmp(names->texts[*found - 1], text) == 0)
            return found;
    }
}

static mgk_status grow_slots(mgk_names *names)
{
    const size_t count = names->slot_count ? 2 * names->slot_count : FIRST_SLOTS;
    int32_t *slots;
    TRY(mgk_alloc(count, sizeof(*slots), &slots));
    mgk_free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    if (!names->seed)
        names->seed = mgk_hash_seed();
    for (size_t i = 0; i < names->count; i++)
        *find_slot(names, names->texts[i], strlen(names->texts[i])) = (int32_t)i + 1;
    return STATUS_OK;
}

mgk_status mgk_names_put(mgk_names *names, const char *text, int32_t *index)
{
    const size_t length = strlen(text);
    if (2 * (names->count + 1) > names->slot_count)
        TRY(grow_slots(names));
    int32_t *slot = find_slot(names, text, length);
    if (*slot == 0) {
        if (mgk_utf8_valid(text, length) != length)
            return mgk_fail(STATUS_FORMAT, "a text that is not UTF-8");
        if (names->count == MOST_NAMES)
            return mgk_fail(STATUS_FORMAT, "more than %d texts", MOST_NAMES);
        TRY(mgk_grow(names->count, sizeof(*names->texts), &names->room, &names->texts));
        TRY(mgk_arena_text(&names->arena, text, length, &names->texts[names->count]));
        *slot = (int32_t)++names->count;
    }
    *index = *slot - 1;
    return STATUS_OK;
}

void mgk_names_free(mgk_names *names)
{
    mgk_free(names->texts);
    mgk_free(names->slots);
    mgk_arena_free(&names->arena);
    *names = (mgk_names){0};
}
