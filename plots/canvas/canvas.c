/* SPDX-License-Identifier: MIT */
#include "plots/canvas/canvas.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/memory.h"
#include "plots/canvas/png.h"
#include "plots/canvas/svg.h"
#include "plots/canvas/text.h"

/* Cairo's own limit on the sides of an image. */
static const double side_max = 32767;

/* A PDF or SVG point is 1/72 inch, a unit 1/300. */
static const double points_per_unit = 72.0 / 300.0;

typedef enum picture_format { FORMAT_PNG, FORMAT_PDF, FORMAT_SVG, FORMAT_COUNT } picture_format;

static const char *const endings[FORMAT_COUNT] = {".png", ".pdf", ".svg"};

struct mgk_canvas {
    picture_format format;
    char *path;
    FILE *svg; /* the picture goes here, and the path only names it; NULL: to the path */
    bool force, saved;
    cairo_surface_t *surface;
    cairo_t *cairo;
    /* PDF and SVG are collected in memory, because texts are inserted into the SVG. */
    FILE *stream;
    char *bytes;
    size_t size;
    /* The first failure that cairo does not record. */
    mgk_status status;
};

static mgk_status format_of(const char *path, picture_format *out)
{
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < FORMAT_COUNT; i++)
        if (strcasecmp(dot, endings[i]) == 0) {
            *out = (picture_format)i;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_USAGE, "%s: expected a name ending in .png, .pdf or .svg", path);
}

static cairo_status_t append(void *stream, const unsigned char *data, unsigned int length)
{
    return fwrite(data, 1, length, stream) == length ? CAIRO_STATUS_SUCCESS
                                                     : CAIRO_STATUS_WRITE_ERROR;
}

static mgk_status open_surface(mgk_canvas *canvas, int width, int height)
{
    double page_width = width * points_per_unit, page_height = height * points_per_unit;
    if (canvas->format == FORMAT_PNG)
        canvas->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    else {
        canvas->stream = open_memstream(&canvas->bytes, &canvas->size);
        if (!canvas->stream)
            return mgk_fail(STATUS_MEMORY, "%s: no memory", canvas->path);
        canvas->surface = canvas->format == FORMAT_PDF
                              ? cairo_pdf_surface_create_for_stream(append, canvas->stream,
                                                                    page_width, page_height)
                              : cairo_svg_surface_create_for_stream(append, canvas->stream,
                                                                    page_width, page_height);
    }
    canvas->cairo = cairo_create(canvas->surface);
    if (canvas->format != FORMAT_PNG)
        cairo_scale(canvas->cairo, points_per_unit, points_per_unit);
    if (cairo_status(canvas->cairo) != CAIRO_STATUS_SUCCESS)
        return mgk_fail(STATUS_MEMORY, "%s: a surface of %d x %d: %s", canvas->path, width, height,
                        cairo_status_to_string(cairo_status(canvas->cairo)));
    return STATUS_OK;
}

/* Checks the sides, and allocates. */
static mgk_status make_canvas(const char *path, double width, double height, mgk_canvas **out)
{
    *out = NULL;
    if (!(width >= 1 && height >= 1 && width <= side_max && height <= side_max &&
          width * height <= (double)MGK_PIXELS_MAX))
        return mgk_fail(STATUS_SHAPE,
                        "%s: %.0f x %.0f pixels: expected sides of 1 to %.0f, %zu in all", path,
                        width, height, side_max, MGK_PIXELS_MAX);
    TRY(mgk_alloc(1, sizeof(mgk_canvas), out));
    return mgk_copy_string(path, &(*out)->path);
}

/* Opens the surface, white. */
static mgk_status begin(mgk_canvas *canvas, double width, double height)
{
    TRY(open_surface(canvas, (int)ceil(width), (int)ceil(height)));
    mgk_canvas_fill(canvas, (mgk_rect){0, 0, ceil(width), ceil(height)}, (mgk_rgb){255, 255, 255},
                    1);
    return STATUS_OK;
}

