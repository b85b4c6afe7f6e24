/* SPDX-License-Identifier: MIT */
/* The most frequent words. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/tokenizers/learn_private.h"

/* A word on its way into the order. */
typedef struct ranked {
    mgk_span word;
    int64_t count;
    int32_t index;
} ranked;

/* Larger counts come first, then smaller bytes. */
static int compare(const void *first, const void *second)
{
    const ranked *a = first, *b = second;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    const size_t size = a->word.size < b->word.size ? a->word.size : b->word.size;
    const int order = memcmp(a->word.data, b->word.data, size);
    return order != 0 ? order : a->word.size < b->word.size ? -1 : a->word.size > b->word.size;
}

static bool is_among(mgk_span word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mgk_span_equals(word, words[i]))
            return true;
    return false;
}

mgk_status mgk_learn_words(const mgk_pieces *pieces, const char *const *skipped, size_t skip,
                           size_t most, int32_t **out, size_t *count)
{
    const size_t all = mgk_pieces_size(pieces);
    ranked *rows;
    size_t found = 0;
    *out = NULL;
    TRY(mgk_alloc(all, sizeof(*rows), &rows));
    for (size_t i = 0; i < all; i++) {
        const mgk_span word = mgk_counted_text(pieces, i);
        if (word.size <= MGK_LONGEST_LEARNT && !is_among(word, skipped, skip) &&
            !memchr(word.data, '\0', word.size))
            rows[found++] = (ranked){word, mgk_counted_at(pieces, i)->count, (int32_t)i};
    }
    if (found > 0)
        qsort(rows, found, sizeof(*rows), compare);
    *count = found < most ? found : most;
    mgk_status status = mgk_alloc(*count, sizeof(**out), out);
    for (size_t i = 0; status == STATUS_OK && i < *count; i++)
        (*out)[i] = rows[i].index;
    mgk_free(rows);
    return status;
}
