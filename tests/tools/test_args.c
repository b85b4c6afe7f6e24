/* SPDX-License-Identifier: MIT */
/* Command lines: accepted ones, and messages about others. */
#include "test.h"

#include <string.h>

#include "tools/args.h"

enum { MOST_WORDS = 24 };

/* The values of the options in the table below. */
typedef struct values {
    bool verbose;
    int heads, panel, samples;
    int64_t steps;
    uint64_t seed;
    double rate;
    const char *output;
    int device;
    const char *task;
    unsigned save;
    mgk_arg_list data, names;
    mgk_arg_list operands;
    bool rate_given, data_given;
} values;

/* Parses blank-separated words into `values`, which it clears first and the caller releases. */
static mgk_status parse(const char *line, values *v, bool operands, mgk_args_outcome *outcome)
{
    static char copy[512];
    char *argv[MOST_WORDS + 1] = {0};
    int argc = 0;
    *v = (values){.heads = 4, .save = 2};
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    const mgk_arg args[] = {
        {MGK_ARG_FLAG, 'v', "verbose", &v->verbose, NULL, "Talk.", NULL},
        {MGK_ARG_INT, 0, "heads", &v->heads, "H", "Heads.", NULL},
        {MGK_ARG_COUNT, 0, "panel", &v->panel, "PIXELS", "Panel.", NULL},
        {MGK_ARG_AMOUNT, 0, "samples", &v->samples, "S|all", "Samples.", NULL},
        {MGK_ARG_HEADING, 0, "Training", NULL, NULL, NULL, NULL},
        {MGK_ARG_INT64, 's', "steps", &v->steps, "S", "Steps.", NULL},
        {MGK_ARG_UINT64, 0, "seed", &v->seed, "N", "Seed.", NULL},
        {MGK_ARG_REAL, 0, "rate", &v->rate, "X", "Rate.", &v->rate_given},
        {MGK_ARG_FILE, 'o', "output", &v->output, "FILE", "Output.", NULL},
        {MGK_ARG_CHOICE, 0, "device", &v->device, "auto|cpu|cuda", "Device.", NULL},
        {MGK_ARG_WORD, 0, "task", &v->task, "lm|text", "Task.", NULL},
        {MGK_ARG_CHOICES, 0, "save", &v->save, "keys,key,values", "What to keep.", NULL},
        {MGK_ARG_FILES, 'd', "data", &v->data, "PATH...", "Data.", &v->data_given},
        {MGK_ARG_LIST, 0, "name", &v->names, "NAME...", "Names.", NULL},
    };
    const mgk_program program = {.name = "test",
                                 .args = args,
                                 .count = sizeof(args) / sizeof(args[0]),
                                 .operands = operands ? &v->operands : NULL};
    mgk_status status = mgk_args_parse(&program, argc, argv, outcome);
    if (status != STATUS_OK) {
        mgk_args_free(&program);
        assert_null(v->data.words);
        mgk_args_free(&program);
    }
    return status;
}

static void release(values *v)
{
    const mgk_arg args[] = {{MGK_ARG_FILES, 0, "data", &v->data, "", "", NULL},
                            {MGK_ARG_LIST, 0, "name", &v->names, "", "", NULL}};
    const mgk_program program = {.args = args, .count = 2, .operands = &v->operands};
    mgk_args_free(&program);
}

static void assert_list(const mgk_arg_list *list, const char *const *words, size_t count)
{
    assert_int_equal(list->count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(list->words[i], words[i]);
}

static void test_every_type(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test -v --heads -3 --panel 1 --steps=9000000000 --seed 18446744073709551615 "
                    "--rate 2.5e-4 -oout.csv --device cuda --task x --save values,keys,keys "
                    "--data a b - c --name d",
                    &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_RUN);
    assert_true(v.verbose);
    assert_int_equal(v.heads, -3);
    assert_int_equal(v.panel, 1);
    assert_int_equal(v.samples, 0);
    assert_true(v.steps == 9000000000);
    assert_true(v.seed == UINT64_MAX);
    assert_true(v.rate == 2.5e-4);
    assert_true(v.rate_given);
    assert_string_equal(v.output, "out.csv");
    assert_int_equal(v.device, 2);
    assert_string_equal(v.task, "x");
    assert_int_equal(v.save, 1 | 4);
    assert_list(&v.data, (const char *const[]){"a", "b", "-", "c"}, 4);
    assert_list(&v.names, (const char *const[]){"d"}, 1);
    release(&v);
}

