/* SPDX-License-Identifier: MIT */
/* mgk-eval: how well models predict an input. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "tools/input.h"
#include "tools/kind_names.h"

typedef enum layout { LINES, CSV, JSON } layout;

enum { COLUMNS = 7 };
static const char *const titles[COLUMNS] = {"samples",    "length",        "targets", "loss",
                                            "perplexity", "bits_per_byte", "accuracy"};

/* A table on its way to a stream, a row for each model. */
typedef struct table {
    FILE *stream; /* NULL: none */
    layout how;
    size_t rows;
} table;

static void values_of(const mgk_evaluation_summary *s, double out[COLUMNS])
{
    const double values[COLUMNS] = {s->samples,    s->length,        (double)s->targets, s->loss,
                                    s->perplexity, s->bits_per_byte, s->accuracy};
    memcpy(out, values, sizeof(values));
}

/* A field of CSV between quotes, of which it doubles its own. */
static void print_field(FILE *stream, const char *text)
{
    putc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', stream);
        putc(*text, stream);
    }
    putc('"', stream);
}

static void print_number(const table *t, double value, const char *missing)
{
    if (isnan(value))
        fputs(missing, t->stream);
    else
        mgk_print_real(t->stream, value);
}

static void print_json(const table *t, const char *name, const double values[COLUMNS])
{
    fputs(t->rows == 0 ? "[{\"model\": " : ",\n {\"model\": ", t->stream);
    mgk_print_string(t->stream, name, "");
    for (int i = 0; i < COLUMNS; i++) {
        fprintf(t->stream, ", \"%s\": ", titles[i]);
        print_number(t, values[i], "null");
    }
    putc('}', t->stream);
}

static void print_csv(const table *t, const char *name, const double values[COLUMNS])
{
    if (t->rows == 0)
        fputs("model", t->stream);
    for (int i = 0; t->rows == 0 && i < COLUMNS; i++)
        fprintf(t->stream, ",%s%s", titles[i], i + 1 == COLUMNS ? "\n" : "");
    print_field(t->stream, name);
    for (int i = 0; i < COLUMNS; i++) {
        putc(',', t->stream);
        print_number(t, values[i], "");
    }
    putc('\n', t->stream);
}

static void print_line(const table *t, const char *name, const double values[COLUMNS])
{
    for (int i = 0; t->rows == 0 && i < COLUMNS; i++)
        fprintf(t->stream, "%14s%s", titles[i], i + 1 == COLUMNS ? "  model\n" : "");
    for (int i = 0; i < COLUMNS; i++)
        if (isnan(values[i]))
            fprintf(t->stream, "%14s", "-");
        else
            fprintf(t->stream, i < 3 ? "%14.0f" : "%14.6g", values[i]);
    fprintf(t->stream, "  %s\n", name);
}

static void add_row(table *t, const char *name, const mgk_evaluation_summary *summary)
{
    double values[COLUMNS];
    values_of(summary, values);
    if (!t->stream)
        return;
    if (t->how == LINES)
        print_line(t, name, values);
    else if (t->how == CSV)
        print_csv(t, name, values);
    else
        print_json(t, name, values);
    fflush(t->stream);
    t->rows++;
}

static void end_rows(const table *t)
{
    if (t->stream && t->how == JSON && t->rows > 0)
        fputs("]\n", t->stream);
}

static mgk_result evaluate_all(mgk_tool *tool, const mgk_arg_list *models, mgk_evaluate_options *o,
                               table *printed, table *kept)
{
    mgk_result result = MGK_OK;
    o->job = tool->job;
    for (size_t i = 0; i < models->count && result == MGK_OK; i++) {
        mgk_evaluation_summary summary;
        o->model = models->words[i];
        result = mgk_evaluate_model(o, &summary);
        mgk_progress_finish(&tool->bar);
        if (result == MGK_OK) {
            add_row(printed, o->model, &summary);
            add_row(kept, o->model, &summary);
        }
    }
    end_rows(printed);
    end_rows(kept);
    return result;
}

/* Evaluates all models, and writes the output once all of them are done. */
static int run(mgk_tool *tool, const mgk_arg_list *models, mgk_evaluate_options *o, layout printed,
               layout kept)
{
    char *text = NULL;
    size_t size;
    table lines = {.stream = stdout, .how = printed}, file = {.how = kept};
    if (o->output && !(file.stream = open_memstream(&text, &size)))
        return mgk_tool_refuse(tool, mgk_fail(STATUS_MEMORY, "no memory for the table"));
    mgk_tool_watch(tool, "evaluating", "tokens");
    mgk_result result = evaluate_all(tool, models, o, &lines, &file);
    const bool whole = !file.stream || (fclose(file.stream) == 0 && text);
    if (whole && o->output && result == MGK_OK)
        result = mgk_write_output(&o->job, o->output, text, size);
    free(text);
    return whole ? mgk_tool_end(tool, result)
                 : mgk_tool_refuse(tool, mgk_fail(STATUS_MEMORY, "no memory for the table"));
}

