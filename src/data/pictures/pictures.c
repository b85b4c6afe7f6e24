/* SPDX-License-Identifier: MIT */
#include "data/pictures/pictures.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/pictures/resize.h"

enum { TEXT_SIZE = 48 };

struct mgk_pictures {
    mgk_picture_form form;
    char **paths; /* [count] */
    size_t count;
    char (*texts)[TEXT_SIZE]; /* [N] */
};

static mgk_status name_patches(mgk_pictures *p)
{
    size_t across = mgk_picture_patches(&p->form), tokens = mgk_picture_tokens(&p->form);
    const size_t extra = (size_t)p->form.extra;
    TRY(mgk_alloc(tokens, sizeof(*p->texts), &p->texts));
    for (size_t t = 0; t < extra; t++)
        snprintf(p->texts[t], TEXT_SIZE, t ? "extra %zu" : "class", t);
    for (size_t t = extra; t < tokens; t++)
        snprintf(p->texts[t], TEXT_SIZE, "%zu,%zu", (t - extra) / across, (t - extra) % across);
    return STATUS_OK;
}

mgk_status mgk_pictures_open(const char *const *paths, size_t count, const mgk_picture_form *form,
                             mgk_pictures **out)
{
    mgk_status status;
    mgk_pictures *p = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*p), &p));
    p->form = *form;
    CHECK(mgk_alloc(count, sizeof(*p->paths), &p->paths));
    for (; p->count < count; p->count++)
        CHECK(mgk_copy_string(paths[p->count], &p->paths[p->count]));
    CHECK(name_patches(p));
    *out = p;
    p = NULL;
out:
    mgk_pictures_close(p);
    return status;
}

void mgk_pictures_close(mgk_pictures *pictures)
{
    if (!pictures)
        return;
    for (size_t i = 0; i < pictures->count; i++)
        mgk_free(pictures->paths[i]);
    mgk_free(pictures->paths);
    mgk_free(pictures->texts);
    mgk_free(pictures);
}

size_t mgk_pictures_count(const mgk_pictures *pictures)
{
    return pictures->count;
}

/* Copies the patch whose upper left pixel is `corner` as numbers [3, P, P]. */
static void cut_patch(const mgk_picture_form *form, const unsigned char *corner, double *out)
{
    size_t row = (size_t)form->side * MGK_CHANNELS, patch = (size_t)form->patch;
    for (size_t c = 0; c < MGK_CHANNELS; c++)
        for (size_t y = 0; y < patch; y++)
            for (size_t x = 0; x < patch; x++)
                *out++ = (form->scale * corner[y * row + x * MGK_CHANNELS + c] - form->mean[c]) /
                         form->deviation[c];
}

static void cut(const mgk_picture_form *form, const unsigned char *square, double *patches)
{
    size_t across = mgk_picture_patches(form), tokens = mgk_picture_tokens(form);
    size_t size = mgk_patch_size(form), patch = (size_t)form->patch;
    const size_t extra = (size_t)form->extra;
    memset(patches, 0, extra * size * sizeof(*patches));
    for (size_t t = extra; t < tokens; t++) {
        size_t y = (t - extra) / across * patch, x = (t - extra) % across * patch;
        cut_patch(form, square + (y * (size_t)form->side + x) * MGK_CHANNELS, patches + t * size);
    }
}

/* The size of a resized picture, before its centre is cut out. */
static mgk_status resize(const mgk_picture_form *form, const mgk_image *image,
                         unsigned char *square)
{
    const size_t side = (size_t)form->side, edge = form->edge ? (size_t)form->edge : side;
    size_t width = edge, height = edge;
    if (form->resampling == MGK_RESAMPLING_NONE && form->edge) {
        width = image->width;
        height = image->height;
        if (width < side || height < side)
            return mgk_fail(STATUS_SHAPE, "%zu x %zu pixels: expected at least %zu x %zu", width,
                            height, side, side);
    } else if (form->shortest && image->width <= image->height) {
        height = edge * image->height / image->width;
    } else if (form->shortest) {
        width = edge * image->width / image->height;
    }
    return mgk_image_resize(image, form->resampling, width, height, side, square);
}

mgk_status mgk_pictures_read(const mgk_pictures *pictures, size_t index, int32_t *ids,
                             double *patches)
{
    const mgk_picture_form *form = &pictures->form;
    size_t side = (size_t)form->side, tokens = mgk_picture_tokens(form);
    mgk_image image = {0};
    unsigned char *square = NULL;
    mgk_status status;
    CHECK(mgk_image_read(pictures->paths[index], &image));
    CHECK(mgk_alloc(side * side, MGK_CHANNELS, &square));
    status = resize(form, &image, square);
    if (status != STATUS_OK) {
        mgk_fail_prefix(status, pictures->paths[index]);
        goto out;
    }
    cut(form, square, patches);
    for (size_t t = 0; t < tokens; t++)
        ids[t] = (int32_t)t;
out:
    mgk_free(square);
    mgk_image_free(&image);
    return status;
}

static const char *text_of(const void *context, int32_t id)
{
    const mgk_pictures *p = context;
    return id >= 0 && (size_t)id < mgk_picture_tokens(&p->form) ? p->texts[id] : "";
}

mgk_token_text mgk_pictures_text(const mgk_pictures *pictures)
{
    return (mgk_token_text){.of = text_of, .context = pictures, .subword = ""};
}
