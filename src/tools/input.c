/* SPDX-License-Identifier: MIT */
#include "tools/input.h"

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

mgk_status mgk_tool_indices(const char *option, const char *text, int **out, size_t *count)
{
    *out = NULL;
    *count = 0;
    if (!text)
        return STATUS_OK;
    mgk_status status = mgk_args_indices(text, out, count);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, option);
}
