/* SPDX-License-Identifier: MIT */
/* mgk-rank: numerical ranks of attention matrices. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "tools/input.h"
#include "tools/kind_names.h"

/* Words of the command line that the table of options does not parse completely. */
typedef struct words {
    mgk_arg_list inputs;
    const char *thresholds, *layers, *heads;
    int double_precision; /* of single|double */
    double gigabytes;     /* value of --memory */
    bool limited;         /* --memory is set */
    bool precision;       /* --precision is set */
} words;

static mgk_status complete(const words *w, mgk_tool_input *in, mgk_rank_options *o,
                           double **thresholds, int **layers, int **heads)
{
    if (w->thresholds) {
        if (mgk_args_reals(w->thresholds, thresholds, &o->threshold_count) != STATUS_OK)
            return mgk_fail_prefix(STATUS_USAGE, "--threshold");
        o->thresholds = *thresholds;
    }
    TRY(mgk_tool_indices("--layers", w->layers, layers, &o->layer_count));
    TRY(mgk_tool_indices("--heads", w->heads, heads, &o->head_count));
    mgk_tool_input_end(in);
    o->inputs = w->inputs.words;
    o->input_count = w->inputs.count;
    o->input = in->input;
    TRY(mgk_tool_check_resume(&o->input, o->output, o->resume));
    if (o->spectrum && mgk_is_stream(o->output))
        return mgk_fail(STATUS_USAGE, "--spectrum: HDF5 cannot go to standard output: name a file");
    if (w->limited && !(w->gigabytes >= 1e-9 && w->gigabytes <= 1e9))
        return mgk_fail(STATUS_USAGE, "--memory %g: expected a number of gigabytes above 0",
                        w->gigabytes);
    if (w->precision && !o->model)
        return mgk_fail(STATUS_USAGE,
                        "the precision is about --model, not about files of matrices");
    o->memory = (size_t)(w->gigabytes * 1e9);
    o->layers = *layers;
    o->heads = *heads;
    o->double_precision = w->double_precision;
    return STATUS_OK;
}

/* Prints "-" for an undefined value. */
static void print_measure(double value, int digits)
{
    if (isnan(value))
        printf(" %9s", "-");
    else
        printf(" %9.*f", digits, value);
}

/* The file, and of somebody's array how its axes were read, unless `named` says it. */
static void print_input(const char *name, const int axes[3], bool named)
{
    if (named)
        puts(name);
    else if (axes[1] > 0)
        printf("%s (axes read as sample, layer, head: %d, %d, %d)\n", name, axes[0], axes[1],
               axes[2]);
    else if (axes[2] > 0)
        printf("%s (axes read as sample, head: %d, %d)\n", name, axes[0], axes[2]);
    else if (axes[0] > 0)
        printf("%s (axes read as sample: %d)\n", name, axes[0]);
    else
        puts(name);
}

static void print_layer(const mgk_rank_layer *l)
{
    char quartiles[48], sizes[48];
    snprintf(quartiles, sizeof(quartiles), "%.6g to %.6g", l->lower_quartile, l->upper_quartile);
    snprintf(sizes, sizeof(sizes), l->smallest < l->largest ? "%d to %d" : "%d", l->smallest,
             l->largest);
    printf("%5d %9lld %8lld  %-12s %7.1f %9.6g  %-16s", l->layer, (long long)l->matrices,
           (long long)l->samples, sizes, l->mean, l->median, quartiles);
    print_measure(l->effective, 1);
    print_measure(l->stable, 2);
    printf(" %10lld\n", (long long)l->undecided);
}

/* Prints how far rounding of the entries or factors has shifted singular values. */
static void print_storage(const mgk_rank_summary *s)
{
    const char *what = s->by_factors ? "factors" : "entries";
    printf("%s are %s: their rounding moves singular values by %s %.1e (storage rounding only)\n",
           what, s->storage, s->by_factors ? "at most" : "up to about", s->noise_floor);
}

/* Prints "certification of 9 ranks (stored matrices): bound 8, none 1"; leaves out certificates
 * that no rank has. */
static void print_certificates(const mgk_rank_summary *s)
{
    const int64_t certain =
        s->certified_by_bound + s->certified_by_measurement + s->certified_by_values;
    const struct {
        int64_t count;
        const char *what;
    } ways[] = {{s->certified_by_bound, "bound"},
                {s->certified_by_measurement, "measured"},
                {s->certified_by_values, s->by_factors ? "factors" : "singular values"},
                {s->matrices - certain, "none"}};
    const char *before = ": ";
    int64_t undecided = 0;
    printf("certification of %lld %s (stored matrices)", (long long)s->matrices,
           MGK_NOUN(s->matrices, "rank", "ranks"));
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (ways[i].count == 0)
            continue;
        printf("%s%s %lld", before, ways[i].what, (long long)ways[i].count);
        before = ", ";
    }
    printf("\n");
    for (size_t i = 0; i < s->count; i++)
        undecided += s->layers[i].undecided;
    if (undecided > 0)
        printf("undecided: %lld, because rounding of the %s or of the solver can change the rank\n",
               (long long)undecided, s->by_factors ? "factors" : "entries");
}

