#include "base/args.h"

#include <inttypes.h>
#include <string.h>

enum { WIDTH = 92, WIDEST_LABEL = 34, LABEL_SIZE = 256 };

/* "  -o, --output MODEL" */
static size_t make_label(const mgk_arg *arg, char label[LABEL_SIZE])
{
    char letter[] = {'-', arg->letter, ',', '\0'};
    bool flag = arg->type == MGK_ARG_FLAG;
    int length = snprintf(label, LABEL_SIZE, "  %-3s --%s%s%s", arg->letter ? letter : "",
                          arg->name, flag ? "" : " ", flag ? "" : arg->operand);
    return length < LABEL_SIZE ? (size_t)length : LABEL_SIZE - 1;
}

/* The default, where it says more than "nothing given" does: what 0 means is the help's to tell. */
static void make_default(const mgk_arg *arg, char text[LABEL_SIZE])
{
    text[0] = '\0';
    if (arg->type == MGK_ARG_INT && *(int *)arg->value != 0)
        snprintf(text, LABEL_SIZE, " (default: %d)", *(int *)arg->value);
    if (arg->type == MGK_ARG_INT64 && *(int64_t *)arg->value != 0)
        snprintf(text, LABEL_SIZE, " (default: %" PRId64 ")", *(int64_t *)arg->value);
    if (arg->type == MGK_ARG_UINT64 && *(uint64_t *)arg->value != 0)
        snprintf(text, LABEL_SIZE, " (default: %" PRIu64 ")", *(uint64_t *)arg->value);
    if (arg->type == MGK_ARG_REAL && *(double *)arg->value != 0.0)
        snprintf(text, LABEL_SIZE, " (default: %g)", *(double *)arg->value);
    if (arg->type == MGK_ARG_TEXT && *(const char **)arg->value)
        snprintf(text, LABEL_SIZE, " (default: %s)", *(const char **)arg->value);
    if (arg->type == MGK_ARG_CHOICE) {
        const char *word = arg->operand;
        for (int i = 0; i < *(int *)arg->value; i++)
            word += strcspn(word, "|") + 1;
        snprintf(text, LABEL_SIZE, " (default: %.*s)", (int)strcspn(word, "|"), word);
    }
}

/* Prints words from column `column` on, continued with `indent` blanks; the column it ends in. */
static size_t wrap(FILE *out, const char *text, size_t indent, size_t column)
{
    while (*text) {
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        bool first = column == indent;
        if (!first && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)length, text);
        column += length + !first;
        text += length;
    }
    return column;
}

static void print_row(FILE *out, const char *label, size_t length, const char *help,
                      const char *default_text, size_t indent)
{
    fprintf(out, "%s", label);
    if (length + 2 > indent)
        fprintf(out, "\n%*s", (int)indent, "");
    else
        fprintf(out, "%*s", (int)(indent - length), "");
    size_t column = wrap(out, help, indent, indent);
    wrap(out, default_text, indent, column);
    fprintf(out, "\n");
}

void mgk_args_help(const mgk_program *program, FILE *out)
{
    char label[LABEL_SIZE], default_text[LABEL_SIZE];
    size_t widest = strlen("      --version");
    for (size_t i = 0; i < program->count; i++)
        if (program->args[i].type != MGK_ARG_HEADING) {
            size_t length = make_label(&program->args[i], label);
            if (length > widest && length <= WIDEST_LABEL)
                widest = length;
        }
    fprintf(out, "Usage: %s %s\n", program->name, program->usage);
    wrap(out, program->summary, 0, 0);
    fprintf(out, "\n");
    if (program->count == 0 || program->args[0].type != MGK_ARG_HEADING)
        fprintf(out, "\nOptions:\n");
    for (size_t i = 0; i < program->count; i++) {
        const mgk_arg *arg = &program->args[i];
        if (arg->type == MGK_ARG_HEADING) {
            fprintf(out, "\n%s:\n", arg->name);
            continue;
        }
        size_t length = make_label(arg, label);
        make_default(arg, default_text);
        print_row(out, label, length, arg->help, default_text, widest + 2);
    }
    print_row(out, "      --help", 12, "Print this text.", "", widest + 2);
    print_row(out, "      --version", 15, "Print the version.", "", widest + 2);
    if (program->examples)
        fprintf(out, "\nExamples:\n%s", program->examples);
}
