/* SPDX-License-Identifier: MIT */
/* The differences between models, as data of the page. */
#ifndef MGK_REPORT_DIFFERENCES_H
#define MGK_REPORT_DIFFERENCES_H

#include <stdio.h>

#include "report/tables.h"

/* Writes an array of the rows of all tables that compare their inputs: the comparison, measure,
 * layer, difference, low and high, p after Holm's correction, samples, and whether these are
 * paired. Numbers are texts with the digits of CSV; null: none. */
void mgk_report_differences(FILE *page, const mgk_report_tables *tables);

#endif
