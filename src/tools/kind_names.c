/* SPDX-License-Identifier: MIT */
#include "tools/kind_names.h"

#include <stdio.h>

#include "mgk.h"

void mgk_tool_list_kinds(char names[MGK_TOOL_KINDS])
{
    mgk_kind_description kind;
    size_t used = 0;
    *names = '\0';
    for (size_t i = 0; used < MGK_TOOL_KINDS && mgk_describe_kind(i, &kind) == MGK_OK; i++)
        used += (size_t)snprintf(names + used, MGK_TOOL_KINDS - used, "%s%s", i > 0 ? "," : "",
                                 kind.name);
}
