/* SPDX-License-Identifier: MIT */
/* mgk-diversity: measures of the diversity and redundancy of attention. */
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/number.h"
#include "tools/input.h"
#include "tools/kind_names.h"
#include "tools/measure_names.h"
#include "tools/print_diversity.h"

/* Words of the command line that the table of options does not parse completely. */
typedef struct words {
    mgk_arg_list inputs, models;
    const char *measures, *layers, *heads;
    int double_precision; /* of single|double */
    double gigabytes;     /* value of --memory */
    bool limited;         /* --memory is set */
    bool precision;       /* --precision is set */
} words;

/* What parsing allocates. */
typedef struct lists {
    int *layers, *heads;
    char *text;         /* copy of --measures, cut into names */
    const char **names; /* [most] */
} lists;

/* Cuts "a,b,c" into names. */
static mgk_status cut_measures(const char *text, lists *l, mgk_diversity_options *o)
{
    if (!text)
        return STATUS_OK;
    TRY(mgk_copy_string(text, &l->text));
    mgk_tool_spell_measures(l->text);
    TRY(mgk_alloc(strlen(text) + 1, sizeof(*l->names), &l->names));
    for (char *name = l->text; name;) {
        char *comma = strchr(name, ',');
        if (comma)
            *comma = '\0';
        if (*name == '\0')
            return mgk_fail(STATUS_USAGE, "--measures \"%s\": a name is empty", text);
        l->names[o->measure_count++] = name;
        name = comma ? comma + 1 : NULL;
    }
    o->measures = l->names;
    return STATUS_OK;
}

static bool names_all(const mgk_diversity_options *o)
{
    return o->measure_count == 1 && strcmp(o->measures[0], "all") == 0;
}

static mgk_status complete(const words *w, mgk_tool_input *in, mgk_diversity_options *o, lists *l)
{
    TRY(cut_measures(w->measures, l, o));
    TRY(mgk_tool_indices("--layers", w->layers, &l->layers, &o->layer_count));
    TRY(mgk_tool_indices("--heads", w->heads, &l->heads, &o->head_count));
    mgk_tool_input_end(in);
    o->layers = l->layers;
    o->heads = l->heads;
    o->inputs = w->inputs.words;
    o->input_count = w->inputs.count;
    o->input = in->input;
    TRY(mgk_tool_check_resume(&o->input, o->output, o->resume));
    o->double_precision = w->double_precision;
    if (w->limited && !(w->gigabytes >= 1e-9 && w->gigabytes <= 1e9))
        return mgk_fail(STATUS_USAGE, "--memory %g: expected a number of gigabytes above 0",
                        w->gigabytes);
    o->models = w->models.words;
    o->model_count = w->models.count;
    if (w->precision && w->models.count == 0)
        return mgk_fail(STATUS_USAGE,
                        "the precision is about --model, not about files of matrices");
    o->memory = (size_t)(w->gigabytes * 1e9);
    return STATUS_OK;
}

