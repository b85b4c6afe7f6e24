/* SPDX-License-Identifier: MIT */
/* Pictures of mgk-plot inside the page, as inline SVG. */
#ifndef MGK_REPORT_PICTURE_H
#define MGK_REPORT_PICTURE_H

#include <stddef.h>
#include <stdio.h>

#include "analysis/table/diversity_values.h"
#include "base/status.h"
#include "mgk.h"

/* Draws a picture of measures as SVG into a stream, from sets in place of the options' files. */
typedef mgk_status mgk_report_draw(const mgk_plot_options *options,
                                   const mgk_diversity_set *const *sets, FILE *svg);

/* What a picture is drawn from. */
typedef struct mgk_report_drawn {
    const char **paths;             /* [count], of tables */
    const mgk_diversity_set **sets; /* [count] */
    const char **names;             /* [count], of models; NULL: the sets are tables */
    size_t count;                   /* 0: no table has the measure of the picture */
    const char *title;              /* NULL: none */
} mgk_report_drawn;

/* A picture of the page, parsed from "KIND MEASURE: what it shows" or "KIND: what it shows". */
typedef struct mgk_report_picture {
    mgk_plot_kind kind;
    char measure[64]; /* "": the kind takes none */
    char label[160];  /* for readers that do not see it */
} mgk_report_picture;

/* Parses the description of a picture, text [length]. STATUS_FORMAT. */
mgk_status mgk_report_parse_picture(const char *text, size_t length, mgk_report_picture *out);

/*
 * Draws the picture number `number` of the page. Where the tables lack what it shows, the page says
 * so instead, and *drawn is false. STATUS_MEMORY.
 */
mgk_status mgk_report_picture_write(FILE *page, const mgk_report_picture *picture, size_t number,
                                    const mgk_report_drawn *from, mgk_report_draw *draw,
                                    bool *drawn);

#endif
