/* SPDX-License-Identifier: MIT */
/* Prints a table of options for the completion of shells. */
#include <string.h>

#include "tools/args_row.h"

/* The kind of an option's value. */
static const char *const kinds[] = {
    [MGK_ARG_FLAG] = "flag",   [MGK_ARG_INT] = "value",     [MGK_ARG_INT64] = "value",
    [MGK_ARG_COUNT] = "value", [MGK_ARG_UINT64] = "value",  [MGK_ARG_REAL] = "value",
    [MGK_ARG_TEXT] = "value",  [MGK_ARG_FILE] = "file",     [MGK_ARG_WORD] = "word",
    [MGK_ARG_CHOICE] = "word", [MGK_ARG_CHOICES] = "words", [MGK_ARG_LIST] = "value",
    [MGK_ARG_FILES] = "file",  [MGK_ARG_AMOUNT] = "word",
};

/* Prints "auto|cpu|cuda[:N]" with a blank before each word, without the parts in brackets. */
static void print_words(const char *words, FILE *out)
{
    for (;;) {
        fprintf(out, " %.*s", (int)strcspn(words, "|,["), words);
        words += strcspn(words, "|,");
        if (!*words++)
            return;
    }
}

/* The words that the option's value may be; NULL: none. */
static const char *words_of(const mgk_program *program, const mgk_arg *arg)
{
    if (arg->type == MGK_ARG_WORD || arg->type == MGK_ARG_CHOICE || arg->type == MGK_ARG_CHOICES)
        return arg->operand;
    if (arg->type == MGK_ARG_AMOUNT)
        return "all";
    for (int i = 0; i < MGK_ARG_OFFERS && program->offered[i].name; i++)
        if (strcmp(program->offered[i].name, arg->name) == 0)
            return program->offered[i].words;
    return NULL;
}

static void print_line(const mgk_program *program, const mgk_arg *arg, FILE *out)
{
    if (arg->type == MGK_ARG_HEADING)
        return;
    const char *words = words_of(program, arg);
    const char *kind = words && arg->type == MGK_ARG_TEXT ? "words" : kinds[arg->type];
    if (arg->letter)
        fprintf(out, "--%s -%c %s", arg->name, arg->letter, kind);
    else
        fprintf(out, "--%s --%s %s", arg->name, arg->name, kind);
    if (words)
        print_words(words, out);
    fprintf(out, "\n");
}

void mgk_args_completion(const mgk_program *program, FILE *out)
{
    for (size_t i = 0; i < program->count; i++)
        print_line(program, &program->args[i], out);
    for (size_t i = 0; i < MGK_ARGS_EVERYWHERE; i++)
        print_line(program, &mgk_args_everywhere[i], out);
    if (!program->first)
        return;
    fprintf(out, "operand operand word");
    for (const char *const *word = program->first; *word; word++)
        fprintf(out, " %s", *word);
    fprintf(out, "\n");
}
