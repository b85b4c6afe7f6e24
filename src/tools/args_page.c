/* SPDX-License-Identifier: MIT */
/* Prints a table of options as a man page, in roff. */
#include <string.h>

#include "tools/args_row.h"

/* Breaks lines between words. */
typedef struct page {
    FILE *out;
    size_t column;
    char font; /* 'R', 'B' or 'I' */
} page;

enum { PAGE_WIDTH = 110 };

static void set_font(page *p, char font)
{
    fprintf(p->out, "\\f%c", font);
    p->font = font;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of_option(char c)
{
    return is_letter(c) || c == '-' || (c >= '0' && c <= '9');
}

/* Whether an option "--name" begins at `at`, with no further dash before it. */
static bool begins_option(const char *word, const char *at)
{
    return at[0] == '-' && at[1] == '-' && is_letter(at[2]) &&
           (at == word || (at[-1] != '-' && !is_letter(at[-1])));
}

/* Writes a word with the markup of mgk_arg_note. A dash between letters is a hyphen, any other is a
 * minus. */
static void put_word(page *p, const char *word, size_t length)
{
    bool option = false;
    for (const char *at = word; at < word + length; at++) {
        bool joins = p->font == 'R' && at > word && is_letter(at[-1]) && is_letter(at[1]);
        if (option && !is_of_option(*at)) {
            set_font(p, 'R');
            option = false;
        }
        if (p->font == 'R' && begins_option(word, at)) {
            set_font(p, 'B');
            option = true;
        }
        if (*at == '`')
            set_font(p, p->font == 'B' ? 'R' : 'B');
        else if (*at == '{' || *at == '}')
            set_font(p, *at == '{' ? 'I' : 'R');
        else if (*at == '-' && !joins)
            fputs("\\-", p->out);
        else if (*at == '\\')
            fputs("\\e", p->out);
        else
            fputc(*at, p->out);
    }
    if (option)
        set_font(p, 'R');
}

static void end_line(page *p)
{
    if (p->column > 0)
        fputc('\n', p->out);
    p->column = 0;
}

static void put_text(page *p, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (p->column > 0 && p->column + 1 + length > PAGE_WIDTH)
            end_line(p);
        if (p->column > 0)
            fputc(' ', p->out);
        else if (*text == '.' || *text == '\'') /* so that roff sees no request */
            fputs("\\&", p->out);
        put_word(p, text, length);
        p->column += length + (p->column > 0);
        text += length;
        if (*text == '\n')
            end_line(p);
        text += *text != '\0';
    }
}

/* Writes the notes of an option or heading. */
static void put_notes(page *p, const mgk_program *program, const char *name)
{
    for (int i = 0; i < MGK_ARG_NOTES; i++)
        for (const mgk_arg_note *note = program->notes[i]; note && note->name; note++)
            if (strcmp(note->name, name) == 0) {
                put_text(p, note->text);
                end_line(p);
            }
}

/* Writes "--name FILE" with its letter, help and notes. */
static void put_option(page *p, const mgk_program *program, const mgk_arg *arg)
{
    char name[MGK_ARG_TEXT_SIZE], value[MGK_ARG_TEXT_SIZE], note[MGK_ARG_TEXT_SIZE + 16];
    fprintf(p->out, ".TP\n");
    if (arg->letter)
        fprintf(p->out, "\\fB\\-%c\\fR, ", arg->letter);
    snprintf(name, sizeof(name), "--%s", arg->name);
    put_word(p, name, strlen(name));
    if (arg->type != MGK_ARG_FLAG)
        fprintf(p->out, " \\fI%s\\fR", arg->operand);
    fputc('\n', p->out);
    put_text(p, arg->help);
    end_line(p);
    mgk_arg_default_text(arg, value);
    snprintf(note, sizeof(note), "Default: `%s`.", value);
    if (value[0])
        put_text(p, note);
    end_line(p);
    put_notes(p, program, arg->name);
}

/* Whether an option or a heading has this name. */
static bool is_named(const mgk_program *program, const char *name)
{
    for (size_t i = 0; i < program->count; i++)
        if (strcmp(program->args[i].name, name) == 0)
            return true;
    return false;
}

mgk_status mgk_args_page(const mgk_program *program, FILE *out)
{
    page p = {.out = out, .font = 'R'};
    for (int i = 0; i < MGK_ARG_NOTES; i++)
        for (const mgk_arg_note *note = program->notes[i]; note && note->name; note++)
            if (!is_named(program, note->name))
                return mgk_fail(STATUS_USAGE, "the note of \"%s\" is of no option", note->name);
    for (size_t i = 0; i < program->count; i++) {
        const mgk_arg *arg = &program->args[i];
        if (arg->type != MGK_ARG_HEADING) {
            put_option(&p, program, arg);
            continue;
        }
        fprintf(out, ".SS %s\n", arg->name);
        put_notes(&p, program, arg->name);
    }
    for (size_t i = 0; i < MGK_ARGS_EVERYWHERE; i++)
        put_option(&p, program, &mgk_args_everywhere[i]);
    return STATUS_OK;
}
