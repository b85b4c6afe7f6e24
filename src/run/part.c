/* SPDX-License-Identifier: MIT */
#include "run/part.h"

#include <string.h>

mgk_status mgk_part_check(const char *part)
{
    static const char *const parts[] = {"text", "vision", "encoder", "decoder", "cross"};
    for (size_t i = 0; part && i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcmp(part, parts[i]) == 0)
            return STATUS_OK;
    return part ? mgk_fail(STATUS_USAGE,
                           "`part` \"%.40s\": expected text, vision, encoder, decoder or cross",
                           part)
                : STATUS_OK;
}

bool mgk_part_decodes(const char *part)
{
    return part && (strcmp(part, "decoder") == 0 || strcmp(part, "cross") == 0);
}
