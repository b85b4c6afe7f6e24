/* SPDX-License-Identifier: MIT */
/* mgk-train: trains a model. */
#include "tools/tool.h"

#include "base/memory.h"
#include "tools/kind_names.h"

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"regularise",
     "The factor is 1 if none is given; a term is a mean over sequences, summed over layers.\n"
     "`subspace` and `output` are cosines of the heads' values, or outputs, of a token, over pairs "
     "of different heads and divided by their number squared; `position` is the sum of |A_ij B_ij| "
     "over the matrices of such pairs (Li et al. 2018, without the pairs of a head with itself, "
     "which make heads attend to all keys alike).\n"
     "`pattern` is the mean squared difference of matrices and patterns (Deshpande and Narasimhan "
     "2020), summed over the heads that have one: the first half of the heads in turn attend to "
     "the previous token, the next one, unless the model is causal, and the first one.\n"
     "`position` and `pattern` keep the matrices of the batch, and take a backward pass of "
     "attention for every {D} tokens.\n"
     "Every kind with a matrix has these terms, on the CPU. The log has a column for each, without "
     "its factor."},
    {"task", "`lm` predicts the next byte or token of a text; `listops` computes the value of "
             "nested lists; "
             "`retrieval` decides whether two passages come from one article, or two texts are a "
             "listed pair; `text` decides "
             "whether a review is positive or negative."},
    {"data",
     "A folder of texts stands for all files in it and in its folders that end in `.txt`, in the "
     "order of bytes of their paths. Links to folders are not followed.\n"
     "`retrieval` also reads a list of pairs and a folder of their texts: `--data LIST FOLDER`. A "
     "line of the list is two ids and a tab between them; `ID.txt` in the folder is the "
     "text of an id. The task is whether two texts are listed.\n"
     "If `--held-out` names the same list, three tenths of the documents are held out, and a pair "
     "counts where both of its documents are: no text of training is seen again."},
    {"tokenizer",
     "`bpe` merges the most frequent pairs of bytes (byte-level BPE, as of GPT-2).\n"
     "`words` has words in lower case and runs of other signs; `words-split` splits at white "
     "space, "
     "with `<eos>` at the end of each line, as Transformer-XL reads WikiText. The most frequent "
     "ones "
     "are in the vocabulary; `<unk>` stands for all others.\n"
     "{FILE} is `tokenizer.json`, a list of words, a model that carries a tokenizer, or another "
     "tokenizer that `mgk-dump`(1) reads, or its folder; a file of the name `bpe` is `./bpe`.\n"
     "The model carries the tokenizer: `mgk-dump` and other programs find it there, and need no "
     "option.\n"
     "Losses are those of tokens; bits per byte, which compare tokenizers, are over the bytes of "
     "the held-out text."},
    {"attention",
     "One name is that of all layers; otherwise there are as many as layers, as in `--layers 3 "
     "--attention mgk,mgk,softmax`.\n"
     "`softmax` is scaled dot-product attention, `mgk` has M projected keys for each head and "
     "position, `smgk` one projection and M shifts, `linear`, `mlk` and `smlk` are linear "
     "attention with one key or with several."},
    {"prior",
     "`learned` priors are parameters; `em` sets them to the mean responsibilities of each step "
     "in training (soft E step); `hard` takes the nearest key alone (hard E step).\n"
     "`em-all` is `em` as in the paper's code: over all queries, also those that do not see the "
     "key, and with 1e-6 in the denominator."},
    {"recipe",
     "`lra` and `lm` train as the paper's encoders and language models are trained by their code "
     "(github.com/minhtannguyen/transformer-mgk); docs/mgk-train.md lists what they set."},
    {"from",
     "Of tables of positions, and of key projections of as many and as large heads, as many first "
     "rows are taken as both models have. One line says what was taken, and what begins as in a "
     "new model."},
    {"prior-shape", "The default is `position` for language models and `layer` for encoders."},
    {"aggregate",
     "With `capsules` the output of each head votes through learned maps for as many capsules as "
     "there are heads, and dynamic routing makes the capsules in three steps (Gu and Feng 2019; "
     "Sabour et al. 2017).\n"
     "The CPU alone runs such models."},
    {"streams",
     "The text is cut into as many equal parts as a step has samples, and each sample is the next "
     "window of its part, as in Transformer-XL; a last window that is not whole is left out.\n"
     "A run that stops is resumed where each part was."},
    {"adaptive-cutoffs",
     "The head of the output has the tokens before {A} and an entry for each cluster; only where "
     "the next token is in a cluster are the logits of this cluster computed (Grave et al. 2017).\n"
     "It pays for tens of thousands of tokens in the order of their frequency, as `words` and "
     "`words-split` learn them; those of `bpe` are in the order of their merges.\n"
     "The log has no accuracy then. The CPU trains such models."},
    {"adaptive-divisor",
     "Cluster {k} has embeddings of dim / D^{k} numbers, and a map to dim (Baevski and Auli 2019; "
     "`div_val` of Transformer-XL). Input and output share them, but for the map of the tokens "
     "before the first cutoff, of which the output has its own."},
    {"batch",
     "A batch that does not fit into the memory of the device is refused; the message names a "
     "number that fits.\n"
     "Several processes, `mpirun -n R mgk-train ...`, divide the samples of each step and add "
     "their "
     "gradients: the batch, the log and the model are those of one process but for rounding."},
    {"schedule",
     "`cosine-from-0` counts its half cosine from step 0, warm-up included, and has the full rate "
     "in step 1, as the code of the paper's language models does.\n"
     "`one-cycle` and `one-cycle-cosine` are OneCycleLR of PyTorch: from 1/25 of the rate to all "
     "of it at the end of the warm-up, then to 1/250,000 of it, while beta1 goes from 0.95 to 0.85 "
     "and back, whatever `--adam-betas` says of it."},
    {"log",
     "A row holds the columns step, tokens, learning_rate, train_loss, gradient_norm, eval_loss, "
     "eval_accuracy, bits_per_byte and perplexity.\n"
     "Unknown cells are empty."},
    {"keep",
     "Beside {MODEL}, such as `run.safetensors`, `run.step-000500.safetensors` is the model after "
     "step 500, whether it is the best one or not.\n"
     "The metadata `training_step` of each model says its step; `mgk-diversity`(1) notes it, and "
     "`mgk-plot curves` draws measures against it.\n"
     "A run keeps at most 256 models."},
    {"class-token",
     "The token is one more than the vocabulary and than {N}; --pooling is then `first`.\n"
     "Programs that run the model on text put it there, too; ids that are given have it already."},
    {"dropout-attention",
     "`softmax`, `mgk`, `smgk` and all kinds that weigh values entry by entry have it, on the CPU; "
     "others are refused.\n"
     "What `--regularise` reads are the matrices without it."},
    {"smoothing",
     "Losses that are printed and logged, of training and held-out data, are those of the "
     "targets as they are.\n"
     "The CPU alone smooths."},
    {"average",
     "Evaluations are every {K} steps of `--eval-every`, and after the last step, also where "
     "nothing is held out.\n"
     "Their losses, and the best model, are those of the mean; as long as there are fewer than "
     "{K}, "
     "it is the mean of all.\n"
     "Random features that are drawn are those of the last step. `--keep` keeps weights of one "
     "step, not means."},
    {"patience",
     "Better is a lower loss of a language model, and a higher accuracy of a classifier, or the "
     "same accuracy and a lower loss.\n"
     "The schedule of the rate is still that of all `--steps`; `--keep` then keeps the model of "
     "the "
     "last step only if it is one of every so many."},
    {"resume",
     "The run continues its own model and log; other files in their place are refused without "
     "--force.\n"
     "If `-o` is not that of the interrupted run, the new run writes to the new name, says so, and "
     "leaves {STATE} as it is.\n"
     "Several processes continue the state of any number of them. A signal to one of them stops "
     "all; `mpirun` itself, if it is stopped, gives them one second to save the state.\n"
     "A finished run removes {MODEL}`.checkpoint`."},
    {"force", "The state of an earlier run, {MODEL}`.checkpoint`, is one of them."},
    {NULL, NULL},
};

