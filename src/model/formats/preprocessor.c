/* SPDX-License-Identifier: MIT */
#include "model/formats/preprocessor.h"

#include "base/memory.h"

static mgk_status no_square(const mgk_checkpoint *checkpoint, const char *key)
{
    return mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" is not the side of a square",
                    checkpoint->config_path, key);
}

mgk_status mgk_checkpoint_square(const mgk_checkpoint *checkpoint, const char *key, int fallback,
                                 int *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key);
    const cJSON *height = cJSON_GetObjectItemCaseSensitive(item, "height");
    const cJSON *width = cJSON_GetObjectItemCaseSensitive(item, "width");
    if (!cJSON_IsObject(item) && !cJSON_IsArray(item))
        return mgk_checkpoint_integer(checkpoint, key, fallback, out);
    if (cJSON_IsArray(item)) {
        if (cJSON_GetArraySize(item) != 2)
            return no_square(checkpoint, key);
        height = cJSON_GetArrayItem(item, 0);
        width = cJSON_GetArrayItem(item, 1);
    }
    if (!cJSON_IsNumber(height) || !cJSON_IsNumber(width) ||
        height->valuedouble != width->valuedouble ||
        height->valuedouble != (double)height->valueint)
        return no_square(checkpoint, key);
    *out = height->valueint;
    return STATUS_OK;
}

/* The edge or edges to which pictures are resized, "size", in any of its forms. */
static mgk_status read_edge(const mgk_checkpoint *file, const mgk_preprocessor_usual *usual,
                            mgk_picture_form *form)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(file->config, "size");
    const cJSON *edge = cJSON_GetObjectItemCaseSensitive(item, "shortest_edge");
    const int fallback = usual->edge > form->side ? usual->edge : form->side;
    form->shortest = edge != NULL || (usual->shortest && !cJSON_IsObject(item));
    if (!edge)
        return mgk_checkpoint_square(file, "size", fallback, &form->edge);
    if (!cJSON_IsNumber(edge) || edge->valuedouble != (double)edge->valueint)
        return mgk_fail(STATUS_FORMAT, "%s: \"shortest_edge\" is not an integer",
                        file->config_path);
    form->edge = edge->valueint;
    return STATUS_OK;
}

/* The side of prepared pictures; without resizing and cropping they must have it already. */
static mgk_status read_size(const mgk_checkpoint *file, const mgk_preprocessor_usual *usual,
                            bool interpolates, mgk_picture_form *form)
{
    bool resized, cropped;
    int side, resampling;
    TRY(mgk_checkpoint_flag(file, "do_resize", true, &resized));
    TRY(mgk_checkpoint_flag(file, "do_center_crop", usual->cropped, &cropped));
    TRY(mgk_checkpoint_integer(file, "resample", (int)usual->resampling, &resampling));
    TRY(read_edge(file, usual, form));
    TRY(mgk_checkpoint_square(file, "crop_size", form->side, &side));
    if (resampling < 0 || resampling >= MGK_RESAMPLING_NONE)
        return mgk_fail(STATUS_FORMAT, "%s: resample %d: expected 0 to %d", file->config_path,
                        resampling, MGK_RESAMPLING_NONE - 1);
    form->resampling = resized ? (mgk_resampling)resampling : MGK_RESAMPLING_NONE;
    if (resized && form->shortest && !cropped)
        return no_square(file, "size");
    if (!resized && !cropped)
        form->edge = form->side;
    side = cropped ? side : form->edge;
    if (resized && form->edge < side)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: pictures are resized to %d pixels, less than the %d that are cut out",
                        file->config_path, form->edge, side);
    if (interpolates)
        form->side = side;
    if (side != form->side)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: pictures are %s to %d pixels, but the model's have %d",
                        file->config_path, cropped ? "cut" : "resized", side, form->side);
    if (cropped && !resized)
        form->edge = side; /* any size that is at least this */
    else if (!cropped)
        form->edge = 0;
    form->shortest = form->shortest && form->edge > 0;
    return STATUS_OK;
}

static mgk_status read_channels(const mgk_checkpoint *file, const char *key, double *values)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(file->config, key), *value;
    int channel = 0;
    if (!item || cJSON_IsNull(item))
        return STATUS_OK;
    cJSON_ArrayForEach(value, item)
    {
        if (cJSON_IsNumber(value) && channel < MGK_CHANNELS)
            values[channel] = value->valuedouble;
        channel += cJSON_IsNumber(value) ? 1 : MGK_CHANNELS + 1;
    }
    return channel == MGK_CHANNELS ? STATUS_OK
                                   : mgk_fail(STATUS_FORMAT, "%s: \"%s\" is not %d numbers",
                                              file->config_path, key, MGK_CHANNELS);
}

static mgk_status read_numbers(const mgk_checkpoint *file, const mgk_preprocessor_usual *usual,
                               mgk_picture_form *form)
{
    bool scaled, normalized;
    TRY(mgk_checkpoint_flag(file, "do_rescale", true, &scaled));
    TRY(mgk_checkpoint_flag(file, "do_normalize", true, &normalized));
    TRY(mgk_checkpoint_real(file, "rescale_factor", 1.0 / 255, &form->scale));
    if (!scaled)
        form->scale = 1;
    if (!(form->scale > 0))
        return mgk_fail(STATUS_FORMAT, "%s: rescale_factor %g: expected a positive number",
                        file->config_path, form->scale);
    for (int c = 0; c < MGK_CHANNELS; c++) {
        form->mean[c] = normalized ? usual->mean[c] : 0;
        form->deviation[c] = normalized ? usual->deviation[c] : 1;
    }
    if (!normalized)
        return STATUS_OK;
    TRY(read_channels(file, "image_mean", form->mean));
    return read_channels(file, "image_std", form->deviation);
}

/* Refuses a step that is not implemented. */
static mgk_status refuse_padding(const mgk_checkpoint *file)
{
    bool wanted;
    TRY(mgk_checkpoint_flag(file, "do_pad", false, &wanted));
    return wanted ? mgk_fail(STATUS_UNSUPPORTED, "%s: \"do_pad\" is not known", file->config_path)
                  : STATUS_OK;
}

mgk_status mgk_preprocessor_read(const mgk_checkpoint *checkpoint,
                                 const mgk_preprocessor_usual *usual, bool interpolates,
                                 mgk_picture_form *form)
{
    mgk_status status;
    char *path = NULL;
    mgk_checkpoint file = {.path = checkpoint->path}; /* read as its config.json */
    CHECK(mgk_checkpoint_json(checkpoint, "preprocessor_config.json", &path, &file.config));
    file.config_path = path;
    CHECK(refuse_padding(&file));
    CHECK(read_size(&file, usual, interpolates, form));
    CHECK(read_numbers(&file, usual, form));
out:
    cJSON_Delete(file.config);
    mgk_free(path);
    return status;
}