static mgk_status keep_opened(mgk_status status, mgk_canvas **out)
{
    if (status != STATUS_OK) {
        mgk_canvas_close(*out);
        *out = NULL;
    }
    return status;
}

mgk_status mgk_canvas_open(const char *path, double width, double height, bool force,
                           mgk_canvas **out)
{
    mgk_status status = STATUS_OK;
    picture_format format = FORMAT_PNG;
    *out = NULL;
    TRY(format_of(path, &format));
    CHECK(make_canvas(path, width, height, out));
    (*out)->format = format;
    (*out)->force = force;
    CHECK(mgk_output_check(path, force));
    CHECK(begin(*out, width, height));
out:
    return keep_opened(status, out);
}

mgk_status mgk_canvas_open_svg(FILE *svg, double width, double height, mgk_canvas **out)
{
    mgk_status status;
    CHECK(make_canvas("a picture", width, height, out));
    (*out)->format = FORMAT_SVG;
    (*out)->svg = svg;
    CHECK(begin(*out, width, height));
out:
    return keep_opened(status, out);
}

void mgk_canvas_close(mgk_canvas *canvas)
{
    if (!canvas)
        return;
    /* Destroy the surface first: it writes its end to the stream. */
    if (canvas->cairo)
        cairo_destroy(canvas->cairo);
    if (canvas->surface)
        cairo_surface_destroy(canvas->surface);
    if (canvas->stream)
        fclose(canvas->stream);
    free(canvas->bytes);
    mgk_free(canvas->path);
    mgk_free(canvas);
}

/* "key: value; key: value": PDF 1.5 has no custom entries. */
static mgk_status set_pdf_keywords(mgk_canvas *canvas, const mgk_text_pair *texts, size_t count)
{
    char *line = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&line, &size);
    if (!memory)
        return mgk_fail(STATUS_MEMORY, "%s: no memory", canvas->path);
    for (size_t i = 0; i < count; i++)
        fprintf(memory, "%s%s: %s", i > 0 ? "; " : "", texts[i].key, texts[i].value);
    if (!mgk_close_text(memory)) {
        free(line);
        return mgk_fail(STATUS_MEMORY, "%s: no memory", canvas->path);
    }
    /* An empty date: otherwise the file would contain the time. */
    cairo_pdf_surface_set_metadata(canvas->surface, CAIRO_PDF_METADATA_CREATE_DATE, "");
    cairo_pdf_surface_set_metadata(canvas->surface, CAIRO_PDF_METADATA_KEYWORDS, line);
    free(line);
    return STATUS_OK;
}

/* Ends drawing and returns the first error of the surface. */
static mgk_status finish(mgk_canvas *canvas)
{
    TRY(canvas->status);
    cairo_status_t drawn = cairo_status(canvas->cairo);
    /* A finished image surface gives no access to its pixels. */
    if (canvas->format == FORMAT_PNG)
        cairo_surface_flush(canvas->surface);
    else
        cairo_surface_finish(canvas->surface);
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = cairo_surface_status(canvas->surface);
    if (drawn == CAIRO_STATUS_NO_MEMORY)
        return mgk_fail(STATUS_MEMORY, "%s: no memory to draw", canvas->path);
    if (drawn != CAIRO_STATUS_SUCCESS)
        return mgk_fail(STATUS_IO, "%s: cannot draw: %s", canvas->path,
                        cairo_status_to_string(drawn));
    if (canvas->stream && fflush(canvas->stream) != 0)
        return mgk_fail(STATUS_MEMORY, "%s: no memory to draw", canvas->path);
    return STATUS_OK;
}

static mgk_status write_bytes(mgk_canvas *canvas, FILE *file, const mgk_text_pair *texts,
                              size_t count)
{
    cairo_surface_t *surface = canvas->surface;
    switch (canvas->format) {
    case FORMAT_SVG:
        mgk_svg_write(file, canvas->bytes, canvas->size, texts, count);
        return STATUS_OK;
    case FORMAT_PDF:
        fwrite(canvas->bytes, 1, canvas->size, file);
        return STATUS_OK;
    default:
        return mgk_png_write(file, canvas->path, cairo_image_surface_get_data(surface),
                             (size_t)cairo_image_surface_get_width(surface),
                             (size_t)cairo_image_surface_get_height(surface),
                             (size_t)cairo_image_surface_get_stride(surface), texts, count);
    }
}

