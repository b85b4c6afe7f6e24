/* SPDX-License-Identifier: MIT */
/* Reads and writes numbers with a decimal point in any locale of the program. */
#ifndef MGK_BASE_LOCALE_H
#define MGK_BASE_LOCALE_H

#include <locale.h>

#include "base/status.h"

/* The locales to use, and to restore. */
typedef struct mgk_plain_locale {
    locale_t plain, before;
} mgk_plain_locale;

/*
 * Between begin and end this thread reads and writes numbers as in the C locale. STATUS_MEMORY:
 * begin has failed; do not call end.
 */
mgk_status mgk_plain_locale_begin(mgk_plain_locale *scope);
void mgk_plain_locale_end(mgk_plain_locale *scope);

#endif
