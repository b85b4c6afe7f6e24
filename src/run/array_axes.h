/* SPDX-License-Identifier: MIT */
/* What the leading axes of an array of other software are taken for. */
#ifndef MGK_RUN_ARRAY_AXES_H
#define MGK_RUN_ARRAY_AXES_H

#include <stddef.h>

#include "mgk.h"
#include "store/foreign/axes.h"
#include "store/schema/description.h"

/* The sizes of the axes that an array has, by the enumeration of axes; 0: it has no such axis. All
 * are 0 for a store and a single matrix. */
void mgk_array_axes(const mgk_store_description *description, int axes[MGK_LEADING_AXES]);

/*
 * Writes how the axes of an array named `name` were read, and what `axes` is for the other usual
 * order and for this one; "" if there are none. With a `*` in `dataset` there is an array for each
 * layer; NULL: there is one.
 */
void mgk_array_axes_explain(const char *name, const int axes[MGK_LEADING_AXES], const char *dataset,
                            char *note, size_t size);

/* Reports that as a warning, if there is something to tell. */
void mgk_array_axes_tell(const mgk_job *job, const char *name,
                         const mgk_store_description *description, const char *dataset);

#endif
