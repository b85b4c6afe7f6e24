/* SPDX-License-Identifier: MIT */
/* Labels of the rows and columns of a matrix: its tokens. */
#ifndef MGK_PLOTS_LABELS_H
#define MGK_PLOTS_LABELS_H

#include <stddef.h>

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"

/* Pixels per entry for comfortably readable labels. */
enum { MGK_LABEL_PITCH = 22 };

/* Measured labels; zeroed without labels. */
typedef struct mgk_labels {
    const char *const *texts; /* [count], UTF-8 */
    size_t count;
    size_t every; /* draws every so many-th label, from the first: more do not fit */
    double pitch; /* distance of two labels' middles */
    mgk_font font;
    double space; /* next to the matrix, including the gap */
} mgk_labels;

/* Chooses the text size and the labels that fit. texts may be NULL. */
mgk_labels mgk_labels_measure(const char *const *texts, size_t count, double pitch,
                              mgk_style style);

/*
 * Draws the labels left of a matrix with the upper left corner (x, y), or below a matrix with the
 * lower left corner (x, y), reading upwards. Long labels are truncated with an ellipsis.
 */
void mgk_labels_draw_left(mgk_canvas *canvas, const mgk_labels *labels, double x, double y);
void mgk_labels_draw_below(mgk_canvas *canvas, const mgk_labels *labels, double x, double y);

#endif
