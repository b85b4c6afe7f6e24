/* SPDX-License-Identifier: MIT */
#include "data/datasets/listops.h"

#include <stdbool.h>

enum { DIGITS = 10, MAX_LEVELS = 256 };

static const char *const operator_text[] = {
    [MGK_LISTOPS_MAX - DIGITS] = "[MAX", [MGK_LISTOPS_MIN - DIGITS] = "[MIN",
    [MGK_LISTOPS_MED - DIGITS] = "[MED", [MGK_LISTOPS_SUM - DIGITS] = "[SM",
    [MGK_LISTOPS_CLOSE - DIGITS] = "]",
};

/* The id of a word, or -1. */
static int id_of(mgk_span word)
{
    if (word.size == 1 && word.data[0] >= '0' && word.data[0] <= '9')
        return word.data[0] - '0';
    for (int id = DIGITS; id < MGK_LISTOPS_VOCABULARY; id++) {
        if (mgk_span_equals(word, operator_text[id - DIGITS]))
            return id;
    }
    return -1;
}

mgk_status mgk_listops_parse(mgk_span text, mgk_buffer *tokens)
{
    mgk_span word;
    while (mgk_next_word(&text, &word)) {
        if (mgk_span_equals(word, "(") || mgk_span_equals(word, ")"))
            continue;
        int id = id_of(word);
        if (id < 0) {
            char quoted[MGK_QUOTE_SIZE];
            return mgk_fail(STATUS_FORMAT, "\"%s\" is not a ListOps token",
                            mgk_quote(word, quoted));
        }
        TRY(mgk_buffer_append(tokens, &(unsigned char){(unsigned char)id}, 1));
    }
    return STATUS_OK;
}

/* An open operator. Arguments are digits, so a count per digit describes them. */
typedef struct level {
    int kind;
    size_t arguments;
    size_t count[DIGITS];
} level;

/* The argument of rank `rank` (from 0) in ascending order. */
static int ranked(const level *open, size_t rank)
{
    int digit = 0;
    for (size_t below = open->count[0]; below <= rank; below += open->count[digit])
        digit++;
    return digit;
}

static int apply(const level *open)
{
    size_t last = open->arguments - 1, sum = 0;
    switch (open->kind) {
    case MGK_LISTOPS_MAX:
        return ranked(open, last);
    case MGK_LISTOPS_MIN:
        return ranked(open, 0);
    case MGK_LISTOPS_MED:
        return (ranked(open, last / 2) + ranked(open, (last + 1) / 2)) / 2;
    default:
        for (size_t digit = 0; digit < DIGITS; digit++)
            sum += digit * (open->count[digit] % DIGITS);
        return (int)(sum % DIGITS);
    }
}

mgk_status mgk_listops_value(const unsigned char *tokens, size_t count, int32_t *value)
{
    level stack[MAX_LEVELS];
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        int result = tokens[i];
        if (result >= MGK_LISTOPS_VOCABULARY)
            return mgk_fail(STATUS_FORMAT, "token id %d is not a ListOps token", result);
        if (result >= DIGITS && result != MGK_LISTOPS_CLOSE) {
            if (depth == MAX_LEVELS)
                return mgk_fail(STATUS_FORMAT, "more than %d levels of brackets", MAX_LEVELS);
            stack[depth++] = (level){.kind = result};
            continue;
        }
        if (result == MGK_LISTOPS_CLOSE) {
            if (depth == 0)
                return mgk_fail(STATUS_FORMAT, "closing bracket without an operator");
            if (stack[--depth].arguments == 0)
                return mgk_fail(STATUS_FORMAT, "operator without arguments");
            result = apply(&stack[depth]);
        }
        if (depth == 0) {
            if (i + 1 < count)
                return mgk_fail(STATUS_FORMAT, "tokens after the end of the expression");
            *value = result;
            return STATUS_OK;
        }
        stack[depth - 1].arguments++;
        stack[depth - 1].count[result]++;
    }
    return mgk_fail(STATUS_FORMAT, count == 0 ? "empty expression" : "unfinished expression");
}

enum { MAX_DEPTH = 10, MIN_ARGUMENTS = 2, MAX_ARGUMENTS = 10, OPERATORS = 4 };

typedef struct drawing {
    mgk_random *random;
    unsigned char *tokens;
    size_t count;
    size_t needed; /* tokens drawn so far plus those that complete the open nodes */
    size_t limit;
} drawing;

/* Returns false if the tree cannot fit. No write leaves the array, because count <= needed <=
 * limit. */
static bool draw_node(drawing *tree, int depth)
{
    enum { COUNTS = MAX_ARGUMENTS - MIN_ARGUMENTS + 1 };
    /* One random number determines a node. The lowest quarter of its range means an operator, and
     * QUARTER is a multiple of each divisor below, so all choices are uniform. */
    enum { QUARTER = DIGITS * OPERATORS * COUNTS };
    uint64_t choice = mgk_random_next_below(tree->random, 4 * QUARTER);
    if (choice >= QUARTER || depth == MAX_DEPTH) {
        tree->tokens[tree->count++] = (unsigned char)(choice % DIGITS);
        return true;
    }
    size_t arguments = MIN_ARGUMENTS + choice % COUNTS;
    tree->needed += arguments + 1;
    if (tree->needed > tree->limit)
        return false;
    tree->tokens[tree->count++] = (unsigned char)(MGK_LISTOPS_MAX + choice / COUNTS % OPERATORS);
    for (size_t i = 0; i < arguments; i++) {
        if (!draw_node(tree, depth + 1))
            return false;
    }
    tree->tokens[tree->count++] = MGK_LISTOPS_CLOSE;
    return true;
}

size_t mgk_listops_draw(mgk_random *random, unsigned char *tokens, size_t limit)
{
    drawing tree = {.random = random, .tokens = tokens, .needed = 1, .limit = limit};
    return limit > 0 && draw_node(&tree, 1) ? tree.count : 0;
}
