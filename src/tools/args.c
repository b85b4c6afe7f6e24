/* SPDX-License-Identifier: MIT */
#include "tools/args.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/number.h"
#include "tools/suggest.h"

/* Limit of an index plus one: "0-4000000000" must not allocate all memory. */
enum { INDEX_END = 1000000 };

/* Whether a shell leaves the word unchanged. */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_@%+=:,./-";
    return *word && word[strspn(word, plain)] == '\0';
}

/* Writes the word in single quotes; the quote itself and control characters are written outside of
 * them. */
static char *quote(const char *word, char *out)
{
    static const char digits[] = "0123456789abcdef";
    *out++ = '\'';
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;
        if (c == '\'') {
            out = stpcpy(out, "'\\''");
        } else if (c < 0x20 || c == 0x7f) {
            char escape[] = {'\'',           '$',  '\'', '\\', 'x', digits[c / 16],
                             digits[c % 16], '\'', '\'', '\0'};
            out = stpcpy(out, escape);
        } else {
            *out++ = (char)c;
        }
    }
    *out++ = '\'';
    return out;
}

mgk_status mgk_args_command(int argc, char **argv, char **out)
{
    enum { LONGEST_ESCAPE = 9, AROUND = 3 }; /* '$'\x0a''; two quotes and a blank */
    size_t size = 1;
    for (int i = 0; i < argc; i++)
        size += LONGEST_ESCAPE * strlen(argv[i]) + AROUND;
    TRY(mgk_alloc(size, 1, out));
    char *end = *out;
    for (int i = 0; i < argc; i++) {
        /* The command is stored in files that others may read, so it does not contain the program's
         * folder. */
        const char *slash = i == 0 ? strrchr(argv[0], '/') : NULL;
        const char *word = slash ? slash + 1 : argv[i];
        if (i > 0)
            *end++ = ' ';
        end = is_plain(word) ? stpcpy(end, word) : quote(word, end);
    }
    *end = '\0';
    return STATUS_OK;
}

bool mgk_args_range(const char **text, int64_t *first, int64_t *last)
{
    if (**text == '-' || !mgk_read_int64(*text, text, first))
        return false;
    *last = *first;
    if (**text == '-' && !mgk_read_int64(*text + 1, text, last))
        return false;
    return *first <= *last && *last < INDEX_END;
}

/* Marks the numbers in `text`. */
static mgk_status mark_indices(const char *text, bool marked[INDEX_END])
{
    const char *at = text;
    for (;;) {
        int64_t first, last;
        if (!mgk_args_range(&at, &first, &last) || (*at && *at != ','))
            return mgk_fail(STATUS_USAGE, "expected numbers below %d such as 0,2,5-7, got \"%s\"",
                            INDEX_END, text);
        for (int64_t i = first; i <= last; i++)
            marked[i] = true;
        if (!*at++)
            return STATUS_OK;
    }
}

mgk_status mgk_args_indices(const char *text, int **out, size_t *count)
{
    mgk_status status = STATUS_OK;
    bool *marked = NULL;
    size_t found = 0;
    *out = NULL;
    *count = 0;
    CHECK(mgk_alloc(INDEX_END, sizeof(*marked), &marked));
    CHECK(mark_indices(text, marked));
    for (int i = 0; i < INDEX_END; i++)
        found += marked[i];
    CHECK(mgk_alloc(found, sizeof(**out), out));
    for (int i = 0; i < INDEX_END; i++)
        if (marked[i])
            (*out)[(*count)++] = i;
out:
    mgk_free(marked);
    return status;
}

mgk_status mgk_args_reals(const char *text, double **out, size_t *count)
{
    size_t capacity = 1;
    for (const char *c = text; *c; c++)
        capacity += *c == ',';
    *count = 0;
    TRY(mgk_alloc(capacity, sizeof(**out), out));
    for (const char *at = text;; at++) {
        if (!mgk_read_real(at, &at, &(*out)[(*count)]) || (*at && *at != ',')) {
            mgk_free(*out);
            *out = NULL;
            *count = 0;
            return mgk_fail(STATUS_USAGE, "expected numbers such as 1e-8,1e-6, got \"%s\"", text);
        }
        ++*count;
        if (!*at)
            return STATUS_OK;
    }
}

