/* SPDX-License-Identifier: MIT */
/* The report: a page about measures of attention heads, with everything in it that it shows. */
#ifndef MGK_REPORT_H
#define MGK_REPORT_H

#include "report/picture.h"

/* Writes the page of options that were checked. STATUS_FORMAT: a file that holds neither measures
 * nor matrices, or no file holds measures. */
mgk_status mgk_report_write(const mgk_report_options *options, mgk_report_draw *draw);

#endif
