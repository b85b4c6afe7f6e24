/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/variant.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/processor.h"

/* The build names its levels, best first: MGK_CPU_EACH_LEVEL(X) is X(v4, 4) X(v3, 3) X(v2, 2), or X(base, 0). */
#define DECLARE(level, number)                                                      \
    extern const mgk_operations mgk_cpu_table_32_##level, mgk_cpu_table_64_##level; \
    extern const mgk_reductions mgk_cpu_reductions_64_##level;                      \
    extern const mgk_row_kernels mgk_cpu_row_kernels_64_##level;
MGK_CPU_EACH_LEVEL(DECLARE)

#ifdef __x86_64__
#define NAME(level) "x86-64-" #level
#else
#define NAME(level) "generic"
#endif
#define VARIANT(level, number)                                 \
    {#level,                                                   \
     NAME(level),                                              \
     {&mgk_cpu_table_32_##level, &mgk_cpu_table_64_##level},   \
     &mgk_cpu_reductions_64_##level,                           \
     &mgk_cpu_row_kernels_64_##level,                          \
     processor >= (number)},

mgk_status mgk_cpu_choose_variant(mgk_cpu_variant *out)
{
    const int processor = mgk_processor_level();
    const mgk_cpu_variant variants[] = {MGK_CPU_EACH_LEVEL(VARIANT)};
    const size_t count = sizeof variants / sizeof *variants;
    size_t first = 0;
    const char *highest = getenv("MGK_CPU_LEVEL");
    if (highest) {
        while (first < count && strcmp(highest, variants[first].level) != 0)
            first++;
        if (first == count)
            return mgk_fail(STATUS_USAGE, "MGK_CPU_LEVEL=%s: expected %s to %s", highest,
                            variants[count - 1].level, variants[0].level);
    }
    for (size_t i = first; i < count; i++)
        if (variants[i].runs_here) {
            *out = variants[i];
            return STATUS_OK;
        }
    return mgk_fail(STATUS_DEVICE, "this processor cannot run %s code", variants[count - 1].name);
}
