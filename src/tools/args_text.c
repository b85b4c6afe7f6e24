/* SPDX-License-Identifier: MIT */
/* Prints a table of options: as help, for the man page and for the completion. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "tools/args.h"

/* The options that every program has in addition. */
static const mgk_arg everywhere[] = {
    {MGK_ARG_FLAG, 'h', "help", NULL, NULL,
     "Print the options that one needs first and exit; --help all prints all of them.", NULL},
    {MGK_ARG_FLAG, 0, "version", NULL, NULL, "Print the version and exit.", NULL},
};
enum { EVERYWHERE = sizeof(everywhere) / sizeof(everywhere[0]) };

enum { SCREEN_WIDTH = 80, WIDTH = 92, WIDEST_LABEL = 34, LABEL_SIZE = 256 };

/* "  -o, --output MODEL" */
static size_t make_label(const mgk_arg *arg, char label[LABEL_SIZE])
{
    char letter[] = {'-', arg->letter, ',', '\0'};
    bool flag = arg->type == MGK_ARG_FLAG;
    int length = snprintf(label, LABEL_SIZE, "  %-3s --%s%s%s", arg->letter ? letter : "",
                          arg->name, flag ? "" : " ", flag ? "" : arg->operand);
    return length < LABEL_SIZE ? (size_t)length : LABEL_SIZE - 1;
}

/* Finds word number `index` in "a|b|c" or "a,b,c", and its length. */
static const char *word_at(const char *words, unsigned index, int *length)
{
    for (; index > 0; index--)
        words += strcspn(words, "|,") + 1;
    *length = (int)strcspn(words, "|,");
    return words;
}

/* Lists the words of a bit set, separated by commas. */
static void list_words(const char *words, unsigned bits, char text[LABEL_SIZE])
{
    int used = 0, length;
    text[0] = '\0';
    for (unsigned i = 0; bits >> i && used < LABEL_SIZE; i++) {
        if (!(bits >> i & 1))
            continue;
        const char *word = word_at(words, i, &length);
        used += snprintf(text + used, (size_t)(LABEL_SIZE - used), "%s%.*s", used ? "," : "",
                         length, word);
    }
}

