/* The help and the lines for the completion, letter by letter. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/args.h"

static const char help[] =
    "Usage: test IN... -o OUT [options]\n"
    "Tests the help.\n"
    "\n"
    "Options:\n"
    "      --heads H               Heads of each layer. (default: 4)\n"
    "      --steps S               Steps.\n"
    "      --device auto|cpu|cuda  Where to compute. (default: cpu)\n"
    "      --task lm|text[:N]      What to learn.\n"
    "\n"
    "Files:\n"
    "  -o, --output FILE           What is written; the sentence is so long that it does not fit\n"
    "                              into the line and goes on below. (default: out.csv)\n"
    "      --data PATH...          What is read.\n"
    "      --an-option-of-an-exceptional-length N\n"
    "                              Its help begins below. (default: 0.001)\n"
    "      --save keys,queries,v   What to keep. (default: keys,v)\n"
    "  -q, --quiet                 Say nothing.\n"
    "      --help                  Print this text.\n"
    "      --version               Print the version.\n"
    "\n"
    "Examples:\n"
    "  test a.h5 -o b.csv\n";

static const char completion[] = "--heads --heads value\n"
                                 "--steps --steps value\n"
                                 "--device --device word auto cpu cuda\n"
                                 "--task --task word lm text\n"
                                 "--output -o file\n"
                                 "--data --data file\n"
                                 "--an-option-of-an-exceptional-length "
                                 "--an-option-of-an-exceptional-length value\n"
                                 "--save --save words keys queries v\n"
                                 "--quiet -q flag\n"
                                 "--help --help flag\n"
                                 "--version --version flag\n"
                                 "operand operand word rank dump\n";

/* What `print` says of a table with every type of option. */
static char *text_of(void (*print)(const mgk_program *, FILE *))
{
    static const char *const first[] = {"rank", "dump", NULL};
    int heads = 4, device = 1;
    int64_t steps = 0;
    double real = 1e-3;
    bool quiet = true;
    const char *output = "out.csv", *task = NULL;
    unsigned save = 5;
    mgk_arg_list data = {0};
    const mgk_arg args[] = {
        {MGK_ARG_INT, 0, "heads", &heads, "H", "Heads of each layer.", NULL},
        {MGK_ARG_INT64, 0, "steps", &steps, "S", "Steps.", NULL},
        {MGK_ARG_CHOICE, 0, "device", &device, "auto|cpu|cuda", "Where to compute.", NULL},
        {MGK_ARG_WORD, 0, "task", &task, "lm|text[:N]", "What to learn.", NULL},
        {MGK_ARG_HEADING, 0, "Files", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 'o', "output", &output, "FILE",
         "What is written; the sentence is so long that it does not fit into the line and goes on "
         "below.",
         NULL},
        {MGK_ARG_FILES, 0, "data", &data, "PATH...", "What is read.", NULL},
        {MGK_ARG_REAL, 0, "an-option-of-an-exceptional-length", &real, "N",
         "Its help begins below.", NULL},
        {MGK_ARG_CHOICES, 0, "save", &save, "keys,queries,v", "What to keep.", NULL},
        {MGK_ARG_FLAG, 'q', "quiet", &quiet, NULL, "Say nothing.", NULL},
    };
    const mgk_program program = {.name = "test",
                                 .usage = "IN... -o OUT [options]",
                                 .summary = "Tests the help.",
                                 .examples = "  test a.h5 -o b.csv\n",
                                 .args = args,
                                 .count = sizeof(args) / sizeof(args[0]),
                                 .first = first};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print(&program, out);
    fclose(out);
    return text;
}

static void test_help(void **state)
{
    (void)state;
    char *text = text_of(mgk_args_help);
    assert_string_equal(text, help);
    free(text);
}

static void test_completion(void **state)
{
    (void)state;
    char *text = text_of(mgk_args_completion);
    assert_string_equal(text, completion);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_help),
                                       cmocka_unit_test(test_completion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
