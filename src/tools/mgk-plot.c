/* SPDX-License-Identifier: MIT */
/* mgk-plot: draws pictures. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "tools/input.h"
#include "tools/measure_names.h"
#include "tools/suggest.h"

/* Words of the command line that the table of options does not parse completely. */
typedef struct words {
    mgk_arg_list operands; /* the kind of picture, then its inputs */
    mgk_arg_list names;
    const char *layers, *heads, *range, *measure;
    int sample;
    bool sample_given;
} words;

/* The names of the pictures. */
static const char *const kinds[] = {[MGK_PLOT_ATTENTION] = "attention",
                                    [MGK_PLOT_WEIGHTS] = "weights",
                                    [MGK_PLOT_KEYS] = "keys",
                                    [MGK_PLOT_RANKS] = "ranks",
                                    [MGK_PLOT_CURVES] = "curves",
                                    [MGK_PLOT_COST] = "cost",
                                    [MGK_PLOT_FIGURE] = "figure",
                                    [MGK_PLOT_HEADS] = "heads",
                                    [MGK_PLOT_DEPTH] = "depth",
                                    [MGK_PLOT_PAIRS] = "pairs",
                                    [MGK_PLOT_ROLES] = "roles",
                                    [MGK_PLOT_COMPARE] = "compare",
                                    [MGK_PLOT_PRUNE] = "prune",
                                    [MGK_PLOT_MAP] = "map",
                                    [MGK_PLOT_MIXTURE] = "mixture",
                                    [MGK_PLOT_PERFORMER] = "performer",
                                    NULL};

/* Parses the kind of picture, one word or two; *used counts them. */
static mgk_status parse_kind(const mgk_arg_list *operands, mgk_plot_options *o, size_t *used)
{
    const char *word = operands->count > 0 ? operands->words[0] : "", *end;
    int kind = 0;
    while (kinds[kind] && strcmp(word, kinds[kind]) != 0)
        kind++;
    mgk_suggestion meant = mgk_suggest_for(word, strlen(word));
    for (int i = 0; kinds[i]; i++)
        mgk_suggest(&meant, kinds[i]);
    if (!kinds[kind])
        return mgk_fail(STATUS_USAGE,
                        "expected attention, weights, keys, ranks, curves, cost, figure, heads, "
                        "depth, pairs, roles, compare, prune, map, mixture or performer, got "
                        "\"%s\"%s%s%s",
                        word, meant.name ? "; did you mean " : "", meant.name ? meant.name : "",
                        meant.name ? "?" : "");
    o->kind = (mgk_plot_kind)kind;
    *used = 1;
    if (o->kind != MGK_PLOT_FIGURE && o->kind != MGK_PLOT_PERFORMER)
        return STATUS_OK;
    int64_t number = 0;
    word = operands->count > 1 ? operands->words[1] : "";
    if (!mgk_read_int64(word, &end, &number) || *end || number < 0 || number > 99)
        return mgk_fail(STATUS_USAGE, "%s: expected a number, %s, got \"%s\"", kinds[kind],
                        o->kind == MGK_PLOT_FIGURE ? "1 to 14" : "2, 4, 10, 11, 13 or 14", word);
    o->figure = (int)number;
    *used = 2;
    return STATUS_OK;
}

static mgk_status parse_range(const char *text, mgk_plot_options *o)
{
    const char *end;
    int64_t first = 0, last = 0;
    if (!text)
        return STATUS_OK;
    bool good = mgk_read_int64(text, &end, &first) && *end == ':' &&
                mgk_read_int64(end + 1, &end, &last) && !*end;
    if (!good || first < 0 || last <= first || last > INT32_MAX)
        return mgk_fail(STATUS_USAGE, "--range: expected A:B with 0 <= A < B, got \"%s\"", text);
    o->first = (int)first;
    o->last = (int)last;
    return STATUS_OK;
}

/* What parsing allocates. */
typedef struct lists {
    int *layers, *heads;
    char *measure;
} lists;

static mgk_status spell_measure(const char *text, lists *l, mgk_plot_options *o)
{
    if (!text)
        return STATUS_OK;
    TRY(mgk_copy_string(text, &l->measure));
    mgk_tool_spell_measures(l->measure);
    o->measure = l->measure;
    return STATUS_OK;
}

