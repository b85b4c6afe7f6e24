#include "picture_input.h"

mgk_status mgk_picture_input_open(const mgk_input *input, const mgk_model *model, const char *path,
                                  mgk_pictures **out)
{
    const mgk_config *config = &model->config;
    bool pictures = config->picture.patch > 0;
    *out = NULL;
    if (pictures && input->image_count == 0)
        return mgk_fail(STATUS_USAGE, "%s reads pictures: name PNG files by --images", path);
    if (!pictures && input->image_count > 0)
        return mgk_fail(STATUS_USAGE, "--images: %s reads tokens, not pictures", path);
    if (!pictures)
        return STATUS_OK;
    if (input->text_count > 0 || input->tokens || input->task)
        return mgk_fail(STATUS_USAGE, "expected one of --text, --tokens, --task and --images");
    if (input->tokenizer || input->lines)
        return mgk_fail(STATUS_USAGE, "--tokenizer and --lines are about text, not pictures");
    if (input->length != 0 && input->length != config->length)
        return mgk_fail(STATUS_USAGE, "length %d: a picture has %d tokens", input->length,
                        config->length);
    return mgk_pictures_open(input->images, input->image_count, &config->picture, out);
}
