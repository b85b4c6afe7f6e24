/* SPDX-License-Identifier: MIT */
#include "plots/canvas/png.h"

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

enum { KEY_MAX = 79 };

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

static void on_error(png_structp png, png_const_charp message)
{
    if (png_get_io_ptr(png) && ferror((FILE *)png_get_io_ptr(png)))
        mgk_fail_write(png_get_error_ptr(png), errno);
    else
        mgk_fail(STATUS_IO, "%s: cannot write: %s", (const char *)png_get_error_ptr(png), message);
    png_longjmp(png, 1);
}

/* libpng would print warnings. */
static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* The chunks of the texts [count]: tEXt for ASCII, iTXt otherwise. */
static mgk_status make_chunks(const mgk_text_pair *texts, size_t count, png_text **out)
{
    TRY(mgk_alloc(count, sizeof(png_text), out));
    for (size_t i = 0; i < count; i++) {
        png_text *chunk = &(*out)[i];
        size_t length = strlen(texts[i].key);
        if (length < 1 || length > KEY_MAX || !is_ascii(texts[i].key)) {
            mgk_free(*out);
            *out = NULL;
            return mgk_fail(STATUS_USAGE, "text key \"%s\": expected 1 to %d ASCII characters",
                            texts[i].key, KEY_MAX);
        }
        bool ascii = is_ascii(texts[i].value);
        chunk->compression = ascii ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
        /* libpng copies both, but declares them as not const. */
        chunk->key = (char *)(uintptr_t)texts[i].key;
        chunk->text = (char *)(uintptr_t)texts[i].value;
    }
    return STATUS_OK;
}

/* Functions that may fail by longjmp must not change locals after setjmp. */
static mgk_status encode(png_structp png, png_infop info, FILE *file, const unsigned char *pixels,
                         size_t height, size_t stride, unsigned char *row)
{
    if (setjmp(png_jmpbuf(png)))
        return STATUS_IO;
    size_t width = png_get_image_width(png, info);
    png_init_io(png, file);
    png_write_info(png, info);
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            uint32_t word;
            memcpy(&word, pixels + y * stride + 4 * x, sizeof(word));
            row[3 * x] = (unsigned char)(word >> 16);
            row[3 * x + 1] = (unsigned char)(word >> 8);
            row[3 * x + 2] = (unsigned char)word;
        }
        png_write_row(png, row);
    }
    png_write_end(png, info);
    return STATUS_OK;
}

static mgk_status describe(png_structp png, png_infop info, size_t width, size_t height,
                           const png_text *chunks, size_t chunk_count)
{
    const png_uint_32 pixels_per_metre = 11811; /* 300 an inch */
    if (setjmp(png_jmpbuf(png)))
        return STATUS_IO;
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    /* Rows of few colours compress as well without a filter; the choice of one takes half the time.
     */
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_pHYs(png, info, pixels_per_metre, pixels_per_metre, PNG_RESOLUTION_METER);
    if (chunk_count > 0)
        png_set_text(png, info, chunks, (int)chunk_count);
    return STATUS_OK;
}

mgk_status mgk_png_write(FILE *file, const char *name, const unsigned char *pixels, size_t width,
                         size_t height, size_t stride, const mgk_text_pair *texts,
                         size_t text_count)
{
    mgk_status status = STATUS_OK;
    png_structp png = NULL;
    png_infop info = NULL;
    png_text *chunks = NULL;
    unsigned char *row = NULL;
    CHECK(make_chunks(texts, text_count, &chunks));
    CHECK(mgk_alloc(width, 3, &row));
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, (void *)(uintptr_t)name, on_error,
                                  on_warning);
    info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        status = mgk_fail(STATUS_MEMORY, "%s: no memory for the PNG encoder", name);
        goto out;
    }
    CHECK(describe(png, info, width, height, chunks, text_count));
    CHECK(encode(png, info, file, pixels, height, stride, row));
out:
    png_destroy_write_struct(&png, &info);
    mgk_free(row);
    mgk_free(chunks);
    return status;
}