/* Lists the names of all measures, with commas between them, for the completion. */
static void list_measures(size_t size, char *names)
{
    mgk_measure_description measure;
    *names = '\0';
    for (size_t i = 0; mgk_describe_measure(i, &measure) == MGK_OK; i++)
        mgk_append(names, size, "%s%s", i > 0 ? "," : "", measure.name);
}

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"allow-half",
     "Without this option it is refused where a measure takes singular values, as the "
     "ranks do, because rounding to f16 alone gives a matrix hundreds of them above "
     "1e-6.\n"
     "Other measures take f16 as it is, and a line says how it is rounded."},
    {"allow-zero-rows",
     "Means over rows then leave such rows out.\n"
     "Without this option a matrix with such a row ends the run, with a line that names it."},
    {"model", "One of --text, --tokens, --task, --images and --audio is needed."},
    {"samples", "If not given, 16, or all if the input has fewer."},
    {"measures",
     "The section MEASURES describes them.\n"
     "A measure that is named must be possible: without token ids there is no "
     "induction score, without values no output of a head, without a running model no "
     "output of a layer and no importance of a head.\n"
     "With `all` or without this option, measures that are not possible are left out; a "
     "line names them, with `all` also those that need a running model.\n"
     "Names take any case, and spaces around them."},
    {"compare",
     "For each layer and measure: the difference of means, its bootstrap interval over samples "
     "(10,000 draws by seed), and p of a t test over samples, adjusted for all rows by Holm's "
     "method.\n"
     "Intervals of fewer than 12 samples are too narrow. Windows of one text are alike, and count "
     "as "
     "samples all the same: p is then too small.\n"
     "A mean is over all heads or pairs of a layer: a sample in which one has no value does not "
     "count.\n"
     "Samples that have the same number, length and tokens in both inputs are paired, and the "
     "others left out, if they are two or more, and at least half of those of the smaller input; "
     "else all samples of each count. Two inputs of one sample each need that one. Where tokens "
     "are not known, number and length suffice.\n"
     "Models that run on one input have the same samples if they cut it alike: with the same "
     "tokenizer and the same length.\n"
     "Inputs may be HDF5 tables of earlier runs, which hold the values of each sample: nothing is "
     "measured again. A table of several inputs counts as all of them. Their samples are paired "
     "if all are the same, with known tokens. The output is a .csv."},
    {"prune",
     "Heads are removed in three ways: the least important first; by redundancy, one of the two "
     "heads of a layer with the least js at a time, the one that is closer to a third head; and in "
     "ten random orders, of which there are mean and standard deviation.\n"
     "The model runs on all samples for each head and each of these twelve orders.\n"
     "With --layers or --heads all other heads stay and are not counted.\n"
     "A loss is the mean over samples of the mean over their tokens; that of `mgk-eval` is over "
     "all tokens, which differs where samples have different lengths.\n"
     "A model without a loss is told by the divergence of its logits from those of the whole "
     "model, or by the change of its hidden states. So is a model of pairs that reads single "
     "texts: "
     "its loss is that of --task retrieval."},
    {"prune-held-out",
     "Their importance and js do not count for the orders, as in --prune on the other samples "
     "alone. Samples of a text are in its order, so that these are its end."},
    {"per-sample", "HDF5 files always hold the values of each sample."},
    {"memory",
     "A quarter is for the matrices that a running model computes at once, the rest for measures.\n"
     "What the importance of heads takes is part of it: little memory means small batches of "
     "samples.\n"
     "Measures of pairs need the matrices of all heads of a layer at once, with --across-layers "
     "and --across-models those of all layers of a sample."},
    {"across-layers",
     "Each pair has one row, with {layer} < {other_layer}, behind those of the pairs of a layer.\n"
     "Measures of layers, and --compare, still take the pairs of a layer alone."},
    {"across-models",
     "Before and after fine-tuning, two seeds, two designs: which heads of two models are alike? "
     "Only measures of pairs are taken.\n"
     "Both inputs must have the same samples, tokens and numbers of heads; of models with other "
     "numbers choose as many by --heads. Values and outputs are compared where heads have as many "
     "numbers in both.\n"
     "The table is that of one model with the layers of both, as with --across-layers: those of "
     "the second are counted on from the number of layers of the first (of a store from those "
     "that it has), so that layer 2 of the second is layer 8 if the first has six. Settings in "
     "JSON and HDF5 have this number as `second_layers_from`, and the two inputs as `joined`. "
     "Pairs of both have {layer} below it, and {other_layer} not.\n"
     "With js the closest head of the second is printed for each head of the first. Broad heads "
     "are close to many others: compare the printed mean of the closest with that of all pairs.\n"
     "`mgk-plot map` draws the heads of both in one picture, those of the second as squares."},
    {"output", "Without this option there is only the table of layers, on standard output."},
    {"resume", "Repeat the command that began the run, and add this option.\n"
               "Each finished sample, and with --prune each finished order, adds a line to "
               "{OUT}`.part`, which is deleted when the output "
               "is complete.\n"
               "The output is that of an uninterrupted run."},
    {"device", "A GPU runs the model; measures are computed on the CPU."},
    {"seed", "Chooses the samples of a model's input."},
    {"force", "The {OUT}`.part` of an interrupted run is one of them, unless it is resumed."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {.shares = true};
    mgk_diversity_options o = mgk_diversity_options_default();
    mgk_table *table = NULL;
    mgk_tool_input in = {0};
    words w = {0};
    lists l = {0};
    char names[2048];
    list_measures(sizeof(names), names);
    char kinds[MGK_TOOL_KINDS];
    mgk_tool_list_kinds(kinds);
    const mgk_arg args[] = {
        {MGK_ARG_HEADING, 0, "Input", NULL, NULL, NULL, NULL},
        {MGK_ARG_TEXT, 0, "dataset", &o.dataset, "NAME",
         "Array of matrices [..., N, N] in a file that is not an attention store. A NAME with * "
         "reads one array for each layer.",
         NULL},
        {MGK_ARG_TEXT, 0, "axes", &o.axes, "AXES",
         "The axes in front of the array's matrices, in their order, such as layer,head; if not "
         "given, sample or sample,head or sample,layer,head.",
         NULL},
        {MGK_ARG_TEXT, 0, "mask", &o.mask, "FILE",
         "The valid tokens of the array's samples, as attention_mask of transformers: zeros and "
         "ones [samples, N] (.npy, .npz, HDF5).",
         NULL},
        {MGK_ARG_FLAG, 0, "causal", &o.causal, NULL,
         "Arrays of other software come from a model with a causal mask; attention stores say so "
         "themselves.",
         NULL},
        {MGK_ARG_FLAG, 0, "allow-half", &o.allow_half, NULL,
         "Accept f16 input, whose rounding changes ranks.", NULL},
        {MGK_ARG_FLAG, 0, "allow-zero-rows", &o.allow_zero_rows, NULL,
         "Accept matrices with rows of zeros, which padded queries leave.", NULL},
        {MGK_ARG_TEXT, 0, "layers", &w.layers, "LIST",
         "Layers, such as 0,2,5-7, counted from 0; repeats count once. All if not given.", NULL},
        {MGK_ARG_TEXT, 0, "heads", &w.heads, "LIST",
         "Heads of each layer; others are not compared with these. All if not given.", NULL},
        {MGK_ARG_HEADING, 0, "Input from a running model", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILES, 0, "model", &w.models, "MODEL...",
         "Run these models instead of reading files; no matrix is stored.", NULL},
        MGK_TOOL_INPUT_ARGS(&in, " (default: 16)"),
        {MGK_ARG_CHOICE, 0, "precision", &w.double_precision, "single|double",
         "Precision of the forward pass; measures are always float64.", &w.precision},
        MGK_TOOL_TF32_ARG(&tool),
        MGK_TOOL_MODEL_ARGS(&tool),
        {MGK_ARG_HEADING, 0, "Measuring", NULL, NULL, NULL, NULL},
        {MGK_ARG_TEXT, 0, "measures", &w.measures, "LIST|all",
         "Names of measures, with commas between them; if not given, all but importance, which "
         "runs the model once for each head: name it (importance_ablation), or all.",
         NULL},
        {MGK_ARG_FLAG, 0, "across-layers", &o.across_layers, NULL,
         "Compare heads of different layers, too; the matrices of all layers of a sample are in "
         "memory at once.",
         NULL},
        {MGK_ARG_FLAG, 0, "across-models", &o.across_models, NULL,
         "Take two inputs as one, and compare heads of both with each other: which head of the "
         "second is closest to each of the first?",
         NULL},
        {MGK_ARG_REAL, 0, "threshold", &o.threshold, "T", "The rank counts singular values >= T.",
         NULL},
        {MGK_ARG_FLAG, 0, "compare", &o.compare, NULL,
         "Compare each further input with the first: differences, their 95 % intervals and "
         "significance.",
         NULL},
        {MGK_ARG_FLAG, 0, "prune", &o.prune, NULL,
         "Remove heads of the models one by one: the loss against the heads left.", NULL},
        {MGK_ARG_INT, 0, "prune-held-out", &o.prune_held_out, "N",
         "The last N samples choose no heads: the loss is theirs alone.", NULL},
        {MGK_ARG_FLAG, 0, "relative", &o.relative, NULL,
         "The threshold is a multiple of the largest singular value of the matrix.", NULL},
        {MGK_ARG_REAL, 0, "memory", &w.gigabytes, "GB",
         "Memory for matrices, in gigabytes of 10^9 bytes; three quarters of the free memory if "
         "not given.",
         &w.limited},
        {MGK_ARG_HEADING, 0, "Output", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 'o', "output", &o.output, "OUT",
         "The table, a row for each value: .csv, .json or .h5.", NULL},
        {MGK_ARG_FLAG, 0, "per-sample", &o.per_sample, NULL,
         "A row for each sample, instead of mean and standard deviation.", NULL},
        {MGK_ARG_FLAG, 0, "resume", &o.resume, NULL,
         "Continue the interrupted run that left OUT.part.", NULL},
        MGK_TOOL_AS_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
        MGK_TOOL_FORCE_ARG(&tool),
    };
    const mgk_program program = {
        .name = "mgk-diversity",
        .usage =
            "(IN... | --model MODEL... (--text FILE... | --tokens FILE | --task TASK | --images "
            "FILE... | --audio FILE...)) "
            "[-o OUT.(csv|json|h5)] [options]",
        .summary = "Measures how diverse or redundant attention heads are. Prints a table of the "
                   "layers on standard output.",
        .examples =
            "  mgk-diversity mgk4.h5 -o mgk4-diversity.csv\n"
            "  mgk-diversity --model mgk4.safetensors --text valid.txt -o mgk4-diversity.h5\n"
            "  mgk-diversity --model softmax8.safetensors mgk4.safetensors --text valid.txt "
            "--compare\n"
            "  mgk-diversity softmax8-diversity.h5 mgk4-diversity.h5 --compare -o differences.csv\n"
            "  mgk-diversity softmax8.h5 mgk4.h5 --measures js,effective_heads -o both.csv\n"
            "  mgk-diversity theirs.h5 --dataset attentions --per-sample -o theirs.csv\n"
            "  mgk-diversity mgk4.h5 --measures js --across-layers -o mgk4-map.h5\n"
            "  mgk-diversity --model before/ after/ --text valid.txt --across-models -o heads.h5\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "model text samples layers measures compare output force",
        .notes = {notes, mgk_tool_array_notes, mgk_tool_input_notes, mgk_tool_model_notes,
                  mgk_tool_as_notes, mgk_tool_settings_notes, mgk_tool_notes,
                  mgk_tool_output_notes},
        .operands = &w.inputs,
        .offered = {{"measures", names}, {"as", kinds}},
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    mgk_status status = complete(&w, &in, &o, &l);
    if (status == STATUS_OK)
        status = mgk_tool_output(&tool, &o.output, MGK_TOOL_TABLE);
    if (status == STATUS_OK)
        status = mgk_tool_input_read(&tool, &in, &o.input);
    if (status == STATUS_OK) {
        mgk_tool_watch(&tool, "measuring", "matrices");
        o.job = tool.job;
        mgk_result result = mgk_measure_diversity(&o, &table);
        mgk_progress_finish(&tool.bar);
        if (result == MGK_OK && tool.rank == 0)
            mgk_print_diversity(table, o.measures, names_all(&o) ? 0 : o.measure_count);
        exit_status = mgk_tool_end(&tool, result);
        mgk_table_close(table);
    } else {
        exit_status = mgk_tool_refuse(&tool, status);
    }
    mgk_free(l.layers);
    mgk_free(l.heads);
    mgk_free(l.text);
    mgk_free(l.names);
    return exit_status;
}