/* Return values of getopt_long: row i of the table is FIRST_ROW + i, above every letter. */
enum { OPERAND = 1, HELP_LETTER = 'h', HELP = 256, VERSION = 257, FIRST_ROW = 258 };

/* The table as getopt_long needs it. */
typedef struct parser {
    struct option *long_options; /* [count + 3], zero-terminated */
    char *letters;
    const char **values; /* [count], of the options that were given; flags have none */
} parser;

static void free_parser(parser *p)
{
    mgk_free(p->long_options);
    mgk_free(p->letters);
    mgk_free(p->values);
}

static mgk_status make_parser(const mgk_program *program, parser *p)
{
    mgk_status status = STATUS_OK;
    *p = (parser){0};
    CHECK(mgk_alloc(program->count + 3, sizeof(*p->long_options), &p->long_options));
    CHECK(mgk_alloc(2 * program->count + 4, 1, &p->letters));
    CHECK(mgk_alloc(program->count, sizeof(*p->values), &p->values));
    struct option *option = p->long_options;
    char *letter = p->letters;
    *letter++ = '-'; /* return operands in their place */
    *letter++ = ':'; /* return ':' for a missing value */
    *letter++ = HELP_LETTER;
    *option++ = (struct option){"help", optional_argument, NULL, HELP};
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

/* The row for a return value of getopt_long; NULL: none. */
static const mgk_arg *row_of(const mgk_program *program, int code)
{
    if (code >= FIRST_ROW)
        return &program->args[code - FIRST_ROW];
    for (size_t i = 0; i < program->count; i++)
        if (code != 0 && program->args[i].letter == code)
            return &program->args[i];
    return NULL;
}

/* Whether a word is an option: not a lone "-", nor a negative number. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !strchr(".0123456789", word[1]);
}

static mgk_status append(mgk_arg_list *list, const char *word, int argc)
{
    /* A list is at most as long as the command line. */
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
    if (arg->type == MGK_ARG_AMOUNT && strcmp(word, "all") == 0) {
        *(int *)arg->value = -1;
        return STATUS_OK;
    }
    if (!mgk_read_int64(word, &end, &value) || *end)
        return expected(
            arg, arg->type == MGK_ARG_AMOUNT ? "a whole number or \"all\"" : "a whole number",
            word);
    if (arg->type == MGK_ARG_INT64) {
        *(int64_t *)arg->value = value;
        return STATUS_OK;
    }
    if (value < INT_MIN || value > INT_MAX)
        return expected(arg, "a whole number of at most 2147483647 in size", word);
    if ((arg->type == MGK_ARG_COUNT || arg->type == MGK_ARG_AMOUNT) && value < 1)
        return expected(arg, "at least 1", word);
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

/* Converts "a,c" to bits of "a,b,c". */
static mgk_status set_choices(const mgk_arg *arg, const char *words)
{
    unsigned bits = 0;
    for (const char *word = words;; word++) {
        size_t length = strcspn(word, ",");
        const char *choice = arg->operand;
        unsigned bit = 1;
        while (strcspn(choice, ",") != length || memcmp(word, choice, length) != 0) {
            choice += strcspn(choice, ",");
            if (!*choice++)
                return mgk_fail(STATUS_USAGE, "--%s: expected words of %s, got \"%s\"", arg->name,
                                arg->operand, words);
            bit <<= 1;
        }
        bits |= bit;
        word += length;
        if (!*word)
            break;
    }
    *(unsigned *)arg->value = bits;
    return STATUS_OK;
}

static mgk_status set_value(const mgk_arg *arg, const char *word, int argc)
{
    const char *end = word;
    switch (arg->type) {
    case MGK_ARG_FLAG:
        *(bool *)arg->value = true;
        return STATUS_OK;
    case MGK_ARG_INT:
    case MGK_ARG_COUNT:
    case MGK_ARG_AMOUNT:
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
    case MGK_ARG_FILE:
    case MGK_ARG_WORD:
        *(const char **)arg->value = word;
        return STATUS_OK;
    case MGK_ARG_CHOICE:
        return set_choice(arg, word);
    case MGK_ARG_CHOICES:
        return set_choices(arg, word);
    case MGK_ARG_LIST:
    case MGK_ARG_FILES:
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

static bool is_list(const mgk_arg *arg)
{
    return arg->type == MGK_ARG_LIST || arg->type == MGK_ARG_FILES;
}

/* Whether the value may look like an option. */
static bool is_text(const mgk_arg *arg)
{
    return arg->type == MGK_ARG_TEXT || arg->type == MGK_ARG_FILE || arg->type == MGK_ARG_WORD ||
           arg->type == MGK_ARG_CHOICES || is_list(arg);
}

/* Lists add up, and a flag says the same again; of other options only one value would count. */
static mgk_status check_once(const mgk_program *program, const parser *p, const mgk_arg *arg)
{
    const char **before = &p->values[arg - program->args];
    if (*before)
        return mgk_fail(STATUS_USAGE, "--%s is given twice: \"%s\" and \"%s\"", arg->name, *before,
                        optarg);
    *before = is_list(arg) ? NULL : optarg;
    return STATUS_OK;
}

static mgk_status take_option(const mgk_program *program, const parser *p, const mgk_arg *arg,
                              int argc, char **argv)
{
    /* getopt_long takes any next word for the value: "-o --force" forgot one. */
    bool separate = optarg && optarg == argv[optind - 1];
    if (separate && is_text(arg) && is_option(optarg))
        return missing_value(arg);
    TRY(check_once(program, p, arg));
    TRY(set_value(arg, optarg, argc));
    if (arg->given)
        *arg->given = true;
    while (is_list(arg) && optind < argc && !is_option(argv[optind]))
        TRY(append(arg->value, argv[optind++], argc));
    return STATUS_OK;
}

static mgk_status take_operand(const mgk_program *program, const char *word, int argc)
{
    if (!program->operands)
        return mgk_fail(STATUS_USAGE, "unexpected word \"%s\" (see --help)", word);
    return append(program->operands, word, argc);
}

/* The options that begin with the letters of an abbreviation, "--seed, --steps"; returns their
 * number. */
static int list_meant(const parser *p, const char *word, size_t length, char *text, size_t size)
{
    int count = 0;
    text[0] = '\0';
    for (const struct option *option = p->long_options; option->name; option++)
        if (strncmp(option->name, word, length) == 0)
            mgk_append(text, size, "%s--%s", count++ == 0 ? "" : ", ", option->name);
    return count;
}

/* The option that a name adds words to, as "batch-size" does to "batch"; NULL: none. */
static const char *find_stem(const parser *p, const char *name, size_t length)
{
    for (const struct option *option = p->long_options; option->name; option++) {
        const size_t stem = strlen(option->name);
        if (stem < length && name[stem] == '-' && memcmp(name, option->name, stem) == 0)
            return option->name;
    }
    return NULL;
}

/* A name that is none, or begins several. */
static mgk_status refuse_name(const parser *p, const char *word)
{
    const char *name = word + strspn(word, "-");
    const size_t length = strcspn(name, "=");
    mgk_suggestion meant = mgk_suggest_for(name, length);
    char candidates[256];
    if (list_meant(p, name, length, candidates, sizeof(candidates)) > 1)
        return mgk_fail(STATUS_USAGE, "%s: which of %s?", word, candidates);
    for (const struct option *option = p->long_options; option->name; option++)
        mgk_suggest(&meant, option->name);
    if (!meant.name)
        meant.name = find_stem(p, name, length);
    if (meant.name)
        return mgk_fail(STATUS_USAGE, "%s: unknown option; did you mean --%s? (see --help)", word,
                        meant.name);
    return mgk_fail(STATUS_USAGE, "%s: unknown option (see --help)", word);
}

/* Reports what getopt_long refuses: '?' for unknown names and superfluous values. */
static mgk_status refuse(const mgk_program *program, const parser *p, char **argv)
{
    const mgk_arg *arg = row_of(program, optopt);
    if (arg || optopt >= HELP)
        return mgk_fail(STATUS_USAGE, "%s: the option takes no value", argv[optind - 1]);
    if (optopt)
        return mgk_fail(STATUS_USAGE, "-%c: unknown option (see --help)", optopt);
    return refuse_name(p, argv[optind - 1]);
}

/* "-output out.csv" would be read as "-o utput". */
static mgk_status check_dashes(const parser *p, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '-')
            continue;
        const size_t length = strcspn(argv[i] + 1, "=");
        for (const struct option *option = p->long_options; option->name; option++)
            if (strlen(option->name) == length && length > 1 &&
                memcmp(option->name, argv[i] + 1, length) == 0)
                return mgk_fail(STATUS_USAGE, "%s: did you mean --%s?", argv[i], option->name);
    }
    return STATUS_OK;
}

/* "--help", "--help all" or "--help=all". */
static mgk_status take_help(int argc, char **argv, mgk_args_outcome *outcome)
{
    const char *what = optarg ? optarg : optind < argc ? argv[optind] : "";
    const bool all = strcmp(what, "all") == 0;
    *outcome = all ? MGK_ARGS_HELP_ALL : MGK_ARGS_HELP;
    if (optarg && !all)
        return mgk_fail(STATUS_USAGE, "--help: expected all, got \"%s\"", optarg);
    return STATUS_OK;
}

mgk_status mgk_args_parse(const mgk_program *program, int argc, char **argv,
                          mgk_args_outcome *outcome)
{
    mgk_status status = STATUS_OK;
    parser p;
    int code;
    *outcome = MGK_ARGS_RUN;
    if (argc == 2 && strcmp(argv[1], "--options=completion") == 0)
        *outcome = MGK_ARGS_COMPLETION;
    if (argc == 2 && strcmp(argv[1], "--options=page") == 0)
        *outcome = MGK_ARGS_PAGE;
    if (*outcome != MGK_ARGS_RUN)
        return STATUS_OK;
    TRY(make_parser(program, &p));
    CHECK(check_dashes(&p, argc, argv));
    opterr = 0;
    optind = 0; /* makes glibc forget an earlier command line */
    while ((code = getopt_long(argc, argv, p.letters, p.long_options, NULL)) != -1) {
        switch (code) {
        case HELP:
        case HELP_LETTER:
            CHECK(take_help(argc, argv, outcome));
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
            CHECK(refuse(program, &p, argv));
            break;
        default:
            CHECK(take_option(program, &p, row_of(program, code), argc, argv));
        }
    }
    for (int i = optind; i < argc; i++)
        CHECK(take_operand(program, argv[i], argc));
out:
    free_parser(&p);
    return status;
}

mgk_status mgk_args_look(const mgk_program *program, int argc, char **argv, const char *name,
                         const char **word)
{
    parser p;
    int code;
    *word = NULL;
    TRY(make_parser(program, &p));
    opterr = 0;
    optind = 0;
    while ((code = getopt_long(argc, argv, p.letters, p.long_options, NULL)) != -1) {
        const mgk_arg *arg = code >= FIRST_ROW ? row_of(program, code) : NULL;
        if (arg && strcmp(arg->name, name) == 0)
            *word = optarg;
    }
    free_parser(&p);
    return STATUS_OK;
}

static void free_list(mgk_arg_list *list)
{
    mgk_free(list->words);
    *list = (mgk_arg_list){0};
}

void mgk_args_free(const mgk_program *program)
{
    for (size_t i = 0; i < program->count; i++)
        if (is_list(&program->args[i]))
            free_list(program->args[i].value);
    if (program->operands)
        free_list(program->operands);
}
