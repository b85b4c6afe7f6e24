/* SPDX-License-Identifier: MIT */
#include "tools/kind_names.h"

#include "base/append.h"
#include "mgk.h"

void mgk_tool_list_kinds(char names[MGK_TOOL_KINDS])
{
    mgk_kind_description kind;
    *names = '\0';
    for (size_t i = 0; mgk_describe_kind(i, &kind) == MGK_OK; i++)
        mgk_append(names, MGK_TOOL_KINDS, "%s%s", i > 0 ? "," : "", kind.name);
}
