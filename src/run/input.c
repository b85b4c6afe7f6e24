/* SPDX-License-Identifier: MIT */
#include "run/input.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/numpy.h"
#include "data/datasets/class_token.h"
#include "run/arguments.h"
#include "run/authors_data.h"
#include "run/own_tokenizer.h"
#include "run/part.h"
#include "run/recognise.h"
#include "store/foreign/integers.h"

const char *mgk_input_given(const mgk_input *input)
{
    const struct {
        bool given;
        const char *name;
    } options[] = {
        {input->text_count > 0, "`text`"},
        {input->tokens != NULL, "`tokens`"},
        {input->task != NULL, "`task`"},
        {input->image_count > 0, "`images`"},
        {input->audio_count > 0, "`audio`"},
        {input->string_count > 0, "texts in memory"},
        {input->data_count > 0, "`data`"},
        {input->article_per_file, "`article_per_file`"},
        {input->tokenizer != NULL, "`tokenizer`"},
        {input->lines, "`lines`"},
        {input->samples != 0, "`samples`"},
        {input->length != 0, "`length`"},
        {input->target != NULL, "`target`"},
        {input->target_strings != NULL, "targets"},
        {input->listops_above != 0, "`listops_above`"},
        {input->listops_below != 0, "`listops_below`"},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

static mgk_status check_target(const mgk_input *input, const char *part)
{
    const bool targets = input->target || input->target_strings;
    TRY(mgk_part_check(part));
    if (mgk_part_decodes(part) && !targets)
        return mgk_fail(STATUS_USAGE, "part \"%s\" needs what the decoder writes: give `target`",
                        part);
    if (!mgk_part_decodes(part) && targets)
        return mgk_fail(STATUS_USAGE, "`target` belongs to the parts \"decoder\" and \"cross\"");
    if ((input->string_count > 0) != (input->target_strings != NULL) && targets)
        return mgk_fail(STATUS_USAGE,
                        "texts in memory have targets in memory, files have `target`");
    if (input->target && input->target_strings)
        return mgk_fail(STATUS_USAGE, "`target` is for files, not for texts in memory");
    if (input->target && (input->task || input->image_count > 0))
        return mgk_fail(STATUS_USAGE, "`target` belongs to `text`, `tokens` and `audio`");
    if (input->target && input->text_count > 0 && !input->lines)
        return mgk_fail(STATUS_USAGE, "`target` has a line for each line of `text`: add `lines`");
    return input->target_strings
               ? mgk_check_names("targets", input->target_strings, input->string_count)
               : STATUS_OK;
}

mgk_input mgk_input_of_target(const mgk_input *input)
{
    mgk_input target = *input;
    target.text = NULL;
    target.audio = NULL;
    target.text_count = target.audio_count = 0;
    if (input->tokens)
        target.tokens = input->target;
    else if (input->target) {
        target.text = &input->target;
        target.text_count = 1;
        target.lines = true;
    }
    target.strings = input->target_strings;
    target.string_sizes = input->target_sizes;
    return target;
}

/* Checks one of the bounds on generated lists; 0: not given. */
static mgk_status check_bound(const mgk_input *input, const char *name, int bound)
{
    if (bound < 0)
        return mgk_fail(STATUS_USAGE, "%s %d: expected a positive number", name, bound);
    if (bound > 0 && (!input->task || strcmp(input->task, "listops") != 0))
        return mgk_fail(STATUS_USAGE, "%s belongs to `task` listops", name);
    if (bound > 0 && input->data_count > 0)
        return mgk_fail(STATUS_USAGE, "%s is for lists that are generated, not for those of `data`",
                        name);
    return STATUS_OK;
}

mgk_status mgk_input_check(const mgk_input *input, const char *part)
{
    const bool text = input->text_count > 0, pictures = input->image_count > 0;
    const bool sounds = input->audio_count > 0, strings = input->string_count > 0;
    TRY(mgk_check_names("text", input->text, input->text_count));
    TRY(mgk_check_names("data", input->data, input->data_count));
    TRY(mgk_check_names("images", input->images, input->image_count));
    TRY(mgk_check_names("audio", input->audio, input->audio_count));
    TRY(mgk_check_names("strings", input->strings, input->string_count));
    if (text + (input->tokens != NULL) + (input->task != NULL) + pictures + sounds + strings != 1)
        return mgk_fail(STATUS_USAGE,
                        "expected exactly one of `text`, `tokens`, `task`, `images` and `audio`");
    if (input->data_count > 0 && !input->task)
        return mgk_fail(STATUS_USAGE, "`data` belongs to `task`");
    if ((pictures || sounds) && (input->tokenizer || input->lines))
        return mgk_fail(STATUS_USAGE, "`tokenizer` and `lines` are about text, not %s",
                        pictures ? "pictures" : "sounds");
    if (input->lines && !text)
        return mgk_fail(STATUS_USAGE, "`lines` belongs to `text`");
    if (input->article_per_file && (!input->task || strcmp(input->task, "retrieval") != 0))
        return mgk_fail(STATUS_USAGE, "`article_per_file` belongs to `task` retrieval");
    if (input->tokenizer && input->task)
        return mgk_fail(STATUS_USAGE, "`tokenizer` belongs to `text` and `tokens`");
    TRY(check_bound(input, "`listops_above`", input->listops_above));
    TRY(check_bound(input, "`listops_below`", input->listops_below));
    TRY(check_target(input, part));
    if (input->samples < 0 && input->samples != MGK_ALL_SAMPLES)
        return mgk_fail(STATUS_USAGE, "%d samples: expected at least 1", input->samples);
    if (input->length < 0)
        return mgk_fail(STATUS_USAGE, "length %d: expected a positive number", input->length);
    return STATUS_OK;
}

mgk_status mgk_input_check_model(const mgk_input *input, const mgk_config *config, const char *path)
{
    const bool pictures = config->picture.patch > 0, sounds = config->sound.bands > 0;
    if (pictures && input->image_count == 0)
        return mgk_fail(STATUS_USAGE, "%s reads pictures: name PNG files by `images`", path);
    if (sounds && input->audio_count == 0)
        return mgk_fail(STATUS_USAGE, "%s reads sounds: name WAV files by `audio`", path);
    if (!pictures && input->image_count > 0)
        return mgk_fail(STATUS_USAGE, "`images`: %s reads tokens, not pictures", path);
    if (!sounds && input->audio_count > 0)
        return mgk_fail(STATUS_USAGE, "`audio`: %s reads tokens, not sounds", path);
    if ((pictures || sounds) && input->length != 0 && input->length != config->length)
        return mgk_fail(STATUS_USAGE, "length %d: a %s has %d %s", input->length,
                        pictures ? "picture" : "recording", config->length,
                        MGK_NOUN(config->length, "token", "tokens"));
    if (input->length > config->length)
        return mgk_fail(STATUS_SHAPE, "length %d: the model has %d %s", input->length,
                        config->length, MGK_NOUN(config->length, "position", "positions"));
    return STATUS_OK;
}

/* Finds the task that provides an input's samples. */
static mgk_status input_task(const mgk_input *input, mgk_task *task)
{
    if (input->task)
        return mgk_task_from_name(input->task, task);
    *task = input->tokens ? MGK_TASK_TOKENS : MGK_TASK_LM;
    return STATUS_OK;
}

/* Ids of a file of the paper's code, which are released. */
static mgk_status open_array(mgk_token_array *array, const mgk_dataset_options *options,
                             mgk_dataset **out)
{
    mgk_dataset_options of_ids = *options;
    of_ids.ids = array;
    mgk_status status = mgk_dataset_open(&of_ids, out);
    mgk_free(array->ids);
    return status;
}

/* Ids in HDF5 files and pickles are read here, because src/data does not know these formats. */
static mgk_status open_tokens(const char *path, const mgk_dataset_options *options,
                              mgk_dataset **out)
{
    mgk_token_array array;
    bool pickle, corpus;
    TRY(mgk_recognise_pickle(path, &pickle));
    if (pickle) {
        TRY(mgk_lra_pickle_read(path, &array));
        return open_array(&array, options, out);
    }
    TRY(mgk_corpus_read(path, &corpus, &array));
    if (corpus)
        return open_array(&array, options, out);
    mgk_file_kind kind;
    mgk_store_integers read;
    bool numpy;
    TRY(mgk_recognise(path, &kind));
    TRY(mgk_recognise_numpy(path, &numpy));
    if (kind != MGK_FILE_ARRAYS || numpy)
        return mgk_dataset_open(options, out);
    TRY(mgk_store_read_integers(path, MGK_MOST_TOKEN_IDS, &read));
    array = (mgk_token_array){read.values, read.rows, read.columns, read.flat, read.is_unsigned};
    return open_array(&array, options, out);
}

/* A matrix of N = 4096 takes 64 MB: longer samples must be requested. */
static size_t default_length(const mgk_input *input, const mgk_config *config)
{
    enum { MOST = 4096 };
    if (input->length)
        return (size_t)input->length;
    return (size_t)(config->length < MOST ? config->length : MOST);
}

mgk_status mgk_input_open(const mgk_input *input, const mgk_model *model,
                          const mgk_tokenizer *tokenizer, uint64_t seed, size_t stride,
                          mgk_dataset **out)
{
    const mgk_config *config = &model->config;
    mgk_task task;
    *out = NULL;
    TRY(input_task(input, &task));
    mgk_dataset_options options = mgk_dataset_defaults(task);
    options.split = MGK_SPLIT_EVAL;
    options.paths = input->tokens ? &input->tokens : input->task ? input->data : input->text;
    options.path_count = input->tokens ? 1 : input->task ? input->data_count : input->text_count;
    /* Ids are as the model reads them; of texts the class token is left to be added. */
    const bool begins = config->class_token && !input->tokens;
    options.length = default_length(input, config) - begins;
    if (options.length == 0)
        return mgk_fail(STATUS_USAGE, "`length` 1: the class token alone takes it");
    options.seed = seed;
    options.samples = input->samples > 0 ? (size_t)input->samples : 0;
    options.article_per_file = input->article_per_file;
    options.vocabulary = (size_t)config->vocabulary;
    options.padding = config->padding;
    options.padding_word = config->padding_word;
    options.padding_left = config->causal;
    options.padding_masked = config->padding_masked;
    options.tokenizer = tokenizer;
    options.lines = input->lines;
    options.every_line = input->target != NULL;
    options.strings = input->strings;
    options.string_sizes = input->string_sizes;
    options.string_count = input->string_count;
    options.stride = stride;
    mgk_dataset_bound_lists(&options, input->listops_above, input->listops_below);
    TRY(input->tokens ? open_tokens(input->tokens, &options, out)
                      : mgk_dataset_open(&options, out));
    if (begins)
        TRY(mgk_class_token_add(*out, out));
    size_t vocabulary = mgk_dataset_shape_of(*out).vocabulary;
    /* A model's vocabulary may exceed its tokenizer's: it is often rounded up. */
    const bool tokenized = tokenizer && task != MGK_TASK_LISTOPS;
    if (vocabulary == (size_t)config->vocabulary ||
        (tokenized && vocabulary < (size_t)config->vocabulary))
        return STATUS_OK;
    mgk_dataset_close(*out);
    *out = NULL;
    return mgk_fail(STATUS_SHAPE,
                    "the input has a vocabulary of %zu %s (text: 256 bytes), the model of %d",
                    vocabulary, MGK_NOUN(vocabulary, "token", "tokens"), config->vocabulary);
}

bool mgk_input_is_bytes(const mgk_config *config)
{
    enum { BYTES = 256 };
    return config->vocabulary - config->class_token == BYTES;
}

static mgk_status check_fit(const mgk_tokenizer *tokenizer, const char *name,
                            const mgk_model *model, const char *path)
{
    if (mgk_tokenizer_vocabulary(tokenizer) <= model->config.vocabulary)
        return STATUS_OK;
    return mgk_fail(STATUS_SHAPE, "%s: the tokenizer has %d %s, the model %s a vocabulary of %d",
                    name, mgk_tokenizer_vocabulary(tokenizer),
                    MGK_NOUN(mgk_tokenizer_vocabulary(tokenizer), "token", "tokens"), path,
                    model->config.vocabulary);
}

/* Whether the model's folder contains its tokenizer; a tokenizer next to a model of bytes belongs
 * to another model. */
static bool has_own(const mgk_model *model)
{
    return !mgk_input_is_bytes(&model->config) && model->folder &&
           mgk_tokenizer_in_folder(model->folder);
}

/* Decoders write texts that may have a tokenizer of their own. */
static mgk_status open_tokenizer(const mgk_model *model, const char *path, mgk_tokenizer **out)
{
    return model->config.memory > 0 ? mgk_tokenizer_open_target(path, out)
                                    : mgk_tokenizer_open(path, out);
}

static mgk_status open_carried(const mgk_model *model, const char *path, mgk_tokenizer **out)
{
    return mgk_own_tokenizer_open(model->tokenizer, model->config.family == MGK_FAMILY_LM, path,
                                  out);
}

static mgk_status open_own(const mgk_model *model, const char *path, mgk_tokenizer **out)
{
    if (model->tokenizer)
        return open_carried(model, path, out);
    if (has_own(model))
        return open_tokenizer(model, model->folder, out);
    if (mgk_input_is_bytes(&model->config))
        return STATUS_OK;
    return mgk_fail(
        STATUS_SHAPE,
        "%s has a vocabulary of %d and its folder has no tokenizer (tokenizer.json, "
        "vocab.txt, vocab.json with merges.txt, or a .model of SentencePiece): name one "
        "with `tokenizer`, or give token ids in place of text",
        path, model->config.vocabulary);
}

/* Ids need no text, so a tokenizer that cannot be read or does not fit is ignored. */
static mgk_status open_for_text(const mgk_model *model, const char *path, mgk_tokenizer **out)
{
    if (!model->tokenizer && !has_own(model))
        return STATUS_OK;
    mgk_status status = model->tokenizer ? open_carried(model, path, out)
                                         : open_tokenizer(model, model->folder, out);
    if (status == STATUS_OK)
        status = check_fit(*out, model->folder, model, path);
    if (status == STATUS_OK)
        return STATUS_OK;
    mgk_tokenizer_close(*out);
    *out = NULL;
    return status == STATUS_MEMORY ? status : STATUS_OK;
}

mgk_status mgk_input_open_tokenizer(const mgk_input *input, const mgk_model *model,
                                    const char *path, mgk_tokenizer **out)
{
    const char *named = input->tokenizer;
    *out = NULL;
    if (!named && !model->tokenizer && input->task)
        return STATUS_OK;
    if (!named && input->tokens)
        return open_for_text(model, path, out);
    TRY(named ? open_tokenizer(model, named, out) : open_own(model, path, out));
    mgk_status status = *out ? check_fit(*out, named ? named : path, model, path) : STATUS_OK;
    if (status == STATUS_OK)
        return STATUS_OK;
    mgk_tokenizer_close(*out);
    *out = NULL;
    return status;
}