static void test_defaults_stay(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test", &v, false, &outcome));
    assert_int_equal(v.heads, 4);
    assert_int_equal(v.save, 2);
    assert_false(v.verbose || v.rate_given || v.data_given);
    assert_int_equal(v.data.count, 0);
}

/* Lists add up, see below. */
static void test_flags_may_be_repeated(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test -v --verbose --heads 1 -v", &v, false, &outcome));
    assert_true(v.verbose);
    assert_int_equal(v.heads, 1);
}

static void test_lists(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test -d a b -v --data c --data=d e", &v, false, &outcome));
    assert_true(v.verbose && v.data_given);
    assert_list(&v.data, (const char *const[]){"a", "b", "c", "d", "e"}, 5);
    release(&v);
    assert_fails(parse("test -d a --data --verbose", &v, false, &outcome), STATUS_USAGE);
}

/* No option begins with a minus and a digit. */
static void test_negative_numbers_are_values(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test --output -1 --data -2 -.5", &v, false, &outcome));
    assert_string_equal(v.output, "-1");
    assert_list(&v.data, (const char *const[]){"-2", "-.5"}, 2);
    release(&v);
}

static void test_operands(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test in.h5 -v - --heads 2 more.h5 -- -v --heads", &v, true, &outcome));
    assert_list(&v.operands, (const char *const[]){"in.h5", "-", "more.h5", "-v", "--heads"}, 5);
    assert_int_equal(v.heads, 2);
    release(&v);
    /* A list ends at "--". */
    assert_ok(parse("test -d a -- b", &v, true, &outcome));
    assert_list(&v.data, (const char *const[]){"a"}, 1);
    assert_list(&v.operands, (const char *const[]){"b"}, 1);
    release(&v);
}

