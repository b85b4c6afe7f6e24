/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[1024];

const char *mgk_status_text(mgk_status status)
{
    switch (status) {
#define MGK_STATUS_CASE(code, text) \
    case code:                      \
        return text;
        MGK_STATUS_LIST(MGK_STATUS_CASE)
#undef MGK_STATUS_CASE
    }
    return "unknown status";
}

mgk_status mgk_fail(mgk_status status, const char *format, ...)
{
    /* Arguments may point into the old message: replace it last. */
    char fresh[sizeof(message)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fresh, sizeof(fresh), format, arguments);
    va_end(arguments);
    /* Names from hostile files must not contain terminal escapes, and a message is one line. */
    for (char *c = fresh; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    memcpy(message, fresh, sizeof(message));
    return status;
}

mgk_status mgk_fail_prefix(mgk_status status, const char *prefix)
{
    return mgk_fail(status, "%s: %s", prefix, message);
}

const char *mgk_fail_message(void)
{
    return message[0] ? message : "no failure";
}