static mgk_status write_temporary(mgk_canvas *canvas, const char *temporary,
                                  const mgk_text_pair *texts, size_t count)
{
    FILE *file = fopen(temporary, "wb");
    if (!file)
        return mgk_fail_write(canvas->path, errno);
    mgk_status status = write_bytes(canvas, file, texts, count);
    if (status == STATUS_OK)
        return mgk_close_written(file, canvas->path);
    fclose(file);
    return status;
}

mgk_status mgk_canvas_save(mgk_canvas *canvas, const mgk_text_pair *texts, size_t text_count)
{
    mgk_output output;
    if (canvas->saved)
        return mgk_fail(STATUS_USAGE, "the picture is already saved");
    if (canvas->format == FORMAT_PDF)
        TRY(set_pdf_keywords(canvas, texts, text_count));
    TRY(finish(canvas));
    if (canvas->svg) {
        canvas->saved = true;
        return write_bytes(canvas, canvas->svg, texts, text_count);
    }
    TRY(mgk_output_open(canvas->path, canvas->force, &output));
    mgk_status status = write_temporary(canvas, output.temporary, texts, text_count);
    if (status != STATUS_OK) {
        mgk_output_discard(&output);
        return status;
    }
    canvas->saved = true;
    return mgk_output_commit(&output);
}

static void set_color(cairo_t *cairo, mgk_rgb color, double opacity)
{
    cairo_set_source_rgba(cairo, color.r / 255.0, color.g / 255.0, color.b / 255.0, opacity);
}

static void stroke_path(mgk_canvas *canvas, mgk_stroke stroke)
{
    cairo_t *cairo = canvas->cairo;
    set_color(cairo, stroke.color, 1);
    cairo_set_line_width(cairo, stroke.width);
    cairo_set_dash(cairo, &stroke.dash, stroke.dash > 0 ? 1 : 0, 0);
    cairo_stroke(cairo);
}

void mgk_canvas_text(mgk_canvas *canvas, double x, double y, const char *text, mgk_font font,
                     mgk_anchor anchor)
{
    const double share = anchor == ANCHOR_START ? 0 : anchor == ANCHOR_MIDDLE ? 0.5 : 1;
    set_color(canvas->cairo, font.color, 1);
    cairo_move_to(canvas->cairo, x, y);
    mgk_status status = mgk_text_show(canvas->cairo, share, text, font);
    if (canvas->status == STATUS_OK && status != STATUS_OK) {
        mgk_fail_prefix(status, canvas->path);
        canvas->status = status;
    }
}

void mgk_canvas_text_upward(mgk_canvas *canvas, double x, double y, const char *text, mgk_font font,
                            mgk_anchor anchor)
{
    cairo_save(canvas->cairo);
    cairo_translate(canvas->cairo, x, y);
    cairo_rotate(canvas->cairo, -1.57079632679489661923);
    mgk_canvas_text(canvas, 0, 0, text, font, anchor);
    cairo_restore(canvas->cairo);
}

void mgk_canvas_line(mgk_canvas *canvas, double x0, double y0, double x1, double y1,
                     mgk_stroke stroke)
{
    cairo_move_to(canvas->cairo, x0, y0);
    cairo_line_to(canvas->cairo, x1, y1);
    stroke_path(canvas, stroke);
}

void mgk_canvas_polyline(mgk_canvas *canvas, const mgk_point *points, size_t count,
                         mgk_stroke stroke)
{
    cairo_set_line_join(canvas->cairo, CAIRO_LINE_JOIN_ROUND);
    for (size_t i = 0; i < count; i++)
        cairo_line_to(canvas->cairo, points[i].x, points[i].y);
    stroke_path(canvas, stroke);
}

