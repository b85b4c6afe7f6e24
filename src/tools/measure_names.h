/* SPDX-License-Identifier: MIT */
/* Names of measures as users type them. */
#ifndef MGK_TOOLS_MEASURE_NAMES_H
#define MGK_TOOLS_MEASURE_NAMES_H

/* Spells the measures of a list such as "JS, Entropy" as the library does, in place: without spaces
 * around them, and in their own case, as the word `all`. Other names keep theirs. */
void mgk_tool_spell_measures(char *list);

#endif
