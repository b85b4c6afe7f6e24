/* SPDX-License-Identifier: MIT */
/* Opening the CPU: threads and scratch memory. */
#include "kernels/cpu/device.h"

#include <stdio.h>

#include "base/cores.h"
#include "base/memory.h"
#include "base/number.h"
#include "kernels/blas.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/variant.h"

typedef struct cpu_context {
    unsigned char *scratch; /* [threads, scratch_bytes] */
    size_t scratch_bytes;   /* a multiple of 64 */
} cpu_context;

mgk_status mgk_cpu_open(mgk_precision precision, int threads, mgk_device **out)
{
    *out = NULL;
    mgk_cpu_variant variant;
    int granted;
    TRY(mgk_blas_open());
    TRY(mgk_cpu_choose_variant(&variant));
    TRY(mgk_blas_reserve(threads > 0 ? threads : mgk_default_threads(), &granted));

    mgk_device *device;
    TRY(mgk_alloc(1, sizeof *device, &device));
    mgk_status status = mgk_alloc(1, sizeof(cpu_context), &device->context);
    if (status != STATUS_OK) {
        mgk_free(device);
        return status;
    }
    mgk_blas.set_num_threads(1);
    device->op = variant.table[precision];
    device->precision = precision;
    device->real_size = precision == MGK_DOUBLE ? sizeof(double) : sizeof(float);
    device->threads = granted;
    device->all_parts = true;
    device->batch_tokens = 2048; /* keeps the products of a layer near the caches */
    snprintf(device->name, sizeof device->name, "cpu (%s, %s %s, %d %s)", variant.name,
             mgk_blas_chosen()->version, mgk_blas_chosen()->kernels, device->threads,
             MGK_NOUN(device->threads, "thread", "threads"));
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
