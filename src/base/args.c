#include "base/args.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

/* What getopt_long returns: row i of the table as FIRST_ROW + i, above every letter. */
enum { OPERAND = 1, HELP = 256, VERSION = 257, FIRST_ROW = 258 };

/* The table in the form getopt_long takes. */
typedef struct parser {
    struct option *long_options; /* [count + 3], zero-terminated */
    char *letters;
} parser;

static void free_parser(parser *p)
{
    mgk_free(p->long_options);
    mgk_free(p->letters);
}

static mgk_status make_parser(const mgk_program *program, parser *p)
{
    mgk_status status = STATUS_OK;
    *p = (parser){0};
    CHECK(mgk_alloc(program->count + 3, sizeof(*p->long_options), &p->long_options));
    CHECK(mgk_alloc(2 * program->count + 3, 1, &p->letters));
    struct option *option = p->long_options;
    char *letter = p->letters;
    *letter++ = '-'; /* operands are returned where they stand */
    *letter++ = ':'; /* a missing value is returned as ':' */
    *option++ = (struct option){"help", no_argument, NULL, HELP};
    *option++ = (struct option){"version", no_argument, NULL, VERSION};
    for (size_t i = 0; i < program->count; i++) {
        const mgk_arg *arg = &program->args[i];
        if (arg->type == MGK_ARG_HEADING)
            continue;
        int argument = arg->type == MGK_ARG_FLAG ? no_argument : required_argument;
        *option++ = (struct option){arg->name, argument, NULL, FIRST_ROW + (int)i};
        if (arg->letter)
            *letter++ = arg->letter;
        if (arg->letter && argument == required_argument)
            *letter++ = ':';
    }
out:
    if (status != STATUS_OK)
        free_parser(p);
    return status;
}

/* The row that a return value of getopt_long stands for; NULL: none. */
static const mgk_arg *row_of(const mgk_program *program, int code)
{
    if (code >= FIRST_ROW)
        return &program->args[code - FIRST_ROW];
    for (size_t i = 0; i < program->count; i++)
        if (code != 0 && program->args[i].letter == code)
            return &program->args[i];
    return NULL;
}

/* A word that names an option: not a lone "-", nor a negative number. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !strchr(".0123456789", word[1]);
}

static mgk_status append(mgk_arg_list *list, const char *word, int argc)
{
    /* No list is longer than the command line. */
    if (!list->words)
        TRY(mgk_alloc((size_t)argc, sizeof(*list->words), &list->words));
    list->words[list->count++] = word;
    return STATUS_OK;
}

static mgk_status expected(const mgk_arg *arg, const char *what, const char *word)
{
    return mgk_fail(STATUS_USAGE, "--%s: expected %s, got \"%s\"", arg->name, what, word);
}

static mgk_status set_whole(const mgk_arg *arg, const char *word)
{
    const char *end = word;
    int64_t value;
    if (!mgk_read_int64(word, &end, &value) || *end)
        return expected(arg, "a whole number", word);
    if (arg->type == MGK_ARG_INT64) {
        *(int64_t *)arg->value = value;
        return STATUS_OK;
    }
    if (value < INT_MIN || value > INT_MAX)
        return expected(arg, "a whole number of at most 2147483647 in size", word);
    *(int *)arg->value = (int)value;
    return STATUS_OK;
}

static mgk_status set_choice(const mgk_arg *arg, const char *word)
{
    int index = 0;
    for (const char *choice = arg->operand;; index++) {
        size_t length = strcspn(choice, "|");
        if (strlen(word) == length && memcmp(word, choice, length) == 0) {
            *(int *)arg->value = index;
            return STATUS_OK;
        }
        if (!choice[length])
            return expected(arg, arg->operand, word);
        choice += length + 1;
    }
}

