/* SPDX-License-Identifier: MIT */
#include "kernels/processor.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#ifdef __x86_64__
#include <cpuid.h>

#ifdef __clang__ /* clang before 18 does not know the levels: tests features instead */
#define SUPPORTS(feature) (__builtin_cpu_supports(feature) != 0)
#define SUPPORTS_V2 (SUPPORTS("sse4.2") && SUPPORTS("popcnt"))
#define SUPPORTS_V3 (SUPPORTS("avx2") && SUPPORTS("bmi2") && SUPPORTS("fma"))
#define SUPPORTS_V4                                                         \
    (SUPPORTS("avx512f") && SUPPORTS("avx512bw") && SUPPORTS("avx512cd") && \
     SUPPORTS("avx512dq") && SUPPORTS("avx512vl"))
#else
#define SUPPORTS_V2 __builtin_cpu_supports("x86-64-v2")
#define SUPPORTS_V3 __builtin_cpu_supports("x86-64-v3")
#define SUPPORTS_V4 __builtin_cpu_supports("x86-64-v4")
#endif

int mgk_processor_level(void)
{
    __builtin_cpu_init();
    return SUPPORTS_V4 ? 4 : SUPPORTS_V3 ? 3 : SUPPORTS_V2 ? 2 : 1;
}

/* CPUID leaves 0x80000002 to 0x80000004 hold the 48 characters of the brand. */
static void read_brand(char brand[49])
{
    enum { FIRST = 0x80000002, LAST = 0x80000004 };
    memset(brand, 0, 49);
    for (unsigned leaf = FIRST; leaf <= LAST; leaf++) {
        unsigned part[4];
        if (!__get_cpuid(leaf, &part[0], &part[1], &part[2], &part[3]))
            return;
        memcpy(brand + (leaf - FIRST) * sizeof(part), part, sizeof(part));
    }
}

void mgk_processor_name(char *name, size_t size)
{
    char brand[49];
    unsigned signature = 0, b, c, d;
    read_brand(brand);
    __get_cpuid(1, &signature, &b, &c, &d);
    unsigned family = signature >> 8 & 15, model = signature >> 4 & 15;
    if (family == 6 || family == 15)
        model += (signature >> 16 & 15) << 4;
    if (family == 15)
        family += signature >> 20 & 255;
    const char *first = brand + strspn(brand, " ");
    snprintf(name, size, "%s (family %u, model %u)", *first ? first : "x86-64", family, model);
}

#else

int mgk_processor_level(void)
{
    return 0;
}

void mgk_processor_name(char *name, size_t size)
{
    struct utsname system;
    snprintf(name, size, "%s", uname(&system) == 0 ? system.machine : "unknown");
}

#endif
