/* SPDX-License-Identifier: MIT */
/* Options of all pictures. */
#ifndef MGK_PLOTS_OPTIONS_H
#define MGK_PLOTS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plots/charts/image.h"
#include "plots/scales/colormap.h"
#include "plots/scales/scale.h"

/* A line of provenance: Software, Command, Model SHA-256 and the like. */
typedef struct mgk_text_pair {
    const char *key;   /* 1 to 79 characters, ASCII */
    const char *value; /* UTF-8 */
} mgk_text_pair;

typedef struct mgk_picture_options {
    mgk_colormap colormap;
    mgk_scaling scaling;
    double log_floor;     /* of a log scale, > 0; 0: from the data */
    bool range_per_panel; /* each matrix has its own range and colour bar */
    mgk_pooling pooling;  /* of matrices larger than their panel */
    int32_t count_from;   /* the number of the first layer, head, key and token: 0, or 1 as in the
                             paper */
    size_t panel;         /* longer side of a drawn matrix in pixels; 0: the picture's default */
    const char *title;    /* above everything; NULL: none */
    const mgk_text_pair *texts; /* [text_count], written into the file */
    size_t text_count;
    bool force; /* replace an existing file */
    FILE *svg;  /* the picture goes here, as SVG, not to a file; NULL: to a file */
} mgk_picture_options;

/*
 * Viridis on a logarithmic scale with one range for all matrices, mean pooling: this shows causal
 * attention with a dominant first token. No texts in the file; does not replace files.
 */
mgk_picture_options mgk_picture_defaults(void);

/* The same for signed values, such as weights and keys: coolwarm, linear, symmetric about zero. */
mgk_picture_options mgk_picture_signed_defaults(void);

/* The scale of the options; symmetric for a diverging colour map. */
mgk_scale_rule mgk_picture_rule(const mgk_picture_options *options);

#endif