static mgk_status complete(const words *w, mgk_plot_options *o, lists *l)
{
    size_t used;
    TRY(parse_kind(&w->operands, o, &used));
    o->inputs = w->operands.words + used;
    o->input_count = w->operands.count - used;
    if (w->sample < 0)
        return mgk_fail(STATUS_USAGE, "--sample: expected 0 or more");
    if (w->sample_given)
        o->sample = w->sample;
    TRY(mgk_tool_indices("--layers", w->layers, &l->layers, &o->layer_count));
    TRY(mgk_tool_indices("--heads", w->heads, &l->heads, &o->head_count));
    TRY(parse_range(w->range, o));
    TRY(spell_measure(w->measure, l, o));
    o->layers = l->layers;
    o->heads = l->heads;
    o->names = w->names.words;
    o->name_count = w->names.count;
    return STATUS_OK;
}

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"output",
     "A PNG contains the software, the command, the title and the SHA-256 of the models as text.\n"
     "Rank files in CSV, files of `mgk-diversity`(1) and training logs do not name the model by "
     "its "
     "hash, so their pictures do not either; rank files in JSON and HDF5 do."},
    {"sample",
     "The dataset `/sample` of the store lists the numbers; position and number differ if the "
     "store has only chosen samples.\n"
     "In rank files the column {sample} is the number."},
    {"heads", "From rank files only the rows of these heads are drawn."},
    {"name", "Curves of measures have a title for each run."},
    {"labels",
     "If not all labels fit, every second or third is drawn.\n"
     "Matrices are drawn larger to make room for labels, unless --panel gives their size.\n"
     "A store holds the text of tokens if `mgk-dump`(1) knew it.\n"
     "A space in front of a token, as in GPT-2, is drawn as ␣, a line end as ↵ and a tab as ⇥.\n"
     "Characters that the font, DejaVu Sans, lacks come from other fonts of the machine; a "
     "character that no font has, such as Chinese where no font for it is installed, is drawn as "
     "a box with its code point.\n"
     "Arabic and Hebrew run from right to left."},
    {"words",
     "Attention to a word is the sum over its tokens; attention from a word is the mean over its "
     "tokens.\n"
     "Rows keep their sum.\n"
     "For models that read bytes, and for byte-level BPE, a word begins at white space, which "
     "belongs to the word after it."},
    {"labels-file", "With --words, a token that begins with ## continues the word before it."},
    {"sweep",
     "Each layer has a panel; a line is the median of the rank, a band spans its quartiles.\n"
     "If `mgk-rank`(1) stored the spectra in an HDF5 file, ranks are counted anew at 25 thresholds "
     "from 1e-8 to 1e-2; other rank files need at least three thresholds of their own.\n"
     "If thresholds are relative to the largest singular value, the axis says so.\n"
     "A dashed line, which the legend names, marks 1e-6.\n"
     "The plot is grey below the largest noise floor of the layer, where the rounding of storage "
     "decides the rank; CSV files of earlier versions have no noise floor.\n"
     "If the noise floors of several models differ by more than a factor of 10, or some are not "
     "known, nothing is grey and a line above the plots says so."},
    {"measure",
     "The names are those in the file; `mgk-diversity`(1) lists them with their formulas.\n"
     "Heads takes measures of heads, pairs those of pairs of heads, depth and compare all.\n"
     "Pairs draws similarities, such as cosine and affinity, as the distance 1 - value; the colour "
     "bar says so.\n"
     "Map takes the square root of the distance of pairs.\n"
     "The usual measures of compare are mean_js, effective_heads, normalized_entropy, "
     "effective_rank, cka_output_debiased and token_cosine, as far as the files have them; if they "
     "have none of these, the first six of the file."},
    {"bands",
     "A seed is the word `seed` and a number, in the name of the file or of a folder: "
     "{seed0/mgk.csv}, {mgk_seed=12.csv}.\n"
     "The mean is that of the steps that all logs of a run have; the standard deviation is that of "
     "n - 1.\n"
     "Where nothing is held out, the band is that of the training.\n"
     "--name then has a title for each curve."},
    {"smooth",
     "At the ends there are fewer points.\n"
     "Held-out losses are drawn as they are, and with --bands the mean and its deviation are "
     "smoothed."},
    {"name",
     "Where kinds of several models are the same, the name of the model is in front of each, or, "
     "of one model in several files, that of the file.\n"
     "Ranks of several inputs in one file are named by the inputs, which CSV does not hold.\n"
     "Where matrices of several models are drawn, it is the name of the file.\n"
     "Above maps of heads, pairs or roles a long one is drawn smaller, and then without its "
     "middle. In pairs and roles of several models it is above the rows of each."},
    {"title",
     "The model is named by its file, the sample by its number in the input, as in tables."},
    {"scale", "Attention that one token dominates is nearly blank on a linear scale."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {0};
    mgk_plot_options o = mgk_plot_options_default();
    words w = {.layers = NULL};
    lists l = {.layers = NULL};
    const mgk_arg args[] = {
        {MGK_ARG_HEADING, 0, "Content", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 'o', "output", &o.output, "OUT.png|.pdf|.svg", "The picture.", NULL},
        {MGK_ARG_INT, 0, "sample", &w.sample, "S",
         "Position of the sample in the store, from 0; drawn by seed if not given. The title has "
         "its number in the input.",
         &w.sample_given},
        {MGK_ARG_TEXT, 0, "layers", &w.layers, "LIST",
         "Layers, such as 0,2,5-7; repeats count once. All, or the figure's own, if not given.",
         NULL},
        {MGK_ARG_TEXT, 0, "heads", &w.heads, "LIST", "Heads; all if not given.", NULL},
        {MGK_ARG_COUNT, 0, "tokens", &o.tokens, "N",
         "Keys: how many tokens to draw, from the first; 100 if not given. Performer 13: how many "
         "tokens of the vocabulary.",
         NULL},
        {MGK_ARG_TEXT, 0, "dataset", &o.dataset, "NAME",
         "Array of matrices [..., N, N]; /attention or the only one if not given. A NAME with * "
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
        {MGK_ARG_FLAG, 0, "labels", &o.labels, NULL, "Attention: label rows and columns by tokens.",
         NULL},
        {MGK_ARG_FLAG, 0, "words", &o.words, NULL,
         "Attention: merge the tokens of each word, and label rows and columns by words.", NULL},
        {MGK_ARG_FILE, 0, "labels-file", &o.labels_file, "FILE",
         "Labels from a file, one token a line, in place of the store's.", NULL},
        {MGK_ARG_COUNT, 0, "columns", &o.columns, "N",
         "Attention: a contact sheet in N columns, of any number of inputs: each matrix under its "
         "name, with a range of its own.",
         NULL},
        {MGK_ARG_TEXT, 0, "range", &w.range, "A:B",
         "Attention: only tokens A to B - 1, from 0 (words with --words).", NULL},
        {MGK_ARG_FLAG, 0, "sweep", &o.sweep, NULL,
         "Ranks: draw rank against threshold, from spectra or several thresholds.", NULL},
        {MGK_ARG_TEXT, 0, "measure", &w.measure, "NAME",
         "Heads, depth, pairs, map: the measure to draw; entropy, of pairs and map js, if not "
         "given. Compare and curves: names with commas between them; six usual ones, or entropy, "
         "if not given; of logs loss, if not given, or accuracy. Prune: one curve, such as "
         "prune_importance; all three if not given. Ranks: a "
         "column of numbers, such as effective_rank; rank if not given, as a share of N if "
         "matrices differ in N.",
         NULL},
        {MGK_ARG_FLAG, 0, "bands", &o.bands, NULL,
         "Curves of logs: draw the mean and the standard deviation of runs whose names differ in "
         "their seed alone, such as mgk-seed0.csv and mgk-seed1.csv.",
         NULL},
        {MGK_ARG_INT, 0, "smooth", &o.smooth, "K",
         "Curves of logs and figures of training: draw training losses as means of K points that "
         "lie one beside the other; 0, the default, or 1: as they are.",
         NULL},
        {MGK_ARG_FLAG, 0, "skip-missing", &o.skip_missing, NULL,
         "Heads, depth, pairs: leave out inputs that lack the measure.", NULL},
        {MGK_ARG_FLAG, 0, "from-one", &o.from_one, NULL,
         "Count layers, heads, keys and tokens of the picture from 1, as the published figures "
         "always do, not from 0. Options and messages count from 0 all the same.",
         NULL},
        {MGK_ARG_FLAG, 0, "from-zero", &o.from_zero, NULL, "The same as without it.", NULL},
        {MGK_ARG_FLAG, 0, "matrix", &o.matrix, NULL,
         "Draw one matrix alone, one pixel for each entry, without axes and title.", NULL},
        {MGK_ARG_HEADING, 0, "Appearance", NULL, NULL, NULL, NULL},
        {MGK_ARG_LIST, 0, "name", &w.names, "TITLE...",
         "A title for each model; its kind of attention, or its file, if not given.", NULL},
        {MGK_ARG_TEXT, 0, "title", &o.title, "TITLE",
         "Title of the picture; for matrices the model and the sample, for prune the model and the "
         "number of samples, if not given.",
         NULL},
        {MGK_ARG_WORD, 0, "colors", &o.colors, "viridis|magma|cividis|grey|coolwarm",
         "Colour map; coolwarm for weights and keys, else viridis, if not given.", NULL},
        {MGK_ARG_WORD, 0, "scale", &o.scale, "linear|log|percentile",
         "Colour scale; log for attention, else linear, if not given.", NULL},
        {MGK_ARG_FLAG, 0, "separate", &o.separate, NULL,
         "Attention, weights, keys: give each matrix a range and a colour bar of its own, so that "
         "faint ones show their structure; colours can then not be compared.",
         NULL},
        {MGK_ARG_FLAG, 0, "shared", &o.shared, NULL, "The same as without it.", NULL},
        {MGK_ARG_WORD, 0, "pooling", &o.pooling, "mean|max",
         "How entries that share a pixel are combined, if a matrix has more entries than pixels; "
         "mean if not given.",
         NULL},
        {MGK_ARG_COUNT, 0, "panel", &o.panel, "PIXELS",
         "Length of the longer side of a drawn matrix.", NULL},
        MGK_TOOL_MODEL_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
        MGK_TOOL_FORCE_ARG(&tool),
    };
    const mgk_program program = {
        .name = "mgk-plot",
        .usage =
            "attention|weights|keys|ranks|curves|cost IN... -o OUT [options]\n"
            "heads|depth|pairs|roles|compare|prune|map|mixture|curves TABLE... -o OUT [options]\n"
            "figure N IN... -o OUT [options]\n"
            "performer N [IN...] -o OUT [options]",
        .summary = "Draws attention, key weights, keys, ranks, training curves, costs, measures of "
                   "diversity, and figures of the papers of MGK and of Performers.",
        .examples =
            "  mgk-plot attention mgk4.h5 --sample 0 -o attention.png\n"
            "  mgk-plot attention mgk4.h5 --layers 2 --heads 0 --matrix -o matrix.png\n"
            "  mgk-plot attention bert.h5 --layers 3 --heads 7 --words -o words.png\n"
            "  mgk-plot weights mgk4.safetensors -o weights.pdf\n"
            "  mgk-plot ranks --sweep softmax8-ranks.h5 mgk4-ranks.h5 -o sweep.pdf\n"
            "  mgk-plot heads mgk4-diversity.h5 --measure normalized_entropy -o heads.pdf\n"
            "  mgk-plot pairs mgk4-diversity.h5 --measure cka_output --layers 0-3 -o pairs.pdf\n"
            "  mgk-plot compare softmax8-mgk4.h5 --measure mean_js,effective_heads -o compare.pdf\n"
            "  mgk-plot prune mgk4-diversity.h5 --measure prune_importance -o prune.pdf\n"
            "  mgk-plot map mgk4-map.h5 -o map.pdf\n"
            "  mgk-plot mixture mgk4-diversity.h5 -o mixture.pdf\n"
            "  mgk-plot curves softmax8.csv mgk4.csv --name softmax MGK -o curves.svg\n"
            "  mgk-plot curves --bands softmax-seed*.csv mgk-seed*.csv --measure accuracy -o "
            "seeds.pdf\n"
            "  mgk-plot curves mgk4-steps.h5 --measure js,effective_rank -o steps.pdf\n"
            "  mgk-plot figure 1 softmax-seed*.csv mgk-seed*.csv linear-seed*.csv -o figure1.pdf\n"
            "  mgk-plot figure 2 a.h5 b.h5 c.h5 a.csv b.csv c.csv -o figure2.png\n"
            "  mgk-plot performer 4 -o features.pdf\n"
            "  mgk-plot performer 13 proteins.h5 blosum62.txt -o tokens.pdf\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "output sample layers heads labels measure name",
        .notes = {notes, mgk_tool_array_notes, mgk_tool_model_notes, mgk_tool_notes,
                  mgk_tool_output_notes},
        .operands = &w.operands,
        .first = kinds,
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    mgk_status status = complete(&w, &o, &l);
    if (status == STATUS_OK)
        status = mgk_tool_output(&tool, &o.output, MGK_TOOL_PICTURE);
    if (status == STATUS_OK) {
        mgk_tool_listen(&tool);
        o.job = tool.job;
        exit_status = mgk_tool_end(&tool, mgk_plot_picture(&o));
    } else {
        exit_status = mgk_tool_refuse(&tool, status);
    }
    mgk_free(l.layers);
    mgk_free(l.heads);
    mgk_free(l.measure);
    return exit_status;
}
