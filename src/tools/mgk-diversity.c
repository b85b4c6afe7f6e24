/* mgk-diversity: measures of the diversity and redundancy of attention. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "tools/input.h"

/* Words of the command line that the table of options does not parse completely. */
typedef struct words {
    mgk_arg_list inputs, models;
    const char *measures, *layers;
    int double_precision; /* of single|double */
    double gigabytes;     /* value of --memory */
    bool limited;         /* --memory is set */
    bool precision;       /* --precision is set */
} words;

/* What parsing allocates. */
typedef struct lists {
    int *layers;
    char *text;         /* copy of --measures, cut into names */
    const char **names; /* [most] */
} lists;

/* Cuts "a,b,c" into names; "all" is all of them. */
static mgk_status cut_measures(const char *text, lists *l, mgk_diversity_options *o)
{
    if (!text || strcmp(text, "all") == 0)
        return STATUS_OK;
    TRY(mgk_copy_string(text, &l->text));
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

static mgk_status complete(const words *w, mgk_tool_input *in, mgk_diversity_options *o, lists *l)
{
    TRY(cut_measures(w->measures, l, o));
    TRY(mgk_tool_indices("--layers", w->layers, &l->layers, &o->layer_count));
    mgk_tool_input_end(in);
    o->layers = l->layers;
    o->inputs = w->inputs.words;
    o->input_count = w->inputs.count;
    o->input = in->input;
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
    size_t used = 0;
    for (size_t i = 0; used < size && mgk_describe_measure(i, &measure) == MGK_OK; i++)
        used += (size_t)snprintf(names + used, size - used, "%s%s", i > 0 ? "," : "", measure.name);
}

/* ---- the table on standard output ------------------------------------------------------------ */

/* The columns of the table of means. */
typedef struct means {
    size_t rows;
    mgk_table_column input, level, measure, layer, head, other_head, value;
    mgk_table_column p_holm; /* zeroed without a comparison */
} means;

static bool find_columns(const mgk_table *table, means *m)
{
    *m = (means){.rows = mgk_table_rows(table)};
    if (mgk_table_columns(table) > 12)
        mgk_table_find_column(table, "p_holm", &m->p_holm);
    return mgk_table_find_column(table, "input", &m->input) == MGK_OK &&
           mgk_table_find_column(table, "level", &m->level) == MGK_OK &&
           mgk_table_find_column(table, "measure", &m->measure) == MGK_OK &&
           mgk_table_find_column(table, "layer", &m->layer) == MGK_OK &&
           mgk_table_find_column(table, "head", &m->head) == MGK_OK &&
           mgk_table_find_column(table, "other_head", &m->other_head) == MGK_OK &&
           mgk_table_find_column(table, "value", &m->value) == MGK_OK;
}

/* The number of a measure among the words of its column; −1: none has this name. */
static int32_t find_measure(const means *m, const char *name)
{
    for (size_t i = 0; i < m->measure.word_count; i++)
        if (strcmp(m->measure.words[i], name) == 0)
            return (int32_t)i;
    return -1;
}

/* The rows first … end − 1 of the table, which are of one input. */
typedef struct rows {
    const means *m;
    size_t first, end;
} rows;

static bool is_of(const rows *in, size_t r, int32_t layer, int32_t measure)
{
    return in->m->measure.integers[r] == measure && in->m->layer.integers[r] == layer &&
           !isnan(in->m->value.reals[r]);
}

/* The mean of a measure over the heads or pairs of a layer; NaN: there is no value. */
static double mean_of(const rows *in, int32_t layer, int32_t measure)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = in->first; r < in->end; r++)
        if (is_of(in, r, layer, measure)) {
            sum += in->m->value.reals[r];
            count++;
        }
    return count > 0 ? sum / (double)count : NAN;
}

/* The measures that the table shows, if they are there, and the headings of their columns. */
static const struct {
    const char *measure, *heading;
    int digits;
} shown[] = {{"effective_heads", "eff. heads", 2},
             {"mean_js", "JS", 3},
             {"cka_output", "CKA", 3},
             {"rank", "rank", 1},
             {"effective_rank", "eff. rank", 1},
             {"entropy", "entropy", 3},
             {"distance", "distance", 1},
             {"sink", "sink", 3}};
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };

/* The numbers of the shown measures in an input; −1: it does not have the measure. */
static void find_shown(const rows *in, int32_t found[SHOWN], int32_t *js)
{
    for (size_t i = 0; i < SHOWN; i++)
        found[i] = -1;
    *js = -1;
    for (size_t r = in->first; r < in->end; r++) {
        const int32_t measure = in->m->measure.integers[r];
        for (size_t i = 0; i < SHOWN; i++)
            if (measure == find_measure(in->m, shown[i].measure))
                found[i] = measure;
        if (measure == find_measure(in->m, "js"))
            *js = measure;
    }
}

