/* SPDX-License-Identifier: MIT */
/* What mgk-info lists: a line each, or an array of JSON objects. */
#ifndef MGK_TOOLS_LISTING_H
#define MGK_TOOLS_LISTING_H

#include <stdbool.h>

/* The measures of mgk-diversity. */
void mgk_list_measures(bool json);

/* The kinds of attention, below a line of titles: columns, and then the formula and settings. */
void mgk_list_kinds(bool json);

#endif
