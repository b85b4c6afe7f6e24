/* SPDX-License-Identifier: MIT */
/*
 * Cells of CSV (RFC 4180): texts between commas. A text that contains a comma, a quote, CR or LF is
 * put between quotes, and each quote in it is doubled.
 */
#ifndef MGK_TABLE_CELL_H
#define MGK_TABLE_CELL_H

#include <stdio.h>

#include "base/status.h"

/* Writes a text, between quotes where needed. */
void mgk_cell_write(FILE *file, const char *text);

/*
 * Cuts the next cell off *text, in place, and removes its quotes. *end is the character that ended
 * it: ',', '\n' (also for CR LF) or '\0', the end of the text. STATUS_FORMAT: a quote that does not
 * end, or at another place than around a cell.
 */
mgk_status mgk_cell_take(char **text, const char **cell, char *end);

#endif