/* Prints the two heads of a layer with the least Jensen-Shannon divergence. */
static void print_closest(const rows *in, int32_t layer, int32_t js)
{
    const means *m = in->m;
    size_t best = in->end;
    for (size_t r = in->first; r < in->end; r++)
        if (is_of(in, r, layer, js) &&
            (best == in->end || m->value.reals[r] < m->value.reals[best]))
            best = r;
    if (best < in->end)
        printf("  %d and %d (%.3f)", m->head.integers[best], m->other_head.integers[best],
               m->value.reals[best]);
}

/* Whether the rows are differences of a comparison. */
static bool are_differences(const rows *in)
{
    const means *m = in->m;
    return strcmp(m->level.words[m->level.integers[in->first]], "difference") == 0;
}

/* Whether the difference of a layer is significant at 5 %. */
static bool is_significant(const rows *in, int32_t layer, int32_t measure)
{
    for (size_t r = in->first; r < in->end; r++)
        if (is_of(in, r, layer, measure))
            return in->m->p_holm.reals[r] < 0.05;
    return false;
}

static void print_layer(const rows *in, int32_t layer, const int32_t found[SHOWN], int32_t js)
{
    printf("%5d", layer);
    for (size_t i = 0; i < SHOWN; i++) {
        if (found[i] < 0)
            continue;
        const double value = mean_of(in, layer, found[i]);
        if (isnan(value))
            printf(" %10s", "-");
        else
            printf(" %10.*f", shown[i].digits, value);
        if (are_differences(in))
            putchar(is_significant(in, layer, found[i]) ? '*' : ' ');
    }
    if (!are_differences(in))
        print_closest(in, layer, js);
    putchar('\n');
}

/* Prints the layers of an input, which the rows of its first measure name. */
static void print_input(const rows *in)
{
    const means *m = in->m;
    const size_t first = in->first;
    int32_t found[SHOWN], js;
    find_shown(in, found, &js);
    printf("%s\n%5s", m->input.words[m->input.integers[first]], "layer");
    for (size_t i = 0; i < SHOWN; i++)
        if (found[i] >= 0)
            printf(are_differences(in) ? " %10s " : " %10s", shown[i].heading);
    puts(js >= 0 && !are_differences(in) ? "  closest heads (JS)" : "");
    for (size_t r = first; r < in->end && m->measure.integers[r] == m->measure.integers[first]; r++)
        if (r == first || m->layer.integers[r] != m->layer.integers[r - 1])
            print_layer(in, m->layer.integers[r], found, js);
}