/* The layout of an output by its ending. */
static mgk_status layout_of(const char *output, layout *how)
{
    *how = output && mgk_ends_with(output, ".json") ? JSON : CSV;
    if (!output || *how == JSON || mgk_ends_with(output, ".csv"))
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE, "%s: expected an ending .csv or .json", output);
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
    {"remove", "They add nothing to the output projection of their layer, as those that "
               "`mgk-diversity --prune` removes.\n"
               "Of a model with an encoder and a decoder they belong to the part that is "
               "evaluated."},
    {"output", "The table is what --csv or --json print, and is written when all models are done."},
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
    mgk_arg_list remove = {0};
    mgk_head *removed = NULL;
    bool json = false, csv = false;
    char kinds[MGK_TOOL_KINDS];
    mgk_tool_list_kinds(kinds);
    const mgk_arg args[] = {
        {MGK_ARG_HEADING, 0, "Input", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILES, 0, "model", &models, "MODEL...",
         "The models; MODEL... alone means the same.", NULL},
        MGK_TOOL_INPUT_ARGS(&in, " (default: all)"),
        {MGK_ARG_INT, 0, "stride", &o.stride, "K",
         "Windows of a text begin so many tokens apart, and each but the first predicts its last "
         "K tokens alone; 0, the default: they do not overlap.",
         NULL},
        {MGK_ARG_LIST, 0, "remove", &remove, "HEAD...",
         "Heads whose outputs are taken as 0: 0.2,1.0-3,4 are head 2 of layer 0, heads 0 to 3 of "
         "layer 1, and all of layer 4.",
         NULL},
        {MGK_ARG_HEADING, 0, "Output", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 'o', "output", &o.output, "OUT",
         "The table, a row for each model: .csv or .json.", NULL},
        {MGK_ARG_FLAG, 0, "json", &json, NULL, "Print JSON.", NULL},
        {MGK_ARG_FLAG, 0, "csv", &csv, NULL, "Print CSV, a row for each model.", NULL},
        {MGK_ARG_CHOICE, 0, "precision", &double_precision, "single|double",
         "Precision of the forward pass.", NULL},
        MGK_TOOL_TF32_ARG(&tool),
        MGK_TOOL_MODEL_ARGS(&tool),
        MGK_TOOL_AS_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
        MGK_TOOL_FORCE_ARG(&tool),
    };
    const mgk_program program = {
        .name = "mgk-eval",
        .usage = "MODEL... (--text FILE... | --tokens FILE | --task TASK [--data PATH...]) "
                 "[-o OUT.(csv|json)] [options]",
        .summary = "Measures how well models predict: loss and accuracy, and of language models "
                   "perplexity and bits per byte.",
        .examples = "  mgk-eval mgk4.safetensors softmax8.safetensors --text valid.txt\n"
                    "  mgk-eval gpt2/ --text valid.txt --length 1023 --stride 512\n"
                    "  mgk-eval gpt2/ --text valid.txt --remove 5.1,7.0-3\n"
                    "  mgk-eval gpt2/ --text valid.txt --length 512 --as performer --features 256\n"
                    "  mgk-eval listops.safetensors --task listops --data basic_test.tsv --json\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "text tokens task data samples length output json csv",
        .notes = {notes, mgk_tool_input_notes, mgk_tool_model_notes, mgk_tool_as_notes,
                  mgk_tool_settings_notes, mgk_tool_notes, mgk_tool_output_notes},
        .operands = &models,
        .offered = {{"as", kinds}},
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    mgk_status status = mgk_tool_check_models(&models, SIZE_MAX);
    if (status != STATUS_OK)
        return mgk_tool_refuse(&tool, status);
    if (json && csv)
        return mgk_tool_usage(&tool, "--json and --csv exclude each other");
    mgk_tool_input_end(&in);
    o.input = in.input;
    o.double_precision = double_precision;
    layout kept;
    status = mgk_tool_output(&tool, &o.output, MGK_TOOL_TABLE);
    if (status == STATUS_OK)
        status = layout_of(o.output, &kept);
    if (status == STATUS_OK)
        status = mgk_tool_heads("--remove", &remove, &removed, &o.remove_count);
    if (status == STATUS_OK)
        status = mgk_tool_input_read(&tool, &in, &o.input);
    o.remove = removed;
    const layout printed = json ? JSON : csv ? CSV : LINES;
    const int ended = status == STATUS_OK ? run(&tool, &models, &o, printed, kept)
                                          : mgk_tool_refuse(&tool, status);
    mgk_free(removed);
    return ended;
}
