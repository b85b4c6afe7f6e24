/* SPDX-License-Identifier: MIT */
/* The names of all kinds of attention, for the completion. */
#ifndef MGK_TOOLS_KIND_NAMES_H
#define MGK_TOOLS_KIND_NAMES_H

enum { MGK_TOOL_KINDS = 2048 };

/* Writes "softmax,mgk,...". */
void mgk_tool_list_kinds(char names[MGK_TOOL_KINDS]);

#endif
