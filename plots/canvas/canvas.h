/* SPDX-License-Identifier: MIT */
/*
 * A drawing surface for PNG, PDF and SVG. The origin is the upper left corner, y grows downwards,
 * and one unit is one pixel of the PNG, or 1/300 inch of paper. Colours are sRGB.
 *
 * Drawing functions do not report errors: the surface keeps its first error and mgk_canvas_save
 * returns it. The same calls give the same bytes.
 */
#ifndef MGK_PLOTS_CANVAS_H
#define MGK_PLOTS_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"
#include "plots/charts/image.h"
#include "plots/options.h"

typedef struct mgk_canvas mgk_canvas;

typedef struct mgk_rect {
    double x, y, width, height;
} mgk_rect;

typedef struct mgk_point {
    double x, y;
} mgk_point;

typedef struct mgk_stroke {
    mgk_rgb color;
    double width;
    double dash; /* length of dashes and gaps; 0: solid line */
} mgk_stroke;

/*
 * DejaVu Sans, with other fonts of the machine for characters that it lacks; a character without
 * any font is drawn as a box with its code. size is the em square in units.
 */
typedef struct mgk_font {
    double size;
    bool bold;
    mgk_rgb color;
} mgk_font;

typedef enum mgk_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } mgk_anchor;

/* Height of capitals and digits of DejaVu Sans, and depth of descenders, as fractions of the em. */
#define MGK_CAP_HEIGHT 0.73
#define MGK_DESCENT 0.24

/*
 * Opens a white surface that will be saved at `path`, whose extension gives the format: .png, .pdf
 * or .svg. Close with mgk_canvas_close. STATUS_USAGE: another extension; STATUS_SHAPE: a side that
 * is not 1 to 32767 units, or too many pixels; STATUS_EXISTS, STATUS_IO: the file cannot be
 * created.
 */
mgk_status mgk_canvas_open(const char *path, double width, double height, bool force,
                           mgk_canvas **out);

/* The same for a surface that mgk_canvas_save writes to the stream, as SVG. */
mgk_status mgk_canvas_open_svg(FILE *svg, double width, double height, mgk_canvas **out);

/*
 * Writes the file with its texts (PNG: tEXt, or iTXt for values that are not ASCII; PDF: keywords;
 * SVG: metadata). The file is written completely or not at all; a second call fails.
 */
mgk_status mgk_canvas_save(mgk_canvas *canvas, const mgk_text_pair *texts, size_t text_count);

/* Releases the surface; an unsaved one leaves no file. NULL is accepted. */
void mgk_canvas_close(mgk_canvas *canvas);

/*
 * Checks that there is memory to lay out text: the libraries for this end the process if they get
 * no memory or no thread. Call before the first picture. STATUS_MEMORY.
 */
mgk_status mgk_text_check_room(void);

/* The advance width of a text; needs no surface. */
double mgk_text_width(const char *text, mgk_font font);

/* Draws one line of UTF-8 text with its anchor point at (x, y) on the baseline. */
void mgk_canvas_text(mgk_canvas *canvas, double x, double y, const char *text, mgk_font font,
                     mgk_anchor anchor);

/* The same, rotated to read from bottom to top; the baseline is the vertical line through x. */
void mgk_canvas_text_upward(mgk_canvas *canvas, double x, double y, const char *text, mgk_font font,
                            mgk_anchor anchor);

void mgk_canvas_line(mgk_canvas *canvas, double x0, double y0, double x1, double y1,
                     mgk_stroke stroke);

/* A line through points [count]. */
void mgk_canvas_polyline(mgk_canvas *canvas, const mgk_point *points, size_t count,
                         mgk_stroke stroke);

/* The outline of a rectangle, drawn outside it so that it covers no pixel of the rectangle. */
void mgk_canvas_frame(mgk_canvas *canvas, mgk_rect rect, mgk_stroke stroke);

/* A filled rectangle; opacity in [0, 1]. */
void mgk_canvas_fill(mgk_canvas *canvas, mgk_rect rect, mgk_rgb color, double opacity);

/* Fills the area inside a closed line through points [count]; opacity in [0, 1]. */
void mgk_canvas_polygon(mgk_canvas *canvas, const mgk_point *points, size_t count, mgk_rgb color,
                        double opacity);

/* A filled circle. */
void mgk_canvas_dot(mgk_canvas *canvas, double x, double y, double radius, mgk_rgb color);

/* Limits drawing to the rectangle, until mgk_canvas_unclip. */
void mgk_canvas_clip(mgk_canvas *canvas, mgk_rect rect);
void mgk_canvas_unclip(mgk_canvas *canvas);

/* Stretches a raster over the rectangle; pixels keep sharp edges. */
void mgk_canvas_raster(mgk_canvas *canvas, const mgk_raster *raster, mgk_rect rect);

#endif