/* Sets the recipe that the command line names before other options are read, which override it.
 * Unknown names are refused with the other options. */
static mgk_status set_recipe(const mgk_program *program, mgk_train_options *options, int argc,
                             char **argv)
{
    const char *name;
    TRY(mgk_args_look(program, argc, argv, "recipe", &name));
    if (name)
        (void)mgk_train_options_recipe(options, name);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    mgk_tool tool = {.shares = true};
    mgk_train_options o = mgk_train_options_default();
    mgk_architecture *a = &o.architecture;
    mgk_arg_list data = {0}, held_out = {0};
    const char *variances = NULL;
    double *variance_values = NULL;
    bool keep = false;
    char kinds[MGK_TOOL_KINDS];
    mgk_tool_list_kinds(kinds);
    const mgk_arg args[] = {
        {MGK_ARG_HEADING, 0, "Task", NULL, NULL, NULL, NULL},
        {MGK_ARG_WORD, 0, "task", &o.task, "lm|listops|retrieval|text", "Task to train on.", NULL},
        {MGK_ARG_FILES, 0, "data", &data, "PATH...",
         "Texts or folders of .txt (lm, retrieval), TSV of the Long Range Arena (listops, "
         "retrieval), a folder with pos/ and neg/ (text). Without them listops are generated.",
         NULL},
        {MGK_ARG_FILES, 0, "held-out", &held_out, "PATH...",
         "Files for evaluation, of the same kind.", NULL},
        {MGK_ARG_FILE, 0, "tokenizer", &o.tokenizer, "bytes|bpe|words|words-split|FILE",
         "Tokens of texts: bytes (if not given), learnt from the training texts, or of a "
         "tokenizer.",
         NULL},
        {MGK_ARG_INT, 0, "vocabulary", &o.vocabulary, "N",
         "Most tokens of a learnt tokenizer; 0, the default: 4096 of bpe, 16384 of words.", NULL},
        {MGK_ARG_FLAG, 0, "streams", &o.streams, NULL,
         "Each row of a batch reads on in a part of the text of its own; otherwise windows are "
         "drawn (lm).",
         NULL},
        {MGK_ARG_FLAG, 0, "article-per-file", &o.article_per_file, NULL,
         "Retrieval: each file is an article; otherwise files are split at WikiText titles, lines "
         "such as \"= Title =\".",
         NULL},
        {MGK_ARG_INT, 0, "listops-above", &o.listops_above, "N",
         "Generated lists have more tokens than this; if not given, than a quarter of "
         "--listops-below.",
         NULL},
        {MGK_ARG_INT, 0, "listops-below", &o.listops_below, "N",
         "Generated lists have fewer tokens than this; if not given, than 2000, and no more than "
         "--length.",
         NULL},
        {MGK_ARG_INT64, 0, "listops-samples", &o.listops_samples, "N",
         "Lists to generate for training; 0, the default: 96,000, as LRA has.", NULL},
        {MGK_ARG_HEADING, 0, "Model (0 or nothing: the task's usual shape)", NULL, NULL, NULL,
         NULL},
        {MGK_ARG_TEXT, 0, "attention", &a->attention, "KIND[,KIND...]",
         "Attention kind of all layers, or one for each; mgk if not given. mgk-info --kinds lists "
         "the kinds.",
         NULL},
        {MGK_ARG_INT, 0, "heads", &a->heads, "H", "Heads of each layer.", NULL},
        {MGK_ARG_INT, 0, "layers", &a->layers, "L", "Layers.", NULL},
        {MGK_ARG_INT, 0, "dim", &a->dim, "D", "Model dimension.", NULL},
        {MGK_ARG_INT, 0, "head-dim", &a->head_dim, "d", "Dimension of a head.", NULL},
        {MGK_ARG_INT, 0, "hidden", &a->hidden, "F", "Hidden size of the feed-forward block.", NULL},
        {MGK_ARG_INT, 0, "length", &a->length, "N", "Tokens of a sequence.", NULL},
        {MGK_ARG_INT, 0, "keys", &a->mixtures, "M",
         "Keys of each head and position in layers of mixtures; 2 if not given.", NULL},
        {MGK_ARG_WORD, 0, "prior", &a->prior, "learned|em|hard|em-all",
         "Mixture priors: learned (if not given), soft-E, hard-E, or soft-E of all queries.", NULL},
        {MGK_ARG_WORD, 0, "prior-shape", &a->prior_shape, "layer|head|position",
         "Priors shared by a layer, by a head, or one for each key position.", NULL},
        {MGK_ARG_TEXT, 0, "variance", &variances, "S[,S...]",
         "Variance of each component, or one for all; the square root of the head dimension if not "
         "given.",
         NULL},
        {MGK_ARG_REAL, 0, "normalizer-epsilon", &a->normalizer_epsilon, "E",
         "Number added to the sum of a row of scores before the row is divided by this sum.", NULL},
        {MGK_ARG_WORD, 0, "aggregate", &a->aggregate, "concatenation|capsules",
         "What the output projection reads: all heads (if not given), or capsules that they agree "
         "on.",
         NULL},
        {MGK_ARG_WORD, 0, "positions", &o.positions, "learned|sinusoidal|alternate|backward|none",
         "Positions: learned, or sines and cosines in halves, in turns, or counted backward.",
         NULL},
        {MGK_ARG_TEXT, 0, "adaptive-cutoffs", &o.adaptive_cutoffs, "A[,B...]",
         "First tokens of the clusters of an adaptive softmax, whose words are rarer (lm).", NULL},
        {MGK_ARG_INT, 0, "adaptive-divisor", &o.adaptive_divisor, "D",
         "Embeddings of each cluster have 1/D of the numbers of those before; 1 if not given.",
         NULL},
        {MGK_ARG_WORD, 0, "norms", &o.norms, "pre|post",
         "Norms before the blocks of a layer, or after their sums.", NULL},
        {MGK_ARG_WORD, 0, "pooling", &o.pooling, "mean|length|first",
         "What classifiers read: the mean of valid tokens, their sum divided by N, or the first "
         "token.",
         NULL},
        {MGK_ARG_FLAG, 0, "class-token", &o.class_token, NULL,
         "Put a learned token in front of each sequence, whose state the classifier reads.", NULL},
        {MGK_ARG_INT, 0, "classifier", &o.classifier, "K",
         "Width of the classifier's hidden layer.", NULL},
        {MGK_ARG_REAL, 0, "dropout", &a->dropout, "P",
         "Dropout probability of embeddings and of the outputs of both blocks.", NULL},
        {MGK_ARG_REAL, 0, "dropout-hidden", &o.dropout_hidden, "P",
         "Dropout probability of the feed-forward block's hidden layer.", NULL},
        {MGK_ARG_REAL, 0, "dropout-output", &o.dropout_output, "P",
         "Dropout probability of the final hidden states.", NULL},
        {MGK_ARG_REAL, 0, "dropout-attention", &o.dropout_attention, "P",
         "Dropout probability of the entries of attention matrices; -1, the default: the recipe's, "
         "or 0.",
         NULL},
        MGK_TOOL_SETTINGS_ARGS(&o.settings),
        {MGK_ARG_HEADING, 0, "Training", NULL, NULL, NULL, NULL},
        {MGK_ARG_WORD, 0, "recipe", &o.recipe, "ours|lra|lm",
         "Defaults of this program, or of the paper's code; other options override them.", NULL},
        {MGK_ARG_WORD, 0, "initial", &o.initial, "ours|lra|lm",
         "First weights: this program's, or as the paper's code draws them.", NULL},
        {MGK_ARG_FILE, 0, "from", &o.from, "MODEL",
         "Begin with the weights of a model, in any format, where names and shapes fit.", NULL},
        {MGK_ARG_INT64, 0, "steps", &o.steps, "S", "Optimizer steps.", NULL},
        {MGK_ARG_INT, 0, "batch", &o.batch, "B", "Samples (pairs, for retrieval) in a batch.",
         NULL},
        {MGK_ARG_INT, 0, "accumulate", &o.accumulation, "K", "Batches for each step.", NULL},
        {MGK_ARG_REAL, 0, "lr", &o.rate, "X", "Peak learning rate of AdamW.", NULL},
        {MGK_ARG_INT64, 0, "warmup", &o.warmup, "W",
         "Steps of linear warm-up; -1: 100, or a tenth of all steps if that is less.", NULL},
        {MGK_ARG_WORD, 0, "schedule", &o.schedule,
         "linear|constant|cosine|cosine-from-0|one-cycle|one-cycle-cosine",
         "Decay after the warm-up; linear if not given.", NULL},
        {MGK_ARG_TEXT, 0, "adam-betas", &o.adam_betas, "B1,B2",
         "Decay rates of AdamW's moments; 0.9,0.98 if not given.", NULL},
        {MGK_ARG_REAL, 0, "adam-epsilon", &o.adam_epsilon, "X",
         "Number added to the root of AdamW's second moment; 0, the default: 1e-9.", NULL},
        {MGK_ARG_REAL, 0, "weight-decay", &o.weight_decay, "X", "Decoupled weight decay.", NULL},
        {MGK_ARG_REAL, 0, "clip", &o.clip, "X", "Largest gradient norm; 0: no clipping.", NULL},
        {MGK_ARG_INT64, 0, "eval-every", &o.evaluate_every, "K",
         "Steps between evaluations; 0: only at the end.", NULL},
        {MGK_ARG_INT64, 0, "eval-samples", &o.evaluate_samples, "N",
         "Held-out samples of an evaluation, of which a pair is one; 0, the default: all.", NULL},
        {MGK_ARG_REAL, 0, "smoothing", &o.smoothing, "X",
         "Smooth the targets of the training: 1 - X, and X spread evenly over all classes or "
         "tokens.",
         NULL},
        {MGK_ARG_INT, 0, "average", &o.average, "K",
         "Evaluate and write the mean of the weights of the last K evaluations; 0, the default: "
         "those of one.",
         NULL},
        {MGK_ARG_INT, 0, "patience", &o.patience, "K",
         "End after K evaluations without a better one; 0, the default: never.", NULL},
        {MGK_ARG_TEXT, 0, "regularise", &o.regularise, "TERM[=FACTOR],...",
         "Add to the loss that heads are alike in their values (subspace), attention (position) or "
         "outputs (output), or that they do not follow fixed patterns (pattern).",
         NULL},
        {MGK_ARG_INT64, 0, "redraw", &o.redraw, "K",
         "Steps after which random features are drawn anew; 0, the default: never.", NULL},
        {MGK_ARG_FLAG, 0, "double", &o.double_precision, NULL, "Compute in float64.", NULL},
        MGK_TOOL_TF32_ARG(&tool),
        {MGK_ARG_HEADING, 0, "Files", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 'o', "output", &o.output, "MODEL", "The best model, safetensors.", NULL},
        {MGK_ARG_FILE, 0, "log", &o.log, "CSV", "Losses and evaluations.", NULL},
        {MGK_ARG_INT64, 0, "log-every", &o.log_every, "K", "Steps between rows of the log.", NULL},
        {MGK_ARG_INT64, 0, "checkpoint-every", &o.checkpoint_every, "K",
         "Steps between saved states; 0, the default: only when interrupted.", NULL},
        {MGK_ARG_FLAG, 0, "keep", &keep, NULL,
         "Keep the untrained model, that of every --checkpoint-every steps and the last one.",
         NULL},
        {MGK_ARG_FILE, 0, "resume", &o.resume, "STATE",
         "Continue a run from MODEL.checkpoint, with the command that began it.", NULL},
        MGK_TOOL_ARGS(&tool),
        MGK_TOOL_FORCE_ARG(&tool),
    };
    const mgk_program program = {
        .name = "mgk-train",
        .usage = "--task TASK [--data PATH...] -o MODEL.safetensors [options]",
        .summary = "Trains a transformer with softmax, mixture-of-Gaussian-keys, linear or another "
                   "kind of attention.",
        .examples =
            "  mgk-train --task lm --attention mgk --heads 4 --layers 6 --data train.txt \\\n"
            "            --held-out valid.txt --steps 2000 -o mgk4.safetensors --log mgk4.csv\n"
            "  mgk-train --task listops --attention softmax --heads 2 --listops-above 10 \\\n"
            "            --listops-below 100 --length 100 -o listops.safetensors\n"
            "  mgk-train --task lm --data train.txt --steps 2000 --checkpoint-every 200 --keep \\\n"
            "            -o mgk4.safetensors\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "task data attention heads layers length steps batch output log",
        .notes = {notes, mgk_tool_settings_notes, mgk_tool_notes, mgk_tool_output_notes},
        .offered = {{"attention", kinds}, {"regularise", "subspace,position,output,pattern"}},
    };
    int exit_status;
    mgk_status status = set_recipe(&program, &o, argc, argv);
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    if (!o.task || !o.output)
        return mgk_tool_usage(&tool, "--task and -o are needed");
    if (status == STATUS_OK)
        status = mgk_tool_output(&tool, &o.output, MGK_TOOL_MODEL);
    if (status != STATUS_OK)
        return mgk_tool_refuse(&tool, status);
    if (keep && o.checkpoint_every == 0)
        return mgk_tool_usage(&tool, "--keep needs --checkpoint-every, the steps between models");
    if (variances && mgk_args_reals(variances, &variance_values, &a->variance_count) != STATUS_OK)
        return mgk_tool_usage(&tool, "--variance: expected numbers separated by commas");
    a->variances = variance_values;
    o.keep_every = keep ? o.checkpoint_every : 0;
    o.data = data.words;
    o.data_count = data.count;
    o.held_out = held_out.words;
    o.held_out_count = held_out.count;
    mgk_tool_watch(&tool, "training", "tokens");
    o.job = tool.job;
    mgk_result result = mgk_train_model(&o);
    mgk_free(variance_values);
    return mgk_tool_end(&tool, result);
}
