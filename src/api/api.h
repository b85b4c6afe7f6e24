/* SPDX-License-Identifier: MIT */
/* Helpers of the functions of mgk.h. */
#ifndef MGK_API_H
#define MGK_API_H

#include <stddef.h>
#include <stdio.h>

#include "analysis/table/diversity_values.h"
#include "base/status.h"
#include "mgk.h"

/* The public result of an internal status; mgk_error keeps its message. */
mgk_result mgk_api_result(mgk_status status);

/* Option structures begin with their size, which identifies the version of the caller's header;
 * `known` is their size in this library. */

/* Copies the defaults [known] into the caller's options [size] and fills the rest with 0. NULL is
 * accepted. */
void mgk_api_init(void *options, size_t size, const void *defaults, size_t known);

/* Copies the caller's options (NULL: none) into *out, which holds the defaults. STATUS_USAGE: the
 * caller did not call the defaults function, or set a field that this library does not know. */
mgk_status mgk_api_take(const void *options, size_t known, void *out);

/* Draws a picture of measures as SVG, without provenance, into a stream, from sets in place of the
 * options' files [input_count], whose names alone are used. Their output is ignored. */
mgk_status mgk_api_draw_svg(const mgk_plot_options *options, const mgk_diversity_set *const *sets,
                            FILE *svg);

#endif
