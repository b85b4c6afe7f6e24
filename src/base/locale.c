/* SPDX-License-Identifier: MIT */
#include "base/locale.h"

mgk_status mgk_plain_locale_begin(mgk_plain_locale *scope)
{
    scope->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (scope->plain == (locale_t)0)
        return mgk_fail(STATUS_MEMORY, "no memory for the C locale");
    scope->before = uselocale(scope->plain);
    return STATUS_OK;
}

void mgk_plain_locale_end(mgk_plain_locale *scope)
{
    uselocale(scope->before);
    freelocale(scope->plain);
}
