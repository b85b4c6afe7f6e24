/* SPDX-License-Identifier: MIT */
/* mgk-eval: how well models predict an input. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "tools/input.h"
#include "tools/kind_names.h"

typedef enum layout { LINES, CSV, JSON } layout;

enum { COLUMNS = 7 };
static const char *const titles[COLUMNS] = {"samples",    "length",        "targets", "loss",
                                            "perplexity", "bits_per_byte", "accuracy"};

static void values_of(const mgk_evaluation_summary *s, double out[COLUMNS])
{
    const double values[COLUMNS] = {s->samples,    s->length,        (double)s->targets, s->loss,
                                    s->perplexity, s->bits_per_byte, s->accuracy};
    memcpy(out, values, sizeof(values));
}

/* The name of a model between quotes, as CSV or JSON want it. */
static void print_name(const char *name, layout how)
{
    putchar('"');
    for (; *name; name++) {
        const unsigned char letter = (unsigned char)*name;
        if (how == CSV && letter == '"')
            fputs("\"\"", stdout);
        else if (how == JSON && letter < ' ')
            printf("\\u%04x", letter);
        else if (how == JSON && (letter == '"' || letter == '\\'))
            printf("\\%c", letter);
        else
            putchar(letter);
    }
    putchar('"');
}

static void print_number(double value, const char *missing)
{
    if (isnan(value))
        fputs(missing, stdout);
    else
        mgk_print_real(stdout, value);
}

static void print_json(const char *name, const double values[COLUMNS], bool first)
{
    fputs(first ? "[{\"model\": " : ",\n {\"model\": ", stdout);
    print_name(name, JSON);
    for (int i = 0; i < COLUMNS; i++) {
        printf(", \"%s\": ", titles[i]);
        print_number(values[i], "null");
    }
    putchar('}');
}

static void print_csv(const char *name, const double values[COLUMNS], bool first)
{
    if (first)
        fputs("model", stdout);
    for (int i = 0; first && i < COLUMNS; i++)
        printf(",%s%s", titles[i], i + 1 == COLUMNS ? "\n" : "");
    print_name(name, CSV);
    for (int i = 0; i < COLUMNS; i++) {
        putchar(',');
        print_number(values[i], "");
    }
    putchar('\n');
}

static void print_line(const char *name, const double values[COLUMNS], bool first)
{
    for (int i = 0; first && i < COLUMNS; i++)
        printf("%14s%s", titles[i], i + 1 == COLUMNS ? "  model\n" : "");
    for (int i = 0; i < COLUMNS; i++)
        if (isnan(values[i]))
            printf("%14s", "-");
        else
            printf(i < 3 ? "%14.0f" : "%14.6g", values[i]);
    printf("  %s\n", name);
}

static void print(const char *name, const mgk_evaluation_summary *summary, layout how, bool first)
{
    double values[COLUMNS];
    values_of(summary, values);
    if (how == LINES)
        print_line(name, values, first);
    else if (how == CSV)
        print_csv(name, values, first);
    else
        print_json(name, values, first);
    fflush(stdout);
}

static mgk_result evaluate_all(mgk_tool *tool, const mgk_arg_list *models, mgk_evaluate_options *o,
                               layout how)
{
    mgk_result result = MGK_OK;
    bool printed = false;
    o->job = tool->job;
    for (size_t i = 0; i < models->count && result == MGK_OK; i++) {
        mgk_evaluation_summary summary;
        o->model = models->words[i];
        result = mgk_evaluate_model(o, &summary);
        mgk_progress_finish(&tool->bar);
        if (result == MGK_OK)
            print(o->model, &summary, how, !printed);
        printed = printed || result == MGK_OK;
    }
    if (how == JSON && printed)
        puts("]");
    return result;
}

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"Input", "One of --text, --tokens and --task is needed; a decoder also reads --audio."},
    {"samples", "If fewer than all are taken, they are drawn by seed.\n"
                "Each passage of a pair is one sequence, and a pair of which one is drawn is "
                "evaluated whole."},
    {"stride", "A window has {N} tokens (--length).\n"
               "The first window predicts all its tokens, each other one its last {K}, which have "
               "{N}-{K} tokens or more of their window before them; every token but the first of "
               "the text is predicted once.\n"
               "A run takes {N}/{K} times as long as without.\n"
               "--tokens must then be an array with one axis."},
    {"json", "An array of objects with the names `model`, `samples`, `length`, `targets`, `loss`, "
             "`perplexity`, `bits_per_byte` and `accuracy`; `null` is what a model does not have, "
             "or what is not known."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {0};
    mgk_evaluate_options o = mgk_evaluate_options_default();
    mgk_tool_input in = {.input = o.input};
    mgk_arg_list models = {0};
    int double_precision = 0;
    bool json = false, csv = false;
    char kinds[MGK_TOOL_KINDS];
    mgk_tool_list_kinds(kinds);
    const mgk_arg args[] = {
        {MGK_ARG_HEADING, 0, "Input", NULL, NULL, NULL, NULL},
        MGK_TOOL_INPUT_ARGS(&in, " (default: all)"),
        {MGK_ARG_INT, 0, "stride", &o.stride, "K",
         "Windows of a text begin so many tokens apart, and each but the first predicts its last "
         "K tokens alone; 0, the default: they do not overlap.",
         NULL},
        {MGK_ARG_HEADING, 0, "Output", NULL, NULL, NULL, NULL},
        {MGK_ARG_FLAG, 0, "json", &json, NULL, "Print JSON.", NULL},
        {MGK_ARG_FLAG, 0, "csv", &csv, NULL, "Print CSV, a row for each model.", NULL},
        {MGK_ARG_CHOICE, 0, "precision", &double_precision, "single|double",
         "Precision of the forward pass.", NULL},
        MGK_TOOL_TF32_ARG(&tool),
        MGK_TOOL_MODEL_ARGS(&tool),
        MGK_TOOL_AS_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
    };
    const mgk_program program = {
        .name = "mgk-eval",
        .usage = "MODEL... (--text FILE... | --tokens FILE | --task TASK [--data PATH...]) "
                 "[options]",
        .summary = "Measures how well models predict: loss and accuracy, and of language models "
                   "perplexity and bits per byte.",
        .examples = "  mgk-eval mgk4.safetensors softmax8.safetensors --text valid.txt\n"
                    "  mgk-eval gpt2/ --text valid.txt --length 1023 --stride 512\n"
                    "  mgk-eval gpt2/ --text valid.txt --length 512 --as performer --features 256\n"
                    "  mgk-eval listops.safetensors --task listops --data basic_test.tsv --json\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "text tokens task data samples length stride json csv",
        .notes = {notes, mgk_tool_input_notes, mgk_tool_model_notes, mgk_tool_as_notes,
                  mgk_tool_settings_notes, mgk_tool_notes},
        .operands = &models,
        .offered = {{"as", kinds}},
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    if (models.count == 0 || (json && csv))
        return mgk_tool_usage(&tool, models.count == 0 ? "at least one MODEL is needed"
                                                       : "--json and --csv exclude each other");
    mgk_tool_input_end(&in);
    o.input = in.input;
    o.double_precision = double_precision;
    mgk_status status = mgk_tool_input_read(&tool, &in, &o.input);
    if (status != STATUS_OK)
        return mgk_tool_refuse(&tool, status);
    mgk_tool_watch(&tool, "evaluating", "tokens");
    return mgk_tool_end(&tool, evaluate_all(&tool, &models, &o, json ? JSON : csv ? CSV : LINES));
}
