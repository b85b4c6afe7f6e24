/* SPDX-License-Identifier: MIT */
/* The table of layers that mgk-diversity prints. */
#ifndef MGK_TOOLS_PRINT_DIVERSITY_H
#define MGK_TOOLS_PRINT_DIVERSITY_H

#include "mgk.h"

/*
 * Prints a row for each layer of each input, and of each comparison: the means of some measures
 * over the heads or pairs of the layer, and the closest heads. The measures are the first of the
 * named ones [count], or if none are named the usual ones.
 */
void mgk_print_diversity(const mgk_table *means, const char *const *measures, size_t count);

#endif