static void print_summary(const mgk_rank_options *o, const mgk_rank_summary *s)
{
    printf("rank: singular values of at least %g%s%s\n", o->thresholds[0],
           o->relative ? " of the largest" : "",
           o->threshold_count == 1 ? ""
           : o->output             ? " (the first of the thresholds)"
                                   : " (the first of the thresholds; -o OUT keeps the others)");
    for (size_t i = 0; i < s->count; i++) {
        const mgk_rank_layer *l = &s->layers[i];
        if (i == 0 || l->input != s->layers[i - 1].input) {
            print_input(o->model ? o->model : o->inputs[l->input], l->axes, o->axes != NULL);
            printf("%5s %9s %8s  %-12s %7s %9s  %-16s %9s %9s %10s\n", "layer", "matrices",
                   "samples", "N", "mean", "median", "quartiles", "effective", "stable",
                   "undecided");
        }
        print_layer(l);
    }
    print_storage(s);
    print_certificates(s);
    if (!o->job.cluster && isatty(STDOUT_FILENO)) /* mpirun gives every process a terminal */
        printf("\n%s", s->histogram);
}

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"allow-half",
     "Without this option it is refused, because rounding to f16 alone gives a matrix hundreds of "
     "singular values above 1e-6."},
    {"allow-zero-rows",
     "Such rows are counted like any others.\n"
     "Without this option a matrix with such a row ends the run, with a line that names it.\n"
     "In arrays of other software such rows are padded queries: the array does not say how many "
     "tokens are valid, and N would count padding as well.\n"
     "In stores and running models rows beyond the valid tokens are never read.\n"
     "Among the valid tokens a model has rows of zeros only if it adds a number to the sums of "
     "rows, or does not divide by them, and the scores of a query are too small for its "
     "precision, or has a kind of attention whose queries may see no key.\n"
     "The option may be added when such a run is resumed."},
    {"model", "One of --text, --tokens, --task, --images and --audio is needed."},
    {"spectrum", "Of one input; samples ascend, as in the table, whatever their order in a store."},
    {"method", "The section METHODS describes them."},
    {"memory",
     "If matrices are large, fewer threads count at once.\n"
     "A quarter is for the matrices that a running model computes at once, the rest for the "
     "threads that count them; each thread takes four to eight times the memory of a float64 "
     "matrix.\n"
     "The model, the tokens, the table and the memory of a GPU come in addition."},
    {"output", "Without this option there is only the table of layers, on standard output."},
    {"resume",
     "Repeat the command that began the run, and add this option.\n"
     "While a run counts, each finished matrix adds a line to {OUT}`.part`, which is deleted when "
     "the output is complete.\n"
     "A signal, a full disk or the end of the process leaves this file; only the matrices under "
     "way are lost, one for each thread, with `--device cuda` one batch or two.\n"
     "Samples and matrices in the file are not computed again, and the output is that of an "
     "uninterrupted run with the same number of threads.\n"
     "Another number of threads may change the last digits of measures.\n"
     "With `--method count` the ranks that are not undecided are the same; which matrices also "
     "have singular values, and "
     "whether a certificate is {measured} or {bound}, may differ.\n"
     "A run is refused if its settings, the size or time of a file, or the version of the program "
     "differ from those of the interrupted run.\n"
     "If there is no such file, all matrices are counted.\n"
     "Without --resume a run refuses a file {OUT}`.part` that exists; with --force it replaces "
     "the file."},
    {"device", "Matrices and their singular values are computed there."},
    {"seed", "With `--method count` and several threads, timing decides which matrices have "
             "singular values; ranks that are not undecided do not depend on it."},
    {"force", "The {OUT}`.part` of an interrupted run is one of them, unless it is resumed."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {.shares = true};
    mgk_rank_options o = mgk_rank_options_default();
    mgk_rank_summary summary;
    mgk_tool_input in = {0};
    words w = {0};
    double *thresholds = NULL;
    int *layers = NULL, *heads = NULL;
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
        {MGK_ARG_FLAG, 0, "allow-half", &o.allow_half, NULL,
         "Accept f16 input, whose rounding dominates the rank.", NULL},
        {MGK_ARG_FLAG, 0, "allow-zero-rows", &o.allow_zero_rows, NULL,
         "Accept matrices with rows of zeros, which padded queries leave.", NULL},
        {MGK_ARG_TEXT, 0, "layers", &w.layers, "LIST",
         "Layers, such as 0,2,5-7, counted from 0; repeats count once. All if not given.", NULL},
        {MGK_ARG_TEXT, 0, "heads", &w.heads, "LIST", "Heads; all if not given.", NULL},
        {MGK_ARG_HEADING, 0, "Input from a running model", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 0, "model", &o.model, "MODEL",
         "Run this model instead of reading files; no matrix is stored.", NULL},
        MGK_TOOL_INPUT_ARGS(&in, "; as many as --matrices needs, if not given"),
        {MGK_ARG_CHOICE, 0, "precision", &w.double_precision, "single|double",
         "Precision of the forward pass; singular values are always float64.", &w.precision},
        MGK_TOOL_TF32_ARG(&tool),
        MGK_TOOL_MODEL_ARGS(&tool),
        {MGK_ARG_HEADING, 0, "Counting", NULL, NULL, NULL, NULL},
        {MGK_ARG_TEXT, 0, "threshold", &w.thresholds, "T[,T...]",
         "Count singular values >= T; 1e-6 if not given.", NULL},
        {MGK_ARG_FLAG, 0, "relative", &o.relative, NULL,
         "Thresholds are multiples of the largest singular value of the matrix.", NULL},
        {MGK_ARG_INT, 0, "matrices", &o.matrices, "K",
         "Matrices of each layer, of all heads of samples drawn by seed; 0: all.", NULL},
        {MGK_ARG_WORD, 0, "method", &o.method, "auto|svd|count|bisection",
         "svd: all singular values and all measures; auto: the same, from thin factors for linear "
         "attention; count: certified ranks alone, faster; bisection: svd by the toolkit's own GPU "
         "kernels, whose present state no GPU has run.",
         NULL},
        {MGK_ARG_REAL, 0, "memory", &w.gigabytes, "GB",
         "Memory for matrices, in gigabytes of 10^9 bytes; three quarters of the free memory if "
         "not given.",
         &w.limited},
        {MGK_ARG_HEADING, 0, "Output", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 'o', "output", &o.output, "OUT",
         "The table, a row for each matrix and threshold: .csv, .json or .h5.", NULL},
        {MGK_ARG_FLAG, 0, "resume", &o.resume, NULL,
         "Continue the interrupted run that left OUT.part.", NULL},
        {MGK_ARG_FILE, 0, "png", &o.png, "OUT.png", "Draw the rank histogram of each layer.", NULL},
        {MGK_ARG_FLAG, 0, "spectrum", &o.spectrum, NULL, "Store all singular values (.h5).", NULL},
        MGK_TOOL_AS_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
        MGK_TOOL_FORCE_ARG(&tool),
    };
    const mgk_program program = {
        .name = "mgk-rank",
        .usage = "(IN... | --model MODEL (--text FILE... | --tokens FILE | ...)) "
                 "[-o OUT.(csv|json|h5)] [options]",
        .summary = "Counts numerical ranks of attention matrices. Prints a table of the layers on "
                   "standard output, with histograms on a terminal.",
        .examples =
            "  mgk-rank mgk4.h5 -o mgk4-ranks.csv --png mgk4-ranks.png\n"
            "  mgk-rank --model mgk4.safetensors --text valid.txt -o mgk4-ranks.h5 --spectrum\n"
            "  mgk-rank softmax8.h5 mgk4.h5 --threshold 1e-8,1e-6,1e-4 --relative -o both.json\n"
            "  mgk-rank theirs.h5 --dataset attentions --matrices 0 -o theirs.csv\n"
            "  mgk-rank theirs.npz --dataset 'layer_*' -o theirs.csv\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "model text samples matrices threshold method output png force",
        .notes = {notes, mgk_tool_array_notes, mgk_tool_input_notes, mgk_tool_model_notes,
                  mgk_tool_as_notes, mgk_tool_settings_notes, mgk_tool_notes,
                  mgk_tool_output_notes},
        .operands = &w.inputs,
        .offered = {{"as", kinds}},
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    mgk_status status = complete(&w, &in, &o, &thresholds, &layers, &heads);
    if (status == STATUS_OK)
        status = mgk_tool_output(&tool, &o.output, MGK_TOOL_TABLE);
    if (status == STATUS_OK)
        status = mgk_tool_input_read(&tool, &in, &o.input);
    if (status == STATUS_OK) {
        mgk_tool_watch(&tool, "ranking", "matrices");
        o.job = tool.job;
        mgk_result result = mgk_rank_attention(&o, &summary);
        mgk_progress_finish(&tool.bar);
        if (result == MGK_OK && tool.rank == 0)
            print_summary(&o, &summary);
        exit_status = mgk_tool_end(&tool, result);
        mgk_release(summary.layers);
        mgk_release(summary.histogram);
    } else {
        exit_status = mgk_tool_refuse(&tool, status);
    }
    mgk_free(thresholds);
    mgk_free(layers);
    mgk_free(heads);
    return exit_status;
}
