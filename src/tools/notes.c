/* SPDX-License-Identifier: MIT */
#include "tools/notes.h"

const mgk_arg_note mgk_tool_notes[] = {
    {"device", "`auto` is the CPU.\n"
               "`cuda` is a GPU, if the toolkit was built with CUDA; most of that code has run on "
               "an emulator "
               "alone."},
    {"threads",
     "The cores that a process may use are those of its affinity (`taskset`), but no more than "
     "its control group allows (`cpu.max`, as containers and Slurm set it).\n"
     "Threads that wait for each other soon go to sleep, so that a program slows down little "
     "beside others; the variables `OMP_WAIT_POLICY` and `GOMP_SPINCOUNT` choose otherwise."},
    {"no-warnings", "They tell what a reader of the results must know; errors are always printed."},
    {"seed",
     "With another number of threads, or on another kind of processor (x86-64-v2, v3 or v4), "
     "results can differ."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_output_notes[] = {
    {"force",
     "Without this option an output that exists is refused.\n"
     "If an output is a symbolic link, the link is replaced, not the file that it points to.\n"
     "An input is never overwritten, nor an output that another run is writing.\n"
     "While a run writes an output, an empty file {OUT}`.mgk-lock` in the same folder makes other "
     "runs refuse that output.\n"
     "A run that is killed leaves this file and its unfinished output, {OUT}`.mgk-XXXXXX.part`; "
     "the next run with the same output removes both and says so."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_model_notes[] = {
    {"head-dim",
     "LRA checkpoints are those of the LRA code of Transformer-MGK.\n"
     "State dicts of its language-model code need this option if they have neither shifted keys "
     "nor priors."},
    {"attention",
     "The tensors of such a checkpoint look the same for linear attention and softmax, and they "
     "look the same for `mlk` (linear attention with two projected keys) and mgk.\n"
     "Without this option the checkpoint is read as softmax or mgk."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_as_notes[] = {
    {"as",
     "The model runs as a Performer, for example: each layer reads the output of the new attention "
     "of the layer below. Its rotated queries and keys stay as they are.\n"
     "Refused are kinds with trained parameters, kinds that are not causal for a causal model, and "
     "kinds without scale, cap, window or bias of scores for a model that has them.\n"
     "A message tells how far the attention is from softmax of the same queries, keys and values "
     "of a layer, by the mean and the largest of the relative Frobenius errors of the matrices A "
     "of a sample and head, and of the outputs A V."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_settings_notes[] = {
    {"Settings of attention kinds (0 or nothing: the kind's default)",
     "`mgk-info --kinds` lists the settings of each kind and their defaults.\n"
     "A setting means the same in every kind that has it, and holds for all of them; its default "
     "is that of the first layer with the setting.\n"
     "A setting that no kind of the model has is refused."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_input_notes[] = {
    {"text",
     "A window has {N} tokens (--length).\n"
     "A model that reads pairs, of --task retrieval, encodes each window alone.\n"
     "Models with a vocabulary of 256 read any bytes. A tokenizer reads UTF-8; a file with other "
     "bytes is refused."},
    {"tokenizer",
     "A file is {tokenizer.json}, {vocab.txt} (WordPiece, or the letters of ESM) or {vocab.json} "
     "with {merges.txt} (byte-level BPE of GPT-2 or RoBERTa) of Hugging Face, a {.model} of "
     "SentencePiece, Marian's {source.spm} with {vocab.json}, or {tokenizer.bin} of llama2.c; a "
     "folder holds these.\n"
     "A file may also be a list of words, one a line, with or without a count after the word; "
     "`<unk>` then stands for any other word and `<eos>` for the end of a line.\n"
     "Without this option the tokenizer in the folder of the model is used, unless the model has "
     "a vocabulary of 256.\n"
     "The {N} tokens of a sequence include those that the model expects around it, such as [CLS] "
     "and [SEP].\n"
     "With --tokens the tokenizer only gives the ids their text; the one in the model's folder "
     "gives it, too, if it can be read and fits."},
    {"lines",
     "Blank lines are left out, or with --target an error; the others are cut to {N} tokens."},
    {"tokens", "Arrays are integers: [samples, length], padded with -1 or -100, or [length], one "
               "text that is cut "
               "into windows of {N} tokens.\n"
               "Sequences longer than {N} are cut, and a message says so.\n"
               "If a file has several arrays, `input_ids` is read; in HDF5 also `tokens`."},
    {"target",
     "With --text and --audio it is text, a line for each line or recording, none of them blank; "
     "with --tokens it holds ids of that form.\n"
     "The decoder reads its start token and all tokens of the target but the last."},
    {"task", "They come from the files of --data."},
    {"images",
     "They may have any size and kind: each is resized to the size of the model and normalised "
     "as the model expects.\n"
     "The tokens of a picture are the class and the patches, row by row; their text is `class` "
     "and {row},{column}, counted from 0."},
    {"audio",
     "They hold integers of 16, 24 or 32 bits, or reals, at the rate of the model, 16,000 samples "
     "a second for whisper. Several channels are mixed to one.\n"
     "The model hears 30 seconds: longer recordings are cut, and a message says so; shorter ones "
     "are followed by silence, which has tokens, too.\n"
     "The text of a token is the second at which it begins."},
    {"data", "The formats are those of `mgk-train`(1)."},
    {"length",
     "The longest sample decides {N}: a text, a line or a sequence that is shorter is not padded "
     "to this number.\n"
     "Windows of a longer text have exactly this number of tokens."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_array_notes[] = {
    {"dataset",
     "The file is HDF5 or NumPy ({.npy}, {.npz}), and the numbers are floating-point.\n"
     "An array has the axes [{N}, {N}], [sample, {N}, {N}], [sample, head, {N}, {N}] or [sample, "
     "layer, head, {N}, {N}].\n"
     "If a file has only one array of matrices, it needs no name.\n"
     "Arrays of a name with a star, such as `layer_*`, have no axis of layers; they are ordered "
     "by the numbers in their names."},
    {"axes", "{AXES} are `sample`, `layer` and `head`, or some of them, in the order of the array, "
             "with commas "
             "between them.\n"
             "The weights that a model of Hugging Face returns, stacked, are `layer,sample,head`; "
             "those of one "
             "text are `layer,head`.\n"
             "The layers of an array are numbered from 0.\n"
             "An attention store says itself what its axes are.\n"
             "Without this option a message says what was guessed, and how to name the other usual "
             "order; {.json} and {.h5} files of results repeat it."},
    {"mask",
     "The array is `attention_mask` or `mask`, or the only one of integers or booleans in {FILE}, "
     "or of floats.\n"
     "Its ones may be at the beginning of a row, at the end (padding on the left) or between, but "
     "next to each other.\n"
     "Only the rows and columns of valid tokens are read; {N} is their number.\n"
     "Without this option padding counts like text, and a message tells of matrices that look "
     "padded: those whose first or last columns are all 0."},
    {NULL, NULL},
};
