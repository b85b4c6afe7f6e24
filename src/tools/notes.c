#include "tools/notes.h"

const mgk_arg_note mgk_tool_notes[] = {
    {"device",
     "`auto` takes the CPU.\n"
     "`cuda` takes a GPU where the toolkit was built with CUDA; no GPU has run that code yet."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_output_notes[] = {
    {"force",
     "Without it they are refused.\n"
     "Of a link the link itself is replaced, not the file that it leads to.\n"
     "An input, and what another run is writing, is never overwritten.\n"
     "While a run writes an output, an empty file {OUT}`.mgk-lock` lies beside it, and other "
     "runs that would write it are refused.\n"
     "A run that is killed leaves that file and what it has written, {OUT}`.mgk-XXXXXX.part`; "
     "the next run of the same output removes both and says so."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_model_notes[] = {
    {"head-dim",
     "Those are checkpoints of the LRA code of Transformer-MGK.\n"
     "State dicts of its language models need this option where they have neither shifted keys "
     "nor priors."},
    {"attention",
     "Such checkpoints do not tell linear attention from softmax, nor its form with two "
     "projected keys from mgk.\n"
     "Without this option they are taken for the latter."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_input_notes[] = {
    {"text",
     "For a language model they are cut into windows of {N} tokens; for a retrieval model, "
     "passages of {N} bytes are drawn from their articles, which need at least two passages "
     "each.\n"
     "Models with a vocabulary of 256 read bytes, whatever they are; texts for a tokenizer are "
     "UTF-8, and a file that is not is refused."},
    {"tokenizer",
     "A file is {tokenizer.json}, {vocab.txt} (WordPiece) or {vocab.json} with {merges.txt} "
     "(byte-level BPE of GPT-2 or RoBERTa) of Hugging Face; a folder holds these.\n"
     "Or it is a list of words, one a line (perhaps with a count behind it), in which `<unk>` "
     "stands for any other word and `<eos>` for the end of a line.\n"
     "Without this option the tokenizer in the folder of the model is taken, unless the model "
     "has a vocabulary of 256.\n"
     "The tokens that the model expects around each sequence, such as [CLS] and [SEP], are part "
     "of the {N}.\n"
     "With --tokens it only gives the ids their text, as does the one in the folder where it can "
     "be read and fits."},
    {"lines", "Blank lines are left out, and the others are cut to {N} tokens."},
    {"tokens",
     "Arrays are integers [samples, length], padded with -1.\n"
     "Sequences longer than {N} are cut, which is said; integers [length] are a text, read in "
     "windows of {N} as text is.\n"
     "Of several arrays `input_ids` is taken, in HDF5 also `tokens`."},
    {"task", "They come from the files of --data."},
    {"images",
     "They may be of any size and kind: each is made the size that the model has and normalised "
     "as it expects.\n"
     "Its tokens are the class and the patches, row by row; their text is `class` and "
     "{row},{column}, counted from 0."},
    {"data", "They are those of `mgk-train`(1)."},
    {"length", "With --tokens and --lines that is at most the length of the longest sequence."},
    {NULL, NULL},
};

const mgk_arg_note mgk_tool_array_notes[] = {
    {"dataset",
     "The file is of HDF5 or NumPy ({.npy}, {.npz}), and the numbers are floating-point, [{N}, "
     "{N}] behind at most three axes.\n"
     "One is the sample, two are sample and head, three are sample, layer and head.\n"
     "The only array of matrices in a file needs no name.\n"
     "Those of a name with a star, such as `layer_*`, are in the order of the numbers in their "
     "names, and have no axis of layers."},
    {NULL, NULL},
};
