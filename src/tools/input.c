/* SPDX-License-Identifier: MIT */
#include "tools/input.h"

#include <string.h>

#include "base/memory.h"

void mgk_tool_input_end(mgk_tool_input *in)
{
    in->input.text = in->text.words;
    in->input.text_count = in->text.count;
    in->input.images = in->images.words;
    in->input.image_count = in->images.count;
    in->input.audio = in->audio.words;
    in->input.audio_count = in->audio.count;
    in->input.data = in->data.words;
    in->input.data_count = in->data.count;
}

/* Of several processes only rank 0 has a standard input. */
static mgk_status read_stream(mgk_tool *tool, const char **path)
{
    if (tool->processes > 1 && strcmp(*path, "-") == 0)
        return mgk_fail(STATUS_USAGE,
                        "standard input, \"-\", reaches one of %d processes: name a file",
                        tool->processes);
    return mgk_streams_read(&tool->streams, path);
}

mgk_status mgk_tool_input_read(mgk_tool *tool, mgk_tool_input *in, mgk_input *out)
{
    for (size_t i = 0; i < in->text.count; i++)
        TRY(read_stream(tool, &in->text.words[i]));
    if (out->target)
        TRY(read_stream(tool, &out->target));
    return out->tokens ? read_stream(tool, &out->tokens) : STATUS_OK;
}

mgk_status mgk_tool_check_models(const mgk_arg_list *models, size_t most)
{
    if (models->count == 0)
        return mgk_fail(STATUS_USAGE, "a MODEL is needed, before --text and other lists of files, "
                                      "or as --model MODEL");
    if (models->count > most)
        return mgk_fail(STATUS_USAGE, "%zu MODELs: expected one", models->count);
    return STATUS_OK;
}

mgk_status mgk_tool_check_resume(const mgk_input *input, const char *output, bool resume)
{
    bool streams = mgk_is_stream(output) || (input->tokens && strcmp(input->tokens, "-") == 0) ||
                   (input->target && strcmp(input->target, "-") == 0);
    for (size_t i = 0; i < input->text_count; i++)
        streams |= strcmp(input->text[i], "-") == 0;
    if (resume && streams)
        return mgk_fail(STATUS_USAGE, "--resume: standard input and output cannot be continued");
    return STATUS_OK;
}

mgk_status mgk_tool_indices(const char *option, const char *text, int **out, size_t *count)
{
    *out = NULL;
    *count = 0;
    if (!text)
        return STATUS_OK;
    mgk_status status = mgk_args_indices(text, out, count);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, option);
}

/* Heads that are read. */
typedef struct head_list {
    mgk_head *heads;
    size_t count, room;
} head_list;

static mgk_status add_head(head_list *list, int64_t layer, int64_t head)
{
    enum { MOST = 1 << 20 };
    if (list->count == MOST)
        return mgk_fail(STATUS_USAGE, "more than %d heads", (int)MOST);
    TRY(mgk_grow(list->count, sizeof(*list->heads), &list->room, &list->heads));
    list->heads[list->count++] = (mgk_head){(int)layer, (int)head};
    return STATUS_OK;
}

/* Adds the heads of "LAYERS.HEADS", or all of "LAYERS". */
static mgk_status add_entry(head_list *list, const char *entry)
{
    const char *at = entry;
    int64_t layer, last_layer, first = -1, last = -1;
    bool good = mgk_args_range(&at, &layer, &last_layer);
    if (good && *at == '.') {
        at++;
        good = mgk_args_range(&at, &first, &last);
    }
    if (!good || *at)
        return mgk_fail(STATUS_USAGE, "expected heads such as 0.2,1.0-3,4, got \"%s\"", entry);
    for (; layer <= last_layer; layer++)
        for (int64_t head = first; head <= last; head++)
            TRY(add_head(list, layer, head));
    return STATUS_OK;
}

/* Adds the heads of one word. */
static mgk_status add_word(head_list *list, const char *word)
{
    mgk_status status;
    const size_t before = list->count;
    char *entries = NULL, *rest;
    CHECK(mgk_copy_string(word, &entries));
    for (char *entry = strtok_r(entries, ", ", &rest); entry; entry = strtok_r(NULL, ", ", &rest))
        CHECK(add_entry(list, entry));
    if (list->count == before)
        CHECK(add_entry(list, word));
out:
    mgk_free(entries);
    return status;
}

mgk_status mgk_tool_heads(const char *option, const mgk_arg_list *words, mgk_head **out,
                          size_t *count)
{
    mgk_status status = STATUS_OK;
    head_list list = {0};
    for (size_t i = 0; i < words->count && status == STATUS_OK; i++)
        status = add_word(&list, words->words[i]);
    *out = list.heads;
    *count = list.count;
    return status == STATUS_OK ? status : mgk_fail_prefix(status, option);
}
