/* The help text, letter by letter. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/args.h"

static const char expected[] =
    "Usage: test IN... -o OUT [options]\n"
    "Tests the help.\n"
    "\n"
    "Options:\n"
    "      --heads H               Heads of each layer. (default: 4)\n"
    "      --steps S               Steps.\n"
    "      --device auto|cpu|cuda  Where to compute. (default: cpu)\n"
    "\n"
    "Files:\n"
    "  -o, --output FILE           What is written; the sentence is so long that it does not fit\n"
    "                              into the line and goes on below. (default: out.csv)\n"
    "      --an-option-of-an-exceptional-length N\n"
    "                              Its help begins below. (default: 0.001)\n"
    "  -q, --quiet                 Say nothing.\n"
    "      --help                  Print this text.\n"
    "      --version               Print the version.\n"
    "\n"
    "Examples:\n"
    "  test a.h5 -o b.csv\n";

static void test_help(void **state)
{
    (void)state;
    int heads = 4, device = 1;
    int64_t steps = 0;
    double real = 1e-3;
    bool quiet = true;
    const char *output = "out.csv";
    const mgk_arg args[] = {
        {MGK_ARG_INT, 0, "heads", &heads, "H", "Heads of each layer.", NULL},
        {MGK_ARG_INT64, 0, "steps", &steps, "S", "Steps.", NULL},
        {MGK_ARG_CHOICE, 0, "device", &device, "auto|cpu|cuda", "Where to compute.", NULL},
        {MGK_ARG_HEADING, 0, "Files", NULL, NULL, NULL, NULL},
        {MGK_ARG_TEXT, 'o', "output", &output, "FILE",
         "What is written; the sentence is so long that it does not fit into the line and goes on "
         "below.",
         NULL},
        {MGK_ARG_REAL, 0, "an-option-of-an-exceptional-length", &real, "N",
         "Its help begins below.", NULL},
        {MGK_ARG_FLAG, 'q', "quiet", &quiet, NULL, "Say nothing.", NULL},
    };
    const mgk_program program = {.name = "test",
                                 .usage = "IN... -o OUT [options]",
                                 .summary = "Tests the help.",
                                 .examples = "  test a.h5 -o b.csv\n",
                                 .args = args,
                                 .count = sizeof(args) / sizeof(args[0])};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    mgk_args_help(&program, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_help)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
