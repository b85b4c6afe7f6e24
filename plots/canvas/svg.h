/* SPDX-License-Identifier: MIT */
/* Inserts texts into an SVG file, because cairo writes none. */
#ifndef MGK_PLOTS_SVG_H
#define MGK_PLOTS_SVG_H

#include <stddef.h>
#include <stdio.h>

#include "plots/options.h"

/*
 * Writes the SVG bytes [size] with the texts in a <metadata> element, the first in the root
 * element. The stream keeps errors.
 */
void mgk_svg_write(FILE *file, const char *bytes, size_t size, const mgk_text_pair *texts,
                   size_t count);

#endif