static void test_help_and_version_win(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test -v --help --heads x word", &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_HELP);
    assert_ok(parse("test -v -h all --nonsense", &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_HELP_ALL);
    assert_ok(parse("test --help all", &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_HELP_ALL);
    assert_ok(parse("test --help=all", &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_HELP_ALL);
    assert_ok(parse("test -h word", &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_HELP);
    assert_ok(parse("test --version --nonsense", &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_VERSION);
    assert_fails(parse("test --heads x --help", &v, false, &outcome), STATUS_USAGE);
}

static void test_for_scripts(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test --options=completion", &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_COMPLETION);
    assert_ok(parse("test --options=page", &v, false, &outcome));
    assert_int_equal(outcome, MGK_ARGS_PAGE);
    assert_fails(parse("test -v --options=completion", &v, false, &outcome), STATUS_USAGE);
    assert_fails(parse("test --options=completion -v", &v, false, &outcome), STATUS_USAGE);
    assert_fails(parse("test --options=x", &v, false, &outcome), STATUS_USAGE);
}

static void amounts(void **state)
{
    (void)state;
    values v;
    mgk_args_outcome outcome;
    assert_ok(parse("test --samples 7", &v, false, &outcome));
    assert_int_equal(v.samples, 7);
    assert_ok(parse("test --samples=all", &v, false, &outcome));
    assert_int_equal(v.samples, -1);
}

static void test_messages(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"test --heads x", "--heads: expected a whole number, got \"x\""},
        {"test --heads 4.0", "--heads: expected a whole number, got \"4.0\""},
        {"test --panel 0", "--panel: expected at least 1, got \"0\""},
        {"test --panel -2147483648", "--panel: expected at least 1, got \"-2147483648\""},
        {"test --panel x", "--panel: expected a whole number, got \"x\""},
        {"test --samples 0", "--samples: expected at least 1, got \"0\""},
        {"test --samples -1", "--samples: expected at least 1, got \"-1\""},
        {"test --samples every", "--samples: expected a whole number or \"all\", got \"every\""},
        {"test --heads=", "--heads: expected a whole number, got \"\""},
        {"test --heads 2147483648",
         "--heads: expected a whole number of at most 2147483647 in size, got \"2147483648\""},
        {"test -s 99999999999999999999",
         "--steps: expected a whole number, got \"99999999999999999999\""},
        {"test --seed -1", "--seed: expected a whole number, not negative, got \"-1\""},
        {"test --rate nan", "--rate: expected a finite number, got \"nan\""},
        {"test --rate 1e-3x", "--rate: expected a finite number, got \"1e-3x\""},
        {"test --device gpu", "--device: expected auto|cpu|cuda, got \"gpu\""},
        {"test --device cp", "--device: expected auto|cpu|cuda, got \"cp\""},
        {"test --save=", "--save: expected words of keys,key,values, got \"\""},
        {"test --save keys,", "--save: expected words of keys,key,values, got \"keys,\""},
        {"test --save ke", "--save: expected words of keys,key,values, got \"ke\""},
        {"test --save value,keys", "--save: expected words of keys,key,values, got \"value,keys\""},
        {"test --save -v", "--save: expected keys,key,values"},
        {"test --task -v", "--task: expected lm|text"},
        {"test --output", "--output: expected FILE"},
        {"test -o", "--output: expected FILE"},
        {"test -o --verbose", "--output: expected FILE"},
        {"test --data", "--data: expected PATH..."},
        {"test --data -v", "--data: expected PATH..."},
        {"test --verbose=yes", "--verbose=yes: the option takes no value"},
        {"test --help=yes", "--help: expected all, got \"yes\""},
        {"test -x", "-x: unknown option (see --help)"},
        {"test --colour red", "--colour: unknown option (see --help)"},
        {"test --s 3", "--s: which of --samples, --steps, --seed, --save?"},
        {"test --ste=3 --stesp=4", "--stesp=4: unknown option; did you mean --steps? (see --help)"},
        {"test --haeds 4", "--haeds: unknown option; did you mean --heads? (see --help)"},
        {"test --outputs x", "--outputs: unknown option; did you mean --output? (see --help)"},
        {"test --HEADS 4", "--HEADS: unknown option; did you mean --heads? (see --help)"},
        {"test --verison", "--verison: unknown option; did you mean --version? (see --help)"},
        {"test --steps-per-run 4",
         "--steps-per-run: unknown option; did you mean --steps? (see --help)"},
        {"test --stepsize 4", "--stepsize: unknown option (see --help)"},
        {"test --xyz", "--xyz: unknown option (see --help)"},
        {"test -output x", "-output: did you mean --output?"},
        {"test -v -verbose", "-verbose: did you mean --verbose?"},
        {"test -steps=4", "-steps=4: did you mean --steps?"},
        {"test --heads 1 --heads 2", "--heads is given twice: \"1\" and \"2\""},
        {"test --steps 5 -v -s 5", "--steps is given twice: \"5\" and \"5\""},
        {"test -oa.csv --output=b.csv", "--output is given twice: \"a.csv\" and \"b.csv\""},
        {"test --device cpu --device auto", "--device is given twice: \"cpu\" and \"auto\""},
        {"test --save key --save keys", "--save is given twice: \"key\" and \"keys\""},
        {"test word", "unexpected word \"word\" (see --help)"},
        {"test -- -v", "unexpected word \"-v\" (see --help)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        values v;
        mgk_args_outcome outcome;
        assert_fails(parse(cases[i].line, &v, false, &outcome), STATUS_USAGE);
        assert_string_equal(mgk_fail_message(), cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_defaults_stay),
        cmocka_unit_test(test_flags_may_be_repeated),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_negative_numbers_are_values),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_help_and_version_win),
        cmocka_unit_test(test_for_scripts),
        cmocka_unit_test(amounts),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