static void print_summary(const mgk_table *table)
{
    means m;
    if (!find_columns(table, &m))
        return;
    for (size_t first = 0, end = 0; first < m.rows; first = end) {
        while (end < m.rows && m.input.integers[end] == m.input.integers[first])
            end++;
        const rows in = {&m, first, end};
        print_input(&in);
    }
    puts("means over samples, and over the heads or pairs of a layer");
    if (m.p_holm.reals)
        puts("*: significant at 5 % (t test over samples, Holm's adjustment for all rows)");
}

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"allow-half", "Without this option it is refused, because rounding to f16 alone gives a "
                   "matrix hundreds of singular values above 1e-6."},
    {"allow-zero-rows",
     "Means over rows then leave such rows out.\n"
     "Without this option a matrix with such a row ends the run, with a line that names it."},
    {"model", "One of --text, --tokens, --task and --images is needed."},
    {"samples", "If not given, 16, or all if the input has fewer."},
    {"measures", "The section MEASURES describes them.\n"
                 "A measure that is named must be possible: without token ids there is no "
                 "induction score, without values no output of a head, without a running model no "
                 "output of a layer.\n"
                 "With `all` or without this option, measures that are not possible are left out, "
                 "and a line names them."},
    {"compare",
     "For each layer and measure: the difference of means, its bootstrap interval over samples "
     "(10,000 draws by seed), and p of a t test over samples, adjusted for all rows by Holm's "
     "method.\n"
     "Samples of the same numbers are paired.\n"
     "Several models that run on one input have the same samples if they cut it alike: with the "
     "same tokenizer and the same length."},
    {"per-sample", "HDF5 files always hold the values of each sample."},
    {"memory",
     "A quarter is for the matrices that a running model computes at once, the rest for measures.\n"
     "Measures of pairs need the matrices of all heads of a layer at once."},
    {"output", "Without this option there is only the table of layers, on standard output."},
    {"resume", "Repeat the command that began the run, and add this option.\n"
               "Each finished sample adds a line to {OUT}`.part`, which is deleted when the output "
               "is complete.\n"
               "The output is that of an uninterrupted run."},
    {"device", "A GPU runs the model; measures are computed on the CPU."},
    {"seed", "Chooses the samples of a model's input."},
    {"force", "The {OUT}`.part` of an interrupted run is one of them, unless it is resumed."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {0};
    mgk_diversity_options o = mgk_diversity_options_default();
    mgk_table *table = NULL;
    mgk_tool_input in = {0};
    words w = {0};
    lists l = {0};
    char names[2048];
    list_measures(sizeof(names), names);
    const mgk_arg args[] = {
        {MGK_ARG_HEADING, 0, "Input", NULL, NULL, NULL, NULL},
        {MGK_ARG_TEXT, 0, "dataset", &o.dataset, "NAME",
         "Array of matrices [..., N, N] in a file that is not an attention store. A NAME with * "
         "reads one array for each layer.",
         NULL},
        {MGK_ARG_FLAG, 0, "allow-half", &o.allow_half, NULL,
         "Accept f16 input, whose rounding changes ranks.", NULL},
        {MGK_ARG_FLAG, 0, "allow-zero-rows", &o.allow_zero_rows, NULL,
         "Accept matrices with rows of zeros, which padded queries leave.", NULL},
        {MGK_ARG_TEXT, 0, "layers", &w.layers, "LIST",
         "Layers, such as 0,2,5-7, counted from 0; all if not given.", NULL},
        {MGK_ARG_HEADING, 0, "Input from a running model", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILES, 0, "model", &w.models, "MODEL...",
         "Run these models instead of reading files; no matrix is stored.", NULL},
        MGK_TOOL_INPUT_ARGS(&in),
        {MGK_ARG_CHOICE, 0, "precision", &w.double_precision, "single|double",
         "Precision of the forward pass; measures are always float64.", &w.precision},
        MGK_TOOL_TF32_ARG(&tool),
        MGK_TOOL_MODEL_ARGS(&tool),
        {MGK_ARG_HEADING, 0, "Measuring", NULL, NULL, NULL, NULL},
        {MGK_ARG_TEXT, 0, "measures", &w.measures, "LIST|all",
         "Names of measures, with commas between them; all if not given.", NULL},
        {MGK_ARG_REAL, 0, "threshold", &o.threshold, "T", "The rank counts singular values >= T.",
         NULL},
        {MGK_ARG_FLAG, 0, "compare", &o.compare, NULL,
         "Compare each further input with the first: differences, their 95 % intervals and "
         "significance.",
         NULL},
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
        MGK_TOOL_ARGS(&tool),
    };
    const mgk_program program = {
        .name = "mgk-diversity",
        .usage =
            "(IN... | --model MODEL... (--text FILE... | --tokens FILE | --task TASK | --images "
            "FILE...)) "
            "[-o OUT.(csv|json|h5)] [options]",
        .summary = "Measures how diverse or redundant attention heads are. Prints a table of the "
                   "layers on standard output.",
        .examples =
            "  mgk-diversity mgk4.h5 -o mgk4.csv\n"
            "  mgk-diversity --model mgk4.safetensors --text valid.txt -o mgk4-diversity.h5\n"
            "  mgk-diversity --model softmax8.safetensors mgk4.safetensors --text valid.txt "
            "--compare\n"
            "  mgk-diversity softmax8.h5 mgk4.h5 --measures js,effective_heads -o both.csv\n"
            "  mgk-diversity theirs.h5 --dataset attentions --per-sample -o theirs.csv\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .notes = {notes, mgk_tool_array_notes, mgk_tool_input_notes, mgk_tool_model_notes,
                  mgk_tool_notes, mgk_tool_output_notes},
        .operands = &w.inputs,
        .offered = {"measures", names},
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    if (complete(&w, &in, &o, &l) == STATUS_OK) {
        mgk_tool_watch(&tool, "measuring", "matrices");
        o.job = tool.job;
        mgk_result result = mgk_measure_diversity(&o, &table);
        mgk_progress_finish(&tool.bar);
        if (result == MGK_OK)
            print_summary(table);
        exit_status = mgk_tool_end(&tool, result);
        mgk_table_close(table);
    } else {
        exit_status = mgk_tool_usage(&tool, mgk_fail_message());
    }
    mgk_free(l.layers);
    mgk_free(l.text);
    mgk_free(l.names);
    return exit_status;
}
