/* SPDX-License-Identifier: MIT */
/* The options of programs that run a model: the source of its tokens, and the layers. */
#ifndef MGK_TOOLS_INPUT_H
#define MGK_TOOLS_INPUT_H

#include "tools/tool.h"

typedef struct mgk_tool_input {
    mgk_arg_list text, images, audio, data;
    mgk_input input;
} mgk_tool_input;

/* clang-format off */
/* The rows of the option table; `in` is the program's, `usual` says how many samples are taken. */
#define MGK_TOOL_INPUT_ARGS(in, usual)                                                             \
    {MGK_ARG_FILES, 0, "text", &(in)->text, "PATH...",                                             \
     "Texts, or folders of .txt, cut into windows.", NULL},                                        \
    {MGK_ARG_FILE, 0, "tokenizer", &(in)->input.tokenizer, "PATH",                                 \
     "Tokenizer file or folder; the model's own if not given.", NULL},                             \
    {MGK_ARG_FLAG, 0, "lines", &(in)->input.lines, NULL,                                           \
     "Each line is a sample. Otherwise files are put end to end and cut into windows.", NULL},     \
    {MGK_ARG_FILE, 0, "tokens", &(in)->input.tokens, "FILE",                                       \
     "Token ids: .npy, .npz, HDF5, or text with one sequence a line.", NULL},                      \
    {MGK_ARG_FILE, 0, "target", &(in)->input.target, "FILE",                                       \
     "What a decoder writes: a line, or a row of ids, for each one of the input; see --part.", NULL},\
    {MGK_ARG_WORD, 0, "task", &(in)->input.task, "lm|listops|retrieval|text",                      \
     "Evaluation samples of a training task.", NULL},                                              \
    {MGK_ARG_FILES, 0, "images", &(in)->images, "FILE...",                                         \
     "PNG files for models that read pictures, one sample each.", NULL},                           \
    {MGK_ARG_FILES, 0, "audio", &(in)->audio, "FILE...",                                           \
     "WAV files for models that hear, one sample each.", NULL},                                    \
    {MGK_ARG_FILES, 0, "data", &(in)->data, "PATH...",                                             \
     "Files of the task; without them listops are generated.", NULL},                              \
    {MGK_ARG_FLAG, 0, "article-per-file", &(in)->input.article_per_file, NULL,                     \
     "Retrieval: each file is an article; otherwise files are split at WikiText titles, lines "    \
     "such as \"= Title =\".", NULL},                                                              \
    {MGK_ARG_COUNT, 0, "listops-above", &(in)->input.listops_above, "N",                           \
     "Generated lists have more tokens than this; if not given, than a quarter of --listops-below.",\
     NULL},                                                                                        \
    {MGK_ARG_COUNT, 0, "listops-below", &(in)->input.listops_below, "N",                           \
     "Generated lists have fewer tokens than this; if not given, than 2000, and no more than the " \
     "model has positions.", NULL},                                                                \
    {MGK_ARG_AMOUNT, 0, "samples", &(in)->input.samples, "S|all",                                  \
     "Number of sequences, of which a pair has two, drawn by seed without repeats" usual ".",      \
     NULL},                                                                                        \
    {MGK_ARG_COUNT, 0, "length", &(in)->input.length, "N",                                         \
     "Tokens of a sequence, at most; if not given, as many as the model has positions, at most "   \
     "4096.",                                                                                      \
     NULL}
/* clang-format on */

/* Completes the input after parsing. */
void mgk_tool_input_end(mgk_tool_input *in);

/* STATUS_USAGE: there is no model, or more than `most`. */
mgk_status mgk_tool_check_models(const mgk_arg_list *models, size_t most);

/* Reads standard input where a name in the completed input `out` is "-". */
mgk_status mgk_tool_input_read(mgk_tool *tool, mgk_tool_input *in, mgk_input *out);

/* STATUS_USAGE: a run that is resumed reads standard input or writes standard output. */
mgk_status mgk_tool_check_resume(const mgk_input *input, const char *output, bool resume);

/* Parses the list of an option ("0,2,5-7"; NULL: all, *out NULL); release *out with mgk_free. */
mgk_status mgk_tool_indices(const char *option, const char *text, int **out, size_t *count);

/* Parses heads, "0.2,1.0-3,4" or words of such: head 2 of layer 0, heads 0 to 3 of layer 1, all of
 * layer 4. Release *out with mgk_free, also after a failure. */
mgk_status mgk_tool_heads(const char *option, const mgk_arg_list *words, mgk_head **out,
                          size_t *count);

#endif