static mgk_status set_value(const mgk_arg *arg, const char *word, int argc)
{
    const char *end = word;
    switch (arg->type) {
    case MGK_ARG_FLAG:
        *(bool *)arg->value = true;
        return STATUS_OK;
    case MGK_ARG_INT:
    case MGK_ARG_INT64:
        return set_whole(arg, word);
    case MGK_ARG_UINT64:
        if (!mgk_read_uint64(word, &end, arg->value) || *end)
            return expected(arg, "a whole number, not negative", word);
        return STATUS_OK;
    case MGK_ARG_REAL:
        if (!mgk_read_real(word, &end, arg->value) || *end)
            return expected(arg, "a finite number", word);
        return STATUS_OK;
    case MGK_ARG_TEXT:
        *(const char **)arg->value = word;
        return STATUS_OK;
    case MGK_ARG_CHOICE:
        return set_choice(arg, word);
    case MGK_ARG_LIST:
        return append(arg->value, word, argc);
    case MGK_ARG_HEADING:
        break;
    }
    return STATUS_OK;
}

static mgk_status missing_value(const mgk_arg *arg)
{
    return mgk_fail(STATUS_USAGE, "--%s: expected %s", arg->name, arg->operand);
}

static mgk_status take_option(const mgk_arg *arg, int argc, char **argv)
{
    /* getopt_long takes any next word for the value: "-o --force" forgot one. */
    bool separate = optarg && optarg == argv[optind - 1];
    bool list = arg->type == MGK_ARG_LIST, text = arg->type == MGK_ARG_TEXT;
    if (separate && (list || text) && is_option(optarg))
        return missing_value(arg);
    TRY(set_value(arg, optarg, argc));
    if (arg->given)
        *arg->given = true;
    while (list && optind < argc && !is_option(argv[optind]))
        TRY(append(arg->value, argv[optind++], argc));
    return STATUS_OK;
}

static mgk_status take_operand(const mgk_program *program, const char *word, int argc)
{
    if (!program->operands)
        return mgk_fail(STATUS_USAGE, "unexpected word \"%s\" (see --help)", word);
    return append(program->operands, word, argc);
}

/* What getopt_long refuses: '?' for names and superfluous values. */
static mgk_status refuse(const mgk_program *program, char **argv)
{
    const mgk_arg *arg = row_of(program, optopt);
    if (arg || optopt >= HELP)
        return mgk_fail(STATUS_USAGE, "%s: the option takes no value", argv[optind - 1]);
    if (optopt)
        return mgk_fail(STATUS_USAGE, "-%c: unknown option (see --help)", optopt);
    return mgk_fail(STATUS_USAGE, "%s: unknown or ambiguous option (see --help)", argv[optind - 1]);
}

mgk_status mgk_args_parse(const mgk_program *program, int argc, char **argv,
                          mgk_args_outcome *outcome)
{
    mgk_status status = STATUS_OK;
    parser p;
    int code;
    *outcome = MGK_ARGS_RUN;
    TRY(make_parser(program, &p));
    opterr = 0;
    optind = 0; /* makes glibc forget an earlier command line */
    while ((code = getopt_long(argc, argv, p.letters, p.long_options, NULL)) != -1) {
        switch (code) {
        case HELP:
            *outcome = MGK_ARGS_HELP;
            goto out;
        case VERSION:
            *outcome = MGK_ARGS_VERSION;
            goto out;
        case OPERAND:
            CHECK(take_operand(program, optarg, argc));
            break;
        case ':':
            CHECK(missing_value(row_of(program, optopt)));
            break;
        case '?':
            CHECK(refuse(program, argv));
            break;
        default:
            CHECK(take_option(row_of(program, code), argc, argv));
        }
    }
    for (int i = optind; i < argc; i++)
        CHECK(take_operand(program, argv[i], argc));
out:
    free_parser(&p);
    return status;
}

static void free_list(mgk_arg_list *list)
{
    mgk_free(list->words);
    *list = (mgk_arg_list){0};
}

void mgk_args_free(const mgk_program *program)
{
    for (size_t i = 0; i < program->count; i++)
        if (program->args[i].type == MGK_ARG_LIST)
            free_list(program->args[i].value);
    if (program->operands)
        free_list(program->operands);
}