void mgk_canvas_frame(mgk_canvas *canvas, mgk_rect rect, mgk_stroke stroke)
{
    double half = stroke.width / 2;
    cairo_set_line_join(canvas->cairo, CAIRO_LINE_JOIN_MITER);
    cairo_rectangle(canvas->cairo, rect.x - half, rect.y - half, rect.width + stroke.width,
                    rect.height + stroke.width);
    stroke_path(canvas, stroke);
}

void mgk_canvas_fill(mgk_canvas *canvas, mgk_rect rect, mgk_rgb color, double opacity)
{
    set_color(canvas->cairo, color, opacity);
    cairo_rectangle(canvas->cairo, rect.x, rect.y, rect.width, rect.height);
    cairo_fill(canvas->cairo);
}

void mgk_canvas_polygon(mgk_canvas *canvas, const mgk_point *points, size_t count, mgk_rgb color,
                        double opacity)
{
    set_color(canvas->cairo, color, opacity);
    for (size_t i = 0; i < count; i++)
        cairo_line_to(canvas->cairo, points[i].x, points[i].y);
    cairo_fill(canvas->cairo);
}

void mgk_canvas_dot(mgk_canvas *canvas, double x, double y, double radius, mgk_rgb color)
{
    set_color(canvas->cairo, color, 1);
    cairo_arc(canvas->cairo, x, y, radius, 0, 6.28318530717958647692);
    cairo_fill(canvas->cairo);
}

void mgk_canvas_clip(mgk_canvas *canvas, mgk_rect rect)
{
    cairo_save(canvas->cairo);
    cairo_rectangle(canvas->cairo, rect.x, rect.y, rect.width, rect.height);
    cairo_clip(canvas->cairo);
}

void mgk_canvas_unclip(mgk_canvas *canvas)
{
    cairo_restore(canvas->cairo);
}

/* A cairo image of the raster's pixels; without memory NULL, and canvas->status is set. */
static cairo_surface_t *raster_surface(mgk_canvas *canvas, const mgk_raster *raster)
{
    cairo_surface_t *image =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)fmin((double)raster->width, 1e6),
                                   (int)fmin((double)raster->height, 1e6));
    if (cairo_surface_status(image) != CAIRO_STATUS_SUCCESS) {
        canvas->status =
            mgk_fail(STATUS_SHAPE, "a raster of %zu x %zu: %s", raster->width, raster->height,
                     cairo_status_to_string(cairo_surface_status(image)));
        cairo_surface_destroy(image);
        return NULL;
    }
    unsigned char *data = cairo_image_surface_get_data(image);
    size_t stride = (size_t)cairo_image_surface_get_stride(image);
    for (size_t y = 0; y < raster->height; y++)
        for (size_t x = 0; x < raster->width; x++) {
            mgk_rgb color = raster->pixels[y * raster->width + x];
            uint32_t word = (uint32_t)color.r << 16 | (uint32_t)color.g << 8 | color.b;
            memcpy(data + y * stride + 4 * x, &word, sizeof(word));
        }
    cairo_surface_mark_dirty(image);
    return image;
}

void mgk_canvas_raster(mgk_canvas *canvas, const mgk_raster *raster, mgk_rect rect)
{
    cairo_t *cairo = canvas->cairo;
    cairo_surface_t *image = raster_surface(canvas, raster);
    if (!image)
        return;
    cairo_save(cairo);
    cairo_translate(cairo, rect.x, rect.y);
    cairo_scale(cairo, rect.width / (double)raster->width, rect.height / (double)raster->height);
    cairo_set_source_surface(cairo, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
    /* Scaled by hundreds, the outermost pixels of a picture round to places beside the raster. */
    if (cairo_surface_get_type(cairo_get_target(cairo)) == CAIRO_SURFACE_TYPE_IMAGE)
        cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
    cairo_rectangle(cairo, 0, 0, (double)raster->width, (double)raster->height);
    cairo_fill(cairo);
    cairo_restore(cairo);
    cairo_surface_destroy(image);
}
