/* SPDX-License-Identifier: MIT */
#include "tools/input.h"

#include <string.h>

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
