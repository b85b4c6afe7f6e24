/* SPDX-License-Identifier: MIT */
/* mgk-dump: exports attention. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "tools/input.h"
#include "tools/kind_names.h"

/* Words of the command line that the table of options does not parse completely. */
typedef struct words {
    mgk_arg_list models;
    const char *layers, *heads;
    int double_precision; /* of single|double */
} words;

/* The bits of --save are in the order of its words. */
_Static_assert(MGK_SAVE_ATTENTION == 1 << 0 && MGK_SAVE_SCORES == 1 << 1 &&
                   MGK_SAVE_QUERIES == 1 << 2 && MGK_SAVE_KEYS == 1 << 3 &&
                   MGK_SAVE_VALUES == 1 << 4 && MGK_SAVE_WEIGHTS == 1 << 5,
               "the words of --save");

static mgk_status complete(const words *w, mgk_tool_input *in, mgk_dump_options *o, int **layers,
                           int **heads)
{
    TRY(mgk_tool_check_models(&w->models, 1));
    if (!o->output)
        return mgk_fail(STATUS_USAGE, "-o is needed");
    TRY(mgk_tool_indices("--layers", w->layers, layers, &o->layer_count));
    TRY(mgk_tool_indices("--heads", w->heads, heads, &o->head_count));
    mgk_tool_input_end(in);
    o->model = w->models.words[0];
    o->input = in->input;
    o->layers = *layers;
    o->heads = *heads;
    o->double_precision = w->double_precision;
    return STATUS_OK;
}

static void print_summary(const mgk_dump_options *o, const mgk_dump_summary *s)
{
    fprintf(stderr,
            "%s: %d %s, %d %s, %d %s, %d %s: %.1f MB in %.2f s (writing took "
            "%.2f s)\n",
            o->output, s->samples, MGK_NOUN(s->samples, "sample", "samples"), s->layers,
            MGK_NOUN(s->layers, "layer", "layers"), s->heads, MGK_NOUN(s->heads, "head", "heads"),
            s->length, MGK_NOUN(s->length, "token", "tokens"), s->bytes / 1e6, s->seconds,
            s->writing_seconds);
}

