/* SPDX-License-Identifier: MIT */
#include "data/pictures/image.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "base/download.h"
#include "base/file.h"
#include "base/memory.h"

enum {
    MAX_SIDE = 1 << 15,
    MAX_PIXELS = 1 << 26,
    MOST_BYTES = 1 << 28, /* file size limit: chunks that are skipped may have any size */
    SIGNATURE = 8,
    MAX_COMPRESSION = 1040 /* bytes that one byte of deflate can expand to: 1032, and a margin */
};

typedef struct decoder {
    const char *path;
    mgk_mapping file;
    size_t offset;
    png_structp png;
    png_infop info;
    mgk_image image;
    unsigned char **rows; /* [height] */
    mgk_status status;    /* why reading ended */
} decoder;

static void on_error(png_structp png, png_const_charp message)
{
    decoder *d = png_get_error_ptr(png);
    d->status = mgk_fail(STATUS_FORMAT, "%s: a damaged PNG: %.100s", d->path, message);
    png_longjmp(png, 1);
}

/* libpng's default handler prints warnings. */
static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep out, size_t count)
{
    decoder *d = png_get_io_ptr(png);
    if (count > d->file.size - d->offset)
        png_error(png, "it ends too early");
    memcpy(out, d->file.data + d->offset, count);
    d->offset += count;
}

static mgk_status check_size(const decoder *d)
{
    size_t width = png_get_image_width(d->png, d->info);
    size_t height = png_get_image_height(d->png, d->info);
    if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: %zu x %zu pixels: expected at most %d, and %d in a row or column",
                        d->path, width, height, MAX_PIXELS, MAX_SIDE);
    /* A small file must not make the program allocate memory for millions of pixels. */
    if (png_get_rowbytes(d->png, d->info) * height / MAX_COMPRESSION > d->file.size)
        return mgk_fail(STATUS_FORMAT, "%s: a damaged PNG: %zu bytes cannot hold %zu x %zu pixels",
                        d->path, d->file.size, width, height);
    return STATUS_OK;
}

/* Makes libpng convert any kind of PNG to three bytes per pixel. */
static void choose_colors(const decoder *d)
{
    png_structp png = d->png;
    if (png_get_color_type(png, d->info) == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (!(png_get_color_type(png, d->info) & PNG_COLOR_MASK_COLOR)) {
        png_set_expand_gray_1_2_4_to_8(png);
        png_set_gray_to_rgb(png);
    }
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, d->info);
}

static mgk_status make_rows(decoder *d)
{
    size_t width = d->image.width = png_get_image_width(d->png, d->info);
    size_t height = d->image.height = png_get_image_height(d->png, d->info);
    if (png_get_rowbytes(d->png, d->info) != MGK_CHANNELS * width)
        return mgk_fail(STATUS_FORMAT, "%s: a PNG whose pixels are not colours", d->path);
    TRY(mgk_alloc(height * width, MGK_CHANNELS, &d->image.pixels));
    TRY(mgk_alloc(height, sizeof(*d->rows), &d->rows));
    for (size_t y = 0; y < height; y++)
        d->rows[y] = d->image.pixels + y * width * MGK_CHANNELS;
    return STATUS_OK;
}

/* libpng fails by longjmp, so everything to release is in the decoder. */
static mgk_status decode(decoder *d)
{
    if (setjmp(png_jmpbuf(d->png)))
        return d->status;
    png_set_read_fn(d->png, d, on_read);
    png_set_user_limits(d->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(d->png, d->info);
    TRY(check_size(d));
    choose_colors(d);
    TRY(make_rows(d));
    png_read_image(d->png, d->rows);
    png_read_end(d->png, NULL);
    return STATUS_OK;
}

mgk_status mgk_image_read(const char *path, mgk_image *out)
{
    mgk_status status;
    decoder d = {.path = path};
    *out = (mgk_image){0};
    TRY(mgk_map_limited(path, MOST_BYTES, &d.file));
    if (d.file.size < SIGNATURE || png_sig_cmp(d.file.data, 0, SIGNATURE) != 0) {
        const char *left = mgk_download_left(d.file.data, d.file.size);
        CHECK(mgk_fail(STATUS_FORMAT, "%s: %s", path,
                       left ? left : "not a PNG, which pictures must be"));
    }
    d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, on_error, on_warning);
    d.info = d.png ? png_create_info_struct(d.png) : NULL;
    if (!d.info)
        CHECK(mgk_fail(STATUS_MEMORY, "%s: no memory to read it", path));
    CHECK(decode(&d));
    *out = d.image;
    d.image = (mgk_image){0};
out:
    png_destroy_read_struct(&d.png, &d.info, NULL);
    mgk_free(d.rows);
    mgk_image_free(&d.image);
    mgk_unmap_file(&d.file);
    return status;
}

void mgk_image_free(mgk_image *image)
{
    mgk_free(image->pixels);
    *image = (mgk_image){0};
}
