/* SPDX-License-Identifier: MIT */
/* mgk-eval: how well models predict an input. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "tools/input.h"
#include "tools/kind_names.h"
#include "tools/print_evaluation.h"

/* All evaluations, each with its row. */
typedef struct evaluations {
    size_t count;
    bool in_pairs; /* of each model two: whole, and without the heads of --remove */
    mgk_evaluation_row *rows;
} evaluations;

/*
 * Without --compare there is one of each model. Further models are compared with the first, or if
 * heads are removed, each model without them with the same one with all heads.
 */
static mgk_status plan(const mgk_arg_list *models, bool compare, bool removes, evaluations *out)
{
    out->in_pairs = compare && removes;
    out->count = models->count * (out->in_pairs ? 2 : 1);
    TRY(mgk_alloc(out->count, sizeof(*out->rows), &out->rows));
    for (size_t i = 0; i < out->count; i++) {
        const size_t reference = out->in_pairs ? i - i % 2 : 0;
        out->rows[i].name = models->words[out->in_pairs ? i / 2 : i];
        out->rows[i].reference = compare && reference != i ? &out->rows[reference] : NULL;
    }
    return STATUS_OK;
}

static void release(evaluations *all)
{
    for (size_t i = 0; all->rows && i < all->count; i++)
        mgk_release(all->rows[i].summary.sample_losses);
    mgk_free(all->rows);
}

static mgk_result evaluate_one(const mgk_evaluate_options *options, const evaluations *all,
                               size_t i)
{
    mgk_evaluate_options o = *options;
    o.model = all->rows[i].name;
    if (all->in_pairs && i % 2 == 0)
        o.remove_count = 0;
    return mgk_evaluate_model(&o, &all->rows[i].summary);
}

static mgk_result compare_row(mgk_evaluation_row *row, const mgk_job *job)
{
    if (!row->reference)
        return MGK_OK;
    mgk_result result =
        mgk_compare_evaluations(&row->reference->summary, &row->summary, job, &row->difference);
    row->compared = result == MGK_OK;
    return result;
}

/* A row is printed before its comparison fails. */
static mgk_result evaluate_all(mgk_tool *tool, const mgk_evaluate_options *o, evaluations *all,
                               mgk_evaluation_table *printed, mgk_evaluation_table *kept)
{
    mgk_result result = MGK_OK;
    for (size_t i = 0; i < all->count && result == MGK_OK; i++) {
        result = evaluate_one(o, all, i);
        mgk_progress_finish(&tool->bar);
        if (result != MGK_OK)
            break;
        result = compare_row(&all->rows[i], &o->job);
        mgk_print_evaluation(printed, &all->rows[i]);
        mgk_print_evaluation(kept, &all->rows[i]);
    }
    mgk_end_evaluations(printed);
    mgk_end_evaluations(kept);
    if (printed->layout == MGK_EVALUATION_LINES)
        mgk_print_differences(stdout, all->count, all->rows);
    return result;
}

/* Evaluates all models, and writes the output once all of them are done. */
static int run(mgk_tool *tool, mgk_evaluate_options *o, evaluations *all,
               mgk_evaluation_table *printed, mgk_evaluation_layout kept)
{
    char *text = NULL;
    size_t size;
    mgk_evaluation_table file = *printed;
    file.layout = kept;
    file.stream = NULL;
    printed->stream = stdout;
    if (o->output && !(file.stream = open_memstream(&text, &size)))
        return mgk_tool_refuse(tool, mgk_fail(STATUS_MEMORY, "no memory for the table"));
    mgk_tool_watch(tool, "evaluating", "tokens");
    o->job = tool->job;
    mgk_result result = evaluate_all(tool, o, all, printed, &file);
    const bool whole = !file.stream || (fclose(file.stream) == 0 && text);
    if (whole && o->output && result == MGK_OK)
        result = mgk_write_output(&o->job, o->output, text, size);
    free(text);
    return whole ? mgk_tool_end(tool, result)
                 : mgk_tool_refuse(tool, mgk_fail(STATUS_MEMORY, "no memory for the table"));
}

/* The words of a list with blanks between them; release with free. NULL: no memory. */
static char *join_words(const mgk_arg_list *list)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    for (size_t i = 0; stream && i < list->count; i++)
        fprintf(stream, "%s%s", i > 0 ? " " : "", list->words[i]);
    if (stream && fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

/* The layout of an output by its ending. */
static mgk_status layout_of(const char *output, mgk_evaluation_layout *how)
{
    *how = output && mgk_ends_with(output, ".json") ? MGK_EVALUATION_JSON : MGK_EVALUATION_CSV;
    if (!output || *how == MGK_EVALUATION_JSON || mgk_ends_with(output, ".csv"))
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
    {"compare",
     "Differences of the means over all targets, and the middle 95 % of 10000 bootstrap draws of "
     "samples, which are paired: the models need the same tokens, and windows of the same "
     "--length. "
     "They tell what other samples would change, not what another training would.\n"
     "Windows of one text are alike, and count as if they were independent: intervals are a little "
     "too narrow."},
    {"output", "The table is what --csv or --json print, and is written when all models are done."},
    {"json",
     "An array of objects with the names `model`, `samples`, `length`, `targets`, `loss`, "
     "`perplexity`, `bits_per_byte` and `accuracy`; `null` is what a model does not have, "
     "or what is not known. With --remove also `removed`, the number of heads, and "
     "`removed_heads`, "
     "which; with --compare "
     "`loss_difference`, `loss_low`, `loss_high`, `loss_p` and the same four of the accuracy. "
     "p is that of Student's t test of the pairs, for one comparison alone."},
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
    evaluations all = {.count = 0};
    bool json = false, csv = false, compare = false;
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
        {MGK_ARG_FLAG, 0, "compare", &compare, NULL,
         "Compare each further model with the first, or with --remove each model with itself with "
         "all heads: differences and their 95 % intervals.",
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
                    "  mgk-eval softmax8.safetensors mgk4.safetensors --text valid.txt --compare\n"
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
    if (compare && models.count < 2 && remove.count == 0)
        return mgk_tool_usage(&tool, "--compare needs another model, or --remove");
    mgk_tool_input_end(&in);
    o.input = in.input;
    o.double_precision = double_precision;
    mgk_evaluation_layout kept = MGK_EVALUATION_CSV;
    status = mgk_tool_output(&tool, &o.output, MGK_TOOL_TABLE);
    if (status == STATUS_OK)
        status = layout_of(o.output, &kept);
    if (status == STATUS_OK)
        status = mgk_tool_heads("--remove", &remove, &removed, &o.remove_count);
    if (status == STATUS_OK)
        status = mgk_tool_input_read(&tool, &in, &o.input);
    if (status == STATUS_OK)
        status = plan(&models, compare, o.remove_count > 0, &all);
    char *removed_text = status == STATUS_OK ? join_words(&remove) : NULL;
    if (status == STATUS_OK && !removed_text)
        status = mgk_fail(STATUS_MEMORY, "no memory for the table");
    o.remove = removed;
    o.per_sample = compare;
    mgk_evaluation_table printed = {.layout = json  ? MGK_EVALUATION_JSON
                                              : csv ? MGK_EVALUATION_CSV
                                                    : MGK_EVALUATION_LINES,
                                    .removed = o.remove_count > 0 ? removed_text : NULL,
                                    .compares = compare};
    const int ended =
        status == STATUS_OK ? run(&tool, &o, &all, &printed, kept) : mgk_tool_refuse(&tool, status);
    release(&all);
    mgk_free(removed);
    free(removed_text);
    return ended;
}
