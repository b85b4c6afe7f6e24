/* SPDX-License-Identifier: MIT */
/* Prints a table of options as help. */
#include <limits.h>
#include <string.h>

#include "tools/args_row.h"

enum { SCREEN_WIDTH = 80, WIDTH = 92, WIDEST_LABEL = 34 };

/* "  -o, --output MODEL" */
static size_t make_label(const mgk_arg *arg, char label[MGK_ARG_TEXT_SIZE])
{
    char letter[] = {'-', arg->letter, ',', '\0'};
    bool flag = arg->type == MGK_ARG_FLAG;
    int length = snprintf(label, MGK_ARG_TEXT_SIZE, "  %-3s --%s%s%s", arg->letter ? letter : "",
                          arg->name, flag ? "" : " ", flag ? "" : arg->operand);
    return length < MGK_ARG_TEXT_SIZE ? (size_t)length : MGK_ARG_TEXT_SIZE - 1;
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
    char label[MGK_ARG_TEXT_SIZE], value[MGK_ARG_TEXT_SIZE], note[MGK_ARG_TEXT_SIZE + 16];
    size_t length = make_label(arg, label);
    mgk_arg_default_text(arg, value);
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
    char label[MGK_ARG_TEXT_SIZE];
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
    for (size_t i = 0; i < MGK_ARGS_EVERYWHERE; i++)
        print_row(s, &mgk_args_everywhere[i]);
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
static mgk_arg shorten(const mgk_arg *arg, char operand[MGK_ARG_TEXT_SIZE],
                       char help[MGK_ARG_TEXT_SIZE])
{
    enum { LONGEST_OPERAND = 20 };
    mgk_arg row = *arg;
    size_t length = 0;
    while (arg->help[length] && strncmp(arg->help + length, ". ", 2) != 0 &&
           strncmp(arg->help + length, "; ", 2) != 0)
        length++;
    snprintf(help, MGK_ARG_TEXT_SIZE, "%.*s.", (int)length - (arg->help[length] == '\0'),
             arg->help);
    row.help = help;
    if (!row.operand || strlen(row.operand) <= LONGEST_OPERAND)
        return row;
    for (length = LONGEST_OPERAND - 3; length > 0 && !strchr("|,", row.operand[length - 1]);)
        length--;
    snprintf(operand, MGK_ARG_TEXT_SIZE, "%.*s...", (int)length, row.operand);
    row.operand = operand;
    return row;
}

static void print_screen(const mgk_program *program, sheet *s)
{
    char operand[MGK_ARG_TEXT_SIZE], help[MGK_ARG_TEXT_SIZE];
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
