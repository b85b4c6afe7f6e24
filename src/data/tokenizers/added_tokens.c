/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/added_tokens.h"

#include <string.h>

#include "base/utf8.h"
#include "data/tokenizers/unicode.h"

/* Nodes are named by their position, counted from 1; 0: none. */
typedef struct node {
    uint32_t child, sibling;
    uint32_t token;
    unsigned char byte;
} node;

static node *node_at(const mgk_added_tokens *set, uint32_t place)
{
    return (node *)(void *)set->nodes.data + (place - 1);
}

static uint32_t child_of(const mgk_added_tokens *set, uint32_t parent, unsigned char byte)
{
    uint32_t place = parent ? node_at(set, parent)->child : set->first[byte];
    while (parent && place && node_at(set, place)->byte != byte)
        place = node_at(set, place)->sibling;
    return place;
}

static mgk_status add_child(mgk_added_tokens *set, uint32_t parent, unsigned char byte,
                            uint32_t *place)
{
    node fresh = {.byte = byte};
    if (parent)
        fresh.sibling = node_at(set, parent)->child;
    TRY(mgk_buffer_append(&set->nodes, &fresh, sizeof(fresh)));
    *place = (uint32_t)(set->nodes.size / sizeof(fresh));
    if (parent)
        node_at(set, parent)->child = *place;
    else
        set->first[byte] = *place;
    return STATUS_OK;
}

mgk_status mgk_added_tokens_add(mgk_added_tokens *set, mgk_span content, mgk_added_token token)
{
    uint32_t place = 0;
    char quoted[MGK_QUOTE_SIZE];
    if (content.size == 0)
        return STATUS_OK;
    if (content.size > MGK_ADDED_TOKEN_MOST)
        return mgk_fail(STATUS_FORMAT, "added token \"%s...\": %zu bytes are more than %d",
                        mgk_quote(content, quoted), content.size, MGK_ADDED_TOKEN_MOST);
    for (size_t i = 0; i < content.size; i++) {
        unsigned char byte = (unsigned char)content.data[i];
        uint32_t child = child_of(set, place, byte);
        if (!child)
            TRY(add_child(set, place, byte, &child));
        place = child;
    }
    set->takes_space |= token.right || memchr(content.data, ' ', content.size);
    TRY(mgk_buffer_append(&set->tokens, &token, sizeof(token)));
    node_at(set, place)->token = (uint32_t)(set->tokens.size / sizeof(token));
    return STATUS_OK;
}

void mgk_added_tokens_free(mgk_added_tokens *set)
{
    mgk_buffer_free(&set->tokens);
    mgk_buffer_free(&set->nodes);
}

/* Finds the longest token at the start of the text, counted from 1; 0: none. */
static uint32_t longest(const mgk_added_tokens *set, mgk_span text, size_t *size)
{
    uint32_t place = 0, token = 0;
    for (size_t i = 0; i < text.size; i++) {
        place = child_of(set, place, (unsigned char)text.data[i]);
        if (!place)
            break;
        if (node_at(set, place)->token) {
            token = node_at(set, place)->token;
            *size = i + 1;
        }
    }
    return token;
}

static bool word_begins(mgk_span text, size_t at)
{
    uint32_t code;
    if (at == text.size)
        return false;
    mgk_utf8_read(text.data + at, text.size - at, &code);
    return mgk_is_word(code);
}

/* Reads the character that ends before `at` > 0; returns its start. */
static size_t character_before(mgk_span text, size_t at, uint32_t *code)
{
    size_t start = at - 1;
    while (start > 0 && ((unsigned char)text.data[start] & 0xc0) == 0x80)
        start--;
    mgk_utf8_read(text.data + start, at - start, code);
    return start;
}

static bool word_ends(mgk_span text, size_t at)
{
    uint32_t code;
    if (at == 0)
        return false;
    character_before(text, at, &code);
    return mgk_is_word(code);
}

/* Extends the match by the white space around it that no earlier match includes. */
static void take_space(mgk_span text, size_t done, mgk_added_token token, mgk_added_match *match)
{
    uint32_t code;
    while (token.left && match->start > done) {
        size_t start = character_before(text, match->start, &code);
        if (!mgk_is_space(code))
            break;
        match->start = start;
    }
    while (token.right && match->end < text.size) {
        size_t size = mgk_utf8_read(text.data + match->end, text.size - match->end, &code);
        if (!mgk_is_space(code))
            break;
        match->end += size;
    }
}

bool mgk_added_tokens_next(const mgk_added_tokens *set, mgk_span text, mgk_added_search *search,
                           mgk_added_match *match)
{
    if (set->tokens.size == 0)
        return false;
    for (size_t at = search->next; at < text.size; at++) {
        if (!set->first[(unsigned char)text.data[at]])
            continue;
        size_t size = 0;
        uint32_t place = longest(set, (mgk_span){text.data + at, text.size - at}, &size);
        if (!place)
            continue;
        mgk_added_token token = ((mgk_added_token *)(void *)set->tokens.data)[place - 1];
        search->next = at + size;
        if (token.single_word && (word_ends(text, at) || word_begins(text, at + size))) {
            at += size - 1;
            continue;
        }
        *match = (mgk_added_match){at, at + size, token.id};
        take_space(text, search->done, token, match);
        search->done = match->end;
        return true;
    }
    return false;
}
