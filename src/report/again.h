/* SPDX-License-Identifier: MIT */
/* What several tables of a model give, as JSON for the page. */
#ifndef MGK_REPORT_AGAIN_H
#define MGK_REPORT_AGAIN_H

#include <stdio.h>

#include "report/tables.h"

/* Writes an array with an entry for each measure, measure across layers and curve of pruning that a
 * table gives though one before it does: [its kind, "measure", "across" or "curve"; its name;
 * position of the table that is shown; position of the other one; whether they differ]. */
void mgk_report_again(FILE *page, const mgk_report_model *model);

#endif
