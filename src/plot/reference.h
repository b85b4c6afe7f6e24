/* SPDX-License-Identifier: MIT */
/*
 * A square matrix of similarities between named tokens, such as BLOSUM62, as text: lines that begin
 * with # are comments; the first other line has the names of the columns; each further line a name
 * of them and a number for every column. Blanks, tabs or commas are between words.
 */
#ifndef MGK_PLOT_REFERENCE_H
#define MGK_PLOT_REFERENCE_H

#include <stddef.h>

#include "base/status.h"

enum { MGK_REFERENCE_NAME = 64, MGK_REFERENCE_MOST = 512 };

typedef struct mgk_reference {
    char (*names)[MGK_REFERENCE_NAME]; /* [count] */
    double *values;                    /* [count, count]; NaN: no line has this row */
    size_t count;
} mgk_reference;

/* Release with mgk_reference_free, also after a failure. STATUS_FORMAT: "path: line 3: ...". */
mgk_status mgk_reference_read(const char *path, mgk_reference *out);
void mgk_reference_free(mgk_reference *reference);

/* The index of a name, or SIZE_MAX. */
size_t mgk_reference_find(const mgk_reference *reference, const char *name);

#endif
