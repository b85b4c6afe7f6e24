/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/variant.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/processor.h"

#define DECLARE(level)                                                              \
    extern const mgk_operations mgk_cpu_table_32_##level, mgk_cpu_table_64_##level; \
    extern const mgk_reductions mgk_cpu_reductions_64_##level;                      \
    extern const mgk_row_kernels mgk_cpu_row_kernels_64_##level
#define TABLES(level)                                                                       \
    {&mgk_cpu_table_32_##level, &mgk_cpu_table_64_##level}, &mgk_cpu_reductions_64_##level, \
        &mgk_cpu_row_kernels_64_##level
#ifdef MGK_CPU_HAS_base
DECLARE(base);
#else
DECLARE(v2);
#ifdef MGK_CPU_HAS_v3 /* builds with sanitizers go without */
DECLARE(v3);
#endif
DECLARE(v4);
#endif

mgk_status mgk_cpu_choose_variant(mgk_cpu_variant *out)
{
    /* Best first. */
#ifdef MGK_CPU_HAS_base
    const mgk_cpu_variant variants[] = {{"base", "generic", TABLES(base), true}};
#else
    const int level = mgk_processor_level();
    const mgk_cpu_variant variants[] = {
        {"v4", "x86-64-v4", TABLES(v4), level >= 4},
#ifdef MGK_CPU_HAS_v3
        {"v3", "x86-64-v3", TABLES(v3), level >= 3},
#endif
        {"v2", "x86-64-v2", TABLES(v2), level >= 2},
    };
#endif
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