/* Writes the default; empty if it only means "not set", because the help explains 0. */
static void make_default(const mgk_arg *arg, char text[LABEL_SIZE])
{
    const void *value = arg->value;
    const char *word = NULL;
    int length;
    text[0] = '\0';
    switch (arg->type) {
    case MGK_ARG_INT:
        if (*(const int *)value != 0)
            snprintf(text, LABEL_SIZE, "%d", *(const int *)value);
        break;
    case MGK_ARG_INT64:
        if (*(const int64_t *)value != 0)
            snprintf(text, LABEL_SIZE, "%" PRId64, *(const int64_t *)value);
        break;
    case MGK_ARG_UINT64:
        if (*(const uint64_t *)value != 0)
            snprintf(text, LABEL_SIZE, "%" PRIu64, *(const uint64_t *)value);
        break;
    case MGK_ARG_REAL:
        if (*(const double *)value != 0.0)
            snprintf(text, LABEL_SIZE, "%g", *(const double *)value);
        break;
    case MGK_ARG_TEXT:
    case MGK_ARG_FILE:
    case MGK_ARG_WORD:
        if (*(const char *const *)value)
            snprintf(text, LABEL_SIZE, "%s", *(const char *const *)value);
        break;
    case MGK_ARG_CHOICE:
        word = word_at(arg->operand, *(const unsigned *)value, &length);
        snprintf(text, LABEL_SIZE, "%.*s", length, word);
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

/* Where help is printed. */
typedef struct sheet {
    FILE *out;
    size_t width;  /* columns */
    size_t indent; /* of the options' help */
} sheet;

/* Prints words from column `column` on, with `indent` blanks on further lines; returns the last
 * column. */
static size_t wrap(const sheet *s, const char *text, size_t indent, size_t column)
{
    while (*text) {
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        bool first = column == indent;
        if (!first && column + 1 + length > s->width) {
            fprintf(s->out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(s->out, "%s%.*s", first ? "" : " ", (int)length, text);
        column += length + !first;
        text += length;
    }
    return column;
}

static void print_row(const sheet *s, const mgk_arg *arg)
{
    char label[LABEL_SIZE], value[LABEL_SIZE], note[LABEL_SIZE + 16];
    size_t length = make_label(arg, label);
    make_default(arg, value);
    snprintf(note, sizeof(note), "(default: %s)", value);
    fprintf(s->out, "%s", label);
    if (length + 2 > s->indent)
        fprintf(s->out, "\n%*s", (int)s->indent, "");
    else
        fprintf(s->out, "%*s", (int)(s->indent - length), "");
    size_t column = wrap(s, arg->help, s->indent, s->indent);
    if (value[0])
        wrap(s, note, s->indent, column);
    fprintf(s->out, "\n");
}

static void widen(const mgk_arg *arg, size_t *widest)
{
    char label[LABEL_SIZE];
    const size_t length = make_label(arg, label);
    if (length > *widest && length <= WIDEST_LABEL)
        *widest = length;
}

static void print_all(const mgk_program *program, sheet *s)
{
    s->indent = strlen("      --version");
    for (size_t i = 0; i < program->count; i++)
        if (program->args[i].type != MGK_ARG_HEADING)
            widen(&program->args[i], &s->indent);
    s->indent += 2;
    if (program->count == 0 || program->args[0].type != MGK_ARG_HEADING)
        fprintf(s->out, "\nOptions:\n");
    for (size_t i = 0; i < program->count; i++)
        if (program->args[i].type == MGK_ARG_HEADING)
            fprintf(s->out, "\n%s:\n", program->args[i].name);
        else
            print_row(s, &program->args[i]);
    for (size_t i = 0; i < EVERYWHERE; i++)
        print_row(s, &everywhere[i]);
}

/* The option of the next of some names with blanks between them; NULL: there are no more. */
static const mgk_arg *next_named(const mgk_program *program, const char **names)
{
    *names += strspn(*names, " ");
    const size_t length = strcspn(*names, " ");
    for (size_t i = 0; length > 0 && i < program->count; i++) {
        const mgk_arg *arg = &program->args[i];
        if (arg->type == MGK_ARG_HEADING || strlen(arg->name) != length ||
            memcmp(arg->name, *names, length) != 0)
            continue;
        *names += length;
        return arg;
    }
    return NULL;
}

/* The option as a screen shows it, with the first part of its help, up to a full stop or semicolon,
 * and with the first words of a long choice, "softmax|mgk|...". */
static mgk_arg shorten(const mgk_arg *arg, char operand[LABEL_SIZE], char help[LABEL_SIZE])
{
    enum { LONGEST_OPERAND = 20 };
    mgk_arg row = *arg;
    size_t length = 0;
    while (arg->help[length] && strncmp(arg->help + length, ". ", 2) != 0 &&
           strncmp(arg->help + length, "; ", 2) != 0)
        length++;
    snprintf(help, LABEL_SIZE, "%.*s.", (int)length - (arg->help[length] == '\0'), arg->help);
    row.help = help;
    if (!row.operand || strlen(row.operand) <= LONGEST_OPERAND)
        return row;
    for (length = LONGEST_OPERAND - 3; length > 0 && !strchr("|,", row.operand[length - 1]);)
        length--;
    snprintf(operand, LABEL_SIZE, "%.*s...", (int)length, row.operand);
    row.operand = operand;
    return row;
}

static void print_screen(const mgk_program *program, sheet *s)
{
    char operand[LABEL_SIZE], help[LABEL_SIZE];
    const mgk_arg *arg;
    s->indent = strlen("  -h, --help all");
    for (const char *names = program->screen; (arg = next_named(program, &names));) {
        const mgk_arg row = shorten(arg, operand, help);
        widen(&row, &s->indent);
    }
    s->indent += 2;
    fputc('\n', s->out);
    for (const char *names = program->screen; (arg = next_named(program, &names));) {
        const mgk_arg row = shorten(arg, operand, help);
        print_row(s, &row);
    }
    fprintf(s->out, "  -h, --help all%*s", (int)(s->indent - strlen("  -h, --help all")), "");
    wrap(s, "Print all options.", s->indent, s->indent);
    fputc('\n', s->out);
}

/* The end of the first `count` examples; a backslash continues a line. */
static size_t end_of_examples(const char *examples, int count)
{
    size_t length = 0;
    while (examples[length] && count > 0) {
        length += strcspn(examples + length, "\n");
        count -= length > 0 && examples[length - 1] != '\\';
        length += examples[length] == '\n';
    }
    return length;
}

static void print_usage(const mgk_program *program, const sheet *s)
{
    const size_t indent = strlen("Usage: ") + strlen(program->name) + 1;
    const char *line = program->usage;
    char text[512];
    fprintf(s->out, "Usage: %s ", program->name);
    for (;;) {
        const size_t length = strcspn(line, "\n");
        snprintf(text, sizeof(text), "%.*s", (int)length, line);
        wrap(s, text, indent, indent);
        fputc('\n', s->out);
        line += length;
        if (!*line++)
            return;
        fprintf(s->out, "       %s ", program->name);
    }
}

void mgk_args_help(const mgk_program *program, bool all, FILE *out)
{
    sheet s = {.out = out, .width = SCREEN_WIDTH};
    all |= !program->screen;
    if (all)
        s.width = WIDTH;
    print_usage(program, &s);
    wrap(&s, program->summary, 0, 0);
    fprintf(out, "\n");
    if (all)
        print_all(program, &s);
    else
        print_screen(program, &s);
    if (program->examples)
        fprintf(out, "\nExamples:\n%.*s",
                (int)end_of_examples(program->examples, all ? INT_MAX : 2), program->examples);
}

/* The kind of an option's value. */
static const char *const kinds[] = {
    [MGK_ARG_FLAG] = "flag",   [MGK_ARG_INT] = "value",     [MGK_ARG_INT64] = "value",
    [MGK_ARG_COUNT] = "value", [MGK_ARG_UINT64] = "value",  [MGK_ARG_REAL] = "value",
    [MGK_ARG_TEXT] = "value",  [MGK_ARG_FILE] = "file",     [MGK_ARG_WORD] = "word",
    [MGK_ARG_CHOICE] = "word", [MGK_ARG_CHOICES] = "words", [MGK_ARG_LIST] = "value",
    [MGK_ARG_FILES] = "file",  [MGK_ARG_AMOUNT] = "value",
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

/* The words of the option's value; NULL: it is no choice of words. */
static const char *words_of(const mgk_program *program, const mgk_arg *arg)
{
    if (arg->type == MGK_ARG_WORD || arg->type == MGK_ARG_CHOICE || arg->type == MGK_ARG_CHOICES)
        return arg->operand;
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
    for (size_t i = 0; i < EVERYWHERE; i++)
        print_line(program, &everywhere[i], out);
    if (!program->first)
        return;
    fprintf(out, "operand operand word");
    for (const char *const *word = program->first; *word; word++)
        fprintf(out, " %s", *word);
    fprintf(out, "\n");
}

/* Writes roff, breaking lines between words. */
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
    char name[LABEL_SIZE], value[LABEL_SIZE], note[LABEL_SIZE + 16];
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
    make_default(arg, value);
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
    for (size_t i = 0; i < EVERYWHERE; i++)
        put_option(&p, program, &everywhere[i]);
    return STATUS_OK;
}
