/* SPDX-License-Identifier: MIT */
#include "tools/args_row.h"
#include "base/append.h"

#include <inttypes.h>
#include <string.h>

const mgk_arg mgk_args_everywhere[MGK_ARGS_EVERYWHERE] = {
    {MGK_ARG_FLAG, 'h', "help", NULL, NULL,
     "Print the options that one needs first and exit; --help all prints all of them.", NULL},
    {MGK_ARG_FLAG, 0, "version", NULL, NULL, "Print the version and exit.", NULL},
};

/* Finds word number `index` in "a|b|c" or "a,b,c", and its length. */
static const char *word_at(const char *words, unsigned index, int *length)
{
    for (; index > 0; index--)
        words += strcspn(words, "|,") + 1;
    *length = (int)strcspn(words, "|,");
    return words;
}

/* Lists the words of a bit set, separated by commas. */
static void list_words(const char *words, unsigned bits, char text[MGK_ARG_TEXT_SIZE])
{
    int length;
    text[0] = '\0';
    for (unsigned i = 0; bits >> i; i++) {
        if (!(bits >> i & 1))
            continue;
        const char *word = word_at(words, i, &length);
        mgk_append(text, MGK_ARG_TEXT_SIZE, "%s%.*s", *text ? "," : "", length, word);
    }
}

void mgk_arg_default_text(const mgk_arg *arg, char text[MGK_ARG_TEXT_SIZE])
{
    const void *value = arg->value;
    const char *word = NULL;
    int length;
    text[0] = '\0';
    switch (arg->type) {
    case MGK_ARG_INT:
        if (*(const int *)value != 0)
            snprintf(text, MGK_ARG_TEXT_SIZE, "%d", *(const int *)value);
        break;
    case MGK_ARG_INT64:
        if (*(const int64_t *)value != 0)
            snprintf(text, MGK_ARG_TEXT_SIZE, "%" PRId64, *(const int64_t *)value);
        break;
    case MGK_ARG_UINT64:
        if (*(const uint64_t *)value != 0)
            snprintf(text, MGK_ARG_TEXT_SIZE, "%" PRIu64, *(const uint64_t *)value);
        break;
    case MGK_ARG_REAL:
        if (*(const double *)value != 0.0)
            snprintf(text, MGK_ARG_TEXT_SIZE, "%g", *(const double *)value);
        break;
    case MGK_ARG_TEXT:
    case MGK_ARG_FILE:
    case MGK_ARG_WORD:
        if (*(const char *const *)value)
            snprintf(text, MGK_ARG_TEXT_SIZE, "%s", *(const char *const *)value);
        break;
    case MGK_ARG_CHOICE:
        word = word_at(arg->operand, *(const unsigned *)value, &length);
        snprintf(text, MGK_ARG_TEXT_SIZE, "%.*s", length, word);
        break;
    case MGK_ARG_CHOICES:
        list_words(arg->operand, *(const unsigned *)value, text);
        break;
    case MGK_ARG_FLAG:
    case MGK_ARG_COUNT:
    case MGK_ARG_AMOUNT:
    case MGK_ARG_LIST:
    case MGK_ARG_FILES:
    case MGK_ARG_HEADING:
        break;
    }
}
