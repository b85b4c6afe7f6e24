/* Numbers in files have a point, whatever locale the program chose. */
#ifndef MGK_BASE_LOCALE_H
#define MGK_BASE_LOCALE_H

#include <locale.h>

#include "base/status.h"

/* What a thread goes back to. */
typedef struct mgk_plain_locale {
    locale_t plain, before;
} mgk_plain_locale;

/*
 * Numbers of this thread are read and written as in C until the scope ends. STATUS_MEMORY: nothing
 * has begun and there is nothing to end.
 */
mgk_status mgk_plain_locale_begin(mgk_plain_locale *scope);
void mgk_plain_locale_end(mgk_plain_locale *scope);

#endif
