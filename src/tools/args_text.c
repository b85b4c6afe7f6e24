/* What a table of options says: to people, and to the completion. */
#include <inttypes.h>
#include <string.h>

#include "tools/args.h"

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

/* The word with this number in "a|b|c" or "a,b,c", and its length. */
static const char *word_at(const char *words, unsigned index, int *length)
{
    for (; index > 0; index--)
        words += strcspn(words, "|,") + 1;
    *length = (int)strcspn(words, "|,");
    return words;
}

/* The words of a set of bits, with commas. */
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

/* The default, where it says more than "nothing given" does: what 0 means is the help's to tell. */
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
    case MGK_ARG_LIST:
    case MGK_ARG_FILES:
    case MGK_ARG_HEADING:
        break;
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

/* The help, and the default behind it unless that is empty. */
static void print_row(FILE *out, const char *label, size_t length, const char *help,
                      const char *default_text, size_t indent)
{
    char note[LABEL_SIZE + 16];
    fprintf(out, "%s", label);
    if (length + 2 > indent)
        fprintf(out, "\n%*s", (int)indent, "");
    else
        fprintf(out, "%*s", (int)(indent - length), "");
    size_t column = wrap(out, help, indent, indent);
    snprintf(note, sizeof(note), "(default: %s)", default_text);
    if (default_text[0])
        wrap(out, note, indent, column);
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

/* What follows an option, in a word. */
static const char *const kinds[] = {
    [MGK_ARG_FLAG] = "flag",     [MGK_ARG_INT] = "value",  [MGK_ARG_INT64] = "value",
    [MGK_ARG_UINT64] = "value",  [MGK_ARG_REAL] = "value", [MGK_ARG_TEXT] = "value",
    [MGK_ARG_FILE] = "file",     [MGK_ARG_WORD] = "word",  [MGK_ARG_CHOICE] = "word",
    [MGK_ARG_CHOICES] = "words", [MGK_ARG_LIST] = "value", [MGK_ARG_FILES] = "file",
};

/* "auto|cpu|cuda[:N]" with blanks in front; what is in brackets is left out. */
static void print_words(const char *words, FILE *out)
{
    for (;;) {
        fprintf(out, " %.*s", (int)strcspn(words, "|,["), words);
        words += strcspn(words, "|,");
        if (!*words++)
            return;
    }
}

void mgk_args_completion(const mgk_program *program, FILE *out)
{
    for (size_t i = 0; i < program->count; i++) {
        const mgk_arg *arg = &program->args[i];
        if (arg->type == MGK_ARG_HEADING)
            continue;
        if (arg->letter)
            fprintf(out, "--%s -%c %s", arg->name, arg->letter, kinds[arg->type]);
        else
            fprintf(out, "--%s --%s %s", arg->name, arg->name, kinds[arg->type]);
        if (arg->type == MGK_ARG_WORD || arg->type == MGK_ARG_CHOICE ||
            arg->type == MGK_ARG_CHOICES)
            print_words(arg->operand, out);
        fprintf(out, "\n");
    }
    fprintf(out, "--help --help flag\n--version --version flag\n");
    if (program->first)
        fprintf(out, "operand operand word");
    for (const char *const *word = program->first; word && *word; word++)
        fprintf(out, " %s", *word);
    if (program->first)
        fprintf(out, "\n");
}
