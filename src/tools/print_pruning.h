/* SPDX-License-Identifier: MIT */
/* The curves of pruning that mgk-diversity prints. */
#ifndef MGK_TOOLS_PRINT_PRUNING_H
#define MGK_TOOLS_PRINT_PRUNING_H

#include "tools/print_rows.h"

/* Prints the curves of an input at about eight numbers of heads, and their orders. */
void mgk_print_pruning(const mgk_mean_rows *in);

#endif
