/* SPDX-License-Identifier: MIT */
/* The help, the man page's options and the completion's lines, letter by letter. */
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
    "      --measures LIST         What to measure.\n"
    "  -q, --quiet                 Say nothing.\n"
    "  -h, --help                  Print the options that one needs first and exit; --help all\n"
    "                              prints all of them.\n"
    "      --version               Print the version and exit.\n"
    "\n"
    "Examples:\n"
    "  test a.h5 -o b.csv\n"
    "  test a.h5 \\\n"
    "    -o c.csv\n"
    "  test d.h5 -o e.csv\n";

/* The options of `screen`, in its order. */
static const char screen[] = "Usage: test IN... -o OUT [options]\n"
                             "Tests the help.\n"
                             "\n"
                             "  -o, --output FILE           What is written. (default: out.csv)\n"
                             "      --device auto|cpu|cuda  Where to compute. (default: cpu)\n"
                             "      --data PATH...          What is read.\n"
                             "  -h, --help all              Print all options.\n"
                             "\n"
                             "Examples:\n"
                             "  test a.h5 -o b.csv\n"
                             "  test a.h5 \\\n"
                             "    -o c.csv\n";

static const char completion[] = "--heads --heads value\n"
                                 "--steps --steps value\n"
                                 "--device --device word auto cpu cuda\n"
                                 "--task --task word lm text\n"
                                 "--output -o file\n"
                                 "--data --data file\n"
                                 "--an-option-of-an-exceptional-length "
                                 "--an-option-of-an-exceptional-length value\n"
                                 "--save --save words keys queries v\n"
                                 "--measures --measures words rank js\n"
                                 "--quiet -q flag\n"
                                 "--help -h flag\n"
                                 "--version --version flag\n"
                                 "operand operand word rank dump\n";

/* Typed dashes have a backslash, hyphens within words have none. */
static const char page[] =
    ".TP\n\\fB\\-\\-heads\\fR \\fIH\\fR\nHeads of each layer.\nDefault: \\fB4\\fR.\n"
    ".TP\n\\fB\\-\\-steps\\fR \\fIS\\fR\nSteps.\n"
    ".TP\n\\fB\\-\\-device\\fR \\fIauto|cpu|cuda\\fR\n"
    "Where to compute.\nDefault: \\fBcpu\\fR.\n"
    "\\fBcuda \\-x\\fR is for well-made GPU\\-4, see \\fB\\-\\-tf32\\-on\\fR, 10\\-bit and \\-1.\n"
    "\\&.npy, a \\fIname\\fR\\fB.a\\-b\\fR and a back\\eslash.\n"
    "A line of at most 110 characters, as this one, ends with the last word that fits; what comes "
    "later is in other\nlines.\n"
    "Here the last word would be the one that makes the line too long by one single character, so "
    "that it goes\ndown.\n"
    ".TP\n\\fB\\-\\-task\\fR \\fIlm|text[:N]\\fR\nWhat to learn.\n"
    ".SS Files\nBelow the heading.\n"
    ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\n"
    "What is written; the sentence is so long that it does not fit into the line and goes on "
    "below.\n"
    "Default: \\fBout.csv\\fR.\n"
    ".TP\n\\fB\\-\\-data\\fR \\fIPATH...\\fR\nWhat is read.\n"
    ".TP\n\\fB\\-\\-an\\-option\\-of\\-an\\-exceptional\\-length\\fR \\fIN\\fR\n"
    "Its help begins below.\nDefault: \\fB0.001\\fR.\n"
    ".TP\n\\fB\\-\\-save\\fR \\fIkeys,queries,v\\fR\nWhat to keep.\nDefault: \\fBkeys,v\\fR.\n"
    ".TP\n\\fB\\-\\-measures\\fR \\fILIST\\fR\nWhat to measure.\n"
    ".TP\n\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\nSay nothing.\nFirst.\nSecond.\n"
    ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint the options that one needs first and exit; "
    "\\fB\\-\\-help\\fR all prints all of them.\n"
    ".TP\n\\fB\\-\\-version\\fR\nPrint the version and exit.\n";

static const mgk_arg_note own_notes[] = {
    {"device",
     "`cuda -x` is for well-made GPU-4, see --tf32-on, 10-bit and -1.\n"
     ".npy, a {name}`.a-b` and a back\\slash.\n"
     "A line of at most 110 characters, as this one, ends with the last word that fits; what comes "
     "later is in other lines.\n"
     "Here the last word would be the one that makes the line too long by one single character, so "
     "that it goes down."},
    {"Files", "Below the heading."},
    {"quiet", "First."},
    {NULL, NULL},
};
static const mgk_arg_note shared_notes[] = {{"quiet", "Second."}, {NULL, NULL}};
static const mgk_arg_note stray_notes[] = {{"quite", "Third."}, {NULL, NULL}};

static void print_page(const mgk_program *program, FILE *out)
{
    assert_ok(mgk_args_page(program, out));
}

/* A note that belongs to no option is refused, and nothing is printed. */
static void print_stray(const mgk_program *program, FILE *out)
{
    mgk_program astray = *program;
    astray.notes[2] = stray_notes;
    assert_fails(mgk_args_page(&astray, out), STATUS_USAGE);
}

/* The text that `print` writes for a table with every type of option. */
static char *text_of(void (*print)(const mgk_program *, FILE *))
{
    static const char *const first[] = {"rank", "dump", NULL};
    int heads = 4, device = 1;
    int64_t steps = 0;
    double real = 1e-3;
    bool quiet = true;
    const char *output = "out.csv", *task = NULL, *measures = NULL;
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
        {MGK_ARG_TEXT, 0, "measures", &measures, "LIST", "What to measure.", NULL},
        {MGK_ARG_FLAG, 'q', "quiet", &quiet, NULL, "Say nothing.", NULL},
    };
    const mgk_program program = {.name = "test",
                                 .usage = "IN... -o OUT [options]",
                                 .summary = "Tests the help.",
                                 .examples = "  test a.h5 -o b.csv\n"
                                             "  test a.h5 \\\n"
                                             "    -o c.csv\n"
                                             "  test d.h5 -o e.csv\n",
                                 .args = args,
                                 .count = sizeof(args) / sizeof(args[0]),
                                 .screen = "output device data",
                                 .notes = {own_notes, shared_notes},
                                 .first = first,
                                 .offered = {{"measures", "rank,js"}}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print(&program, out);
    fclose(out);
    return text;
}

static void print_all(const mgk_program *program, FILE *out)
{
    mgk_args_help(program, true, out);
}

static void print_screen(const mgk_program *program, FILE *out)
{
    mgk_args_help(program, false, out);
}

static void test_help(void **state)
{
    (void)state;
    char *text = text_of(print_all);
    assert_string_equal(text, help);
    free(text);
    text = text_of(print_screen);
    assert_string_equal(text, screen);
    free(text);
}

static void test_completion(void **state)
{
    (void)state;
    char *text = text_of(mgk_args_completion);
    assert_string_equal(text, completion);
    free(text);
}

static void test_page(void **state)
{
    (void)state;
    char *text = text_of(print_page);
    assert_string_equal(text, page);
    free(text);
    text = text_of(print_stray);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_help),
                                       cmocka_unit_test(test_completion),
                                       cmocka_unit_test(test_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
