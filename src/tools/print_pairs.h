/* SPDX-License-Identifier: MIT */
/* Which heads are closest to each other, as mgk-diversity prints it. */
#ifndef MGK_TOOLS_PRINT_PAIRS_H
#define MGK_TOOLS_PRINT_PAIRS_H

#include "tools/print_rows.h"

/* Prints the two heads of a layer with the least Jensen-Shannon divergence `js`, behind its row. */
void mgk_print_closest(const mgk_mean_rows *in, int32_t layer, int32_t js);

/* Prints the closest pairs of all layers, with what tells whether they do the same: how alike their
 * outputs are, and how broadly both look; of pairs of two layers the closest one, if it is not
 * among them. */
void mgk_print_closest_pairs(const mgk_mean_rows *in, int32_t js);

/* Prints the closest head of the second input for each head of the first, whose rows are adjacent.
 */
void mgk_print_matches(const mgk_mean_rows *in, int32_t js);

#endif
