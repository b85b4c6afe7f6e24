/* Opening the CPU: which variant of the operations runs here, threads and scratch memory. */
#include "kernels/cpu/device.h"

#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/cpu.h"

typedef struct cpu_context {
    unsigned char *scratch; /* [threads, scratch_bytes] */
    size_t scratch_bytes;   /* a multiple of 64 */
} cpu_context;

/* One way the operations were compiled; a list from the best to the plainest. */
typedef struct cpu_variant {
    const char *level, *name;
    const mgk_operations *table[2]; /* by mgk_precision */
    bool runs_here;
} cpu_variant;

#define DECLARE(level) \
    extern const mgk_operations mgk_cpu_table_32_##level, mgk_cpu_table_64_##level
#define TABLES(level)                                        \
    {                                                        \
        &mgk_cpu_table_32_##level, &mgk_cpu_table_64_##level \
    }
#ifdef MGK_CPU_HAS_base
DECLARE(base);
#else
DECLARE(v2);
DECLARE(v3);
DECLARE(v4);
#endif

static mgk_status choose_variant(cpu_variant *out)
{
#ifdef MGK_CPU_HAS_base
    const cpu_variant variants[] = {{"base", "generic", TABLES(base), true}};
#else
    __builtin_cpu_init();
    const cpu_variant variants[] = {
        {"v4", "x86-64-v4", TABLES(v4), __builtin_cpu_supports("x86-64-v4")},
        {"v3", "x86-64-v3", TABLES(v3), __builtin_cpu_supports("x86-64-v3")},
        {"v2", "x86-64-v2", TABLES(v2), __builtin_cpu_supports("x86-64-v2")},
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

mgk_status mgk_cpu_open(mgk_precision precision, int threads, mgk_device **out)
{
    *out = NULL;
    cpu_variant variant = {0};
    TRY(choose_variant(&variant));

    mgk_device *device;
    TRY(mgk_alloc(1, sizeof *device, &device));
    mgk_status status = mgk_alloc(1, sizeof(cpu_context), &device->context);
    if (status != STATUS_OK) {
        mgk_free(device);
        return status;
    }
    openblas_set_num_threads(1);
    device->op = variant.table[precision];
    device->precision = precision;
    device->real_size = precision == MGK_DOUBLE ? sizeof(double) : sizeof(float);
    device->threads = threads > 0 ? threads : omp_get_num_procs();
    device->batch_tokens = 2048; /* the products of a layer stay near the caches */
    snprintf(device->name, sizeof device->name, "cpu (%s, %d thread%s)", variant.name,
             device->threads, device->threads == 1 ? "" : "s");
    *out = device;
    return STATUS_OK;
}

void mgk_cpu_close(mgk_device *device)
{
    cpu_context *context = device->context;
    mgk_free(context->scratch);
    mgk_free(context);
    mgk_free(device);
}

mgk_status mgk_cpu_reserve_scratch(mgk_device *device, size_t bytes_per_thread)
{
    cpu_context *context = device->context;
    if (bytes_per_thread <= context->scratch_bytes)
        return STATUS_OK;
    if (bytes_per_thread > SIZE_MAX - 63)
        return mgk_fail(STATUS_MEMORY, "%zu bytes of scratch memory per thread", bytes_per_thread);
    size_t bytes = (bytes_per_thread + 63) / 64 * 64;
    mgk_free(context->scratch);
    context->scratch_bytes = 0;
    TRY(mgk_alloc((size_t)device->threads, bytes, &context->scratch));
    context->scratch_bytes = bytes;
    return STATUS_OK;
}

void *mgk_cpu_scratch(mgk_device *device, int thread)
{
    const cpu_context *context = device->context;
    return context->scratch + (size_t)thread * context->scratch_bytes;
}
