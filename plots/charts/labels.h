/* Labels of the rows and columns of a matrix: its tokens. */
#ifndef MGK_PLOTS_LABELS_H
#define MGK_PLOTS_LABELS_H

#include <stddef.h>

#include "plots/canvas/canvas.h"
#include "plots/canvas/style.h"

/* The pixels of an entry with which labels are comfortably read. */
enum { MGK_LABEL_PITCH = 22 };

/* Labels that have been measured; zeroed where there are none. */
typedef struct mgk_labels {
    const char *const *texts; /* [count], UTF-8 */
    size_t count;
    size_t every; /* the first and every so many-th are drawn: more do not fit */
    double pitch; /* between the middles of two */
    mgk_font font;
    double space; /* beside the matrix, gap included */
} mgk_labels;

/* Chooses the size of the text, and which labels there is room for. texts may be NULL. */
mgk_labels mgk_labels_measure(const char *const *texts, size_t count, double pitch,
                              mgk_style style);

/*
 * Draws them left of a matrix whose upper left corner is (x, y), or below one whose lower left
 * corner that is, there reading upwards. Long ones end in an ellipsis.
 */
void mgk_labels_draw_left(mgk_canvas *canvas, const mgk_labels *labels, double x, double y);
void mgk_labels_draw_below(mgk_canvas *canvas, const mgk_labels *labels, double x, double y);

#endif