static void print_perplexity(const mgk_dump_summary *s)
{
    printf("perplexity %.6g (%.6g nats a token) over %lld predicted %s\n", exp(s->loss), s->loss,
           (long long)s->predicted, MGK_NOUN(s->predicted, "token", "tokens"));
}

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"Input", "One of --text, --tokens, --task, --images and --audio is needed."},
    {"samples", "If not given: 16, or all if there are fewer; all pictures and recordings.\n"
                "If all are taken, they keep the order of the input.\n"
                "Each passage of a pair is one sequence."},
    {"dtype", "Ranks of numbers stored as f16 say little."},
    {"perplexity",
     "It is the exponential of the mean of -ln p over the predicted tokens; the model predicts "
     "each token from the tokens before it in its sample.\n"
     "It goes to standard output."},
    {"shards",
     "There is one for each process that has samples, an attention store of these samples.\n"
     "With --force the new shards are named OUT.shard-0.1.h5 and so on if those names are taken, "
     "and keep these names. The old shards go once OUT.h5 is the new one.\n"
     "OUT.h5 joins them by virtual datasets: h5py and every program here read it as one store; it "
     "needs HDF5 1.10, and the files stay in one folder.\n"
     "Without this, the processes of mpirun or srun write one file, each its own matrices, which a "
     "file system such as NFS may not let several machines do."},
    {"tf32", "The attribute {device} of the store records it."},
    {"threads",
     "The number includes threads that write; no more threads are used than there are cores.\n"
     "If there are enough batches, and memory for them, each thread runs a batch of its own and "
     "compresses its matrices; one thread at a time writes the file while the others compute.\n"
     "Otherwise all threads share a batch, except that one of them only writes if that ends the "
     "run earlier.\n"
     "With one thread, computing waits while the disk writes."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {.shares = true, .leaves_nothing = true};
    mgk_dump_options o = mgk_dump_options_default();
    mgk_dump_summary summary;
    mgk_tool_input in = {.input = o.input};
    words w = {0};
    int *layers = NULL, *heads = NULL;
    char kinds[MGK_TOOL_KINDS];
    mgk_tool_list_kinds(kinds);
    const mgk_arg args[] = {
        {MGK_ARG_HEADING, 0, "Input", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILES, 0, "model", &w.models, "MODEL", "The model; MODEL alone means the same.",
         NULL},
        MGK_TOOL_INPUT_ARGS(&in, " (default: 16)"),
        {MGK_ARG_HEADING, 0, "Output", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 'o', "output", &o.output, "OUT.h5", "The attention store, HDF5.", NULL},
        {MGK_ARG_TEXT, 0, "layers", &w.layers, "LIST",
         "Layers, such as 0,2,5-7, counted from 0; repeats count once. All if not given.", NULL},
        {MGK_ARG_TEXT, 0, "heads", &w.heads, "LIST", "Heads; all if not given.", NULL},
        {MGK_ARG_CHOICES, 0, "save", &o.save, "attention,scores,queries,keys,values,weights",
         "What to store.", NULL},
        {MGK_ARG_WORD, 0, "dtype", &o.dtype, "f32|f64|f16",
         "Stored type; the computed one if not given.", NULL},
        {MGK_ARG_CHOICE, 0, "precision", &w.double_precision, "single|double",
         "Precision of the forward pass.", NULL},
        {MGK_ARG_FLAG, 0, "perplexity", &o.perplexity, NULL,
         "Print the perplexity of a language model on the samples.", NULL},
        MGK_TOOL_TF32_ARG(&tool),
        MGK_TOOL_MODEL_ARGS(&tool),
        {MGK_ARG_INT, 0, "compress", &o.compress, "0..9", "Level of gzip; 0, none, if not given.",
         NULL},
        {MGK_ARG_FLAG, 0, "shards", &o.shards, NULL,
         "Each process writes a file of its own, OUT.shard-0.h5 and so on; OUT.h5 joins them.",
         NULL},
        MGK_TOOL_AS_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
        MGK_TOOL_FORCE_ARG(&tool),
    };
    const mgk_program program = {
        .name = "mgk-dump",
        .usage = "MODEL -o OUT.h5 (--text FILE... | --tokens FILE | --task TASK [--data PATH...] | "
                 "--images FILE... | --audio FILE...) [options]",
        .summary = "Runs a model and exports its attention matrices to HDF5.",
        .examples =
            "  mgk-dump mgk4.safetensors --text valid.txt --samples 100 -o mgk4.h5\n"
            "  mgk-dump mgk4.safetensors --text valid.txt --layers 0,5 --heads 0-3 \\\n"
            "           --save attention,keys,weights --precision double -o mgk4-double.h5\n"
            "  mgk-dump vit/ --images cat.png dog.png -o pictures.h5\n"
            "  mgk-dump whisper-tiny/ --audio speech.wav -o speech.h5\n"
            "  mgk-dump t5-small/ --text english.txt --target german.txt --lines --part cross \\\n"
            "           -o cross.h5\n"
            "  mgk-dump listops.safetensors --task listops --samples 20 --compress 4 \\\n"
            "           -o listops.h5\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "text lines tokens samples length layers heads save output force",
        .notes = {notes, mgk_tool_input_notes, mgk_tool_model_notes, mgk_tool_as_notes,
                  mgk_tool_settings_notes, mgk_tool_notes, mgk_tool_output_notes},
        .operands = &w.models,
        .offered = {{"as", kinds}},
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    mgk_status status = complete(&w, &in, &o, &layers, &heads);
    if (status == STATUS_OK)
        status = mgk_tool_output(&tool, &o.output, MGK_TOOL_STORE);
    if (status == STATUS_OK)
        status = mgk_tool_input_read(&tool, &in, &o.input);
    if (status == STATUS_OK) {
        mgk_tool_watch(&tool, "exporting", "matrices");
        o.job = tool.job;
        mgk_result result = mgk_dump_attention(&o, &summary);
        mgk_progress_finish(&tool.bar);
        if (result == MGK_OK && !tool.quiet)
            print_summary(&o, &summary);
        if (result == MGK_OK && o.perplexity)
            print_perplexity(&summary);
        exit_status = mgk_tool_end(&tool, result);
    } else {
        exit_status = mgk_tool_refuse(&tool, status);
    }
    mgk_free(layers);
    mgk_free(heads);
    return exit_status;
}
