/* SPDX-License-Identifier: MIT */
/* Opens a device by its name. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/cpu/device.h"
#include "kernels/cpu/variant.h"
#include "kernels/cuda/device.h"

static mgk_status parse_cuda_index(const char *name, int turn, int *index)
{
    *index = -1 - turn;
    if (name[4] == '\0')
        return STATUS_OK;
    char *end;
    long value =
        name[4] == ':' && isdigit((unsigned char)name[5]) ? strtol(name + 5, &end, 10) : -1;
    if (value < 0 || value > 1023 || *end != '\0')
        return mgk_fail(STATUS_USAGE, "device \"%s\": expected cuda or cuda:N", name);
    *index = (int)value;
    return STATUS_OK;
}

static mgk_status open_cuda(const char *name, int turn, mgk_precision precision, int threads,
                            mgk_device **out)
{
    int index;
    char prefix[32];
    TRY(parse_cuda_index(name, turn, &index));
    mgk_status status = mgk_cuda_open(index, precision, threads, out);
    if (status == STATUS_OK)
        return STATUS_OK;
    snprintf(prefix, sizeof(prefix), "device cuda:%d", index < 0 ? -1 - index : index);
    return mgk_fail_prefix(status, prefix);
}

static mgk_status check_threads(int threads)
{
    return threads >= 0 && threads <= 4096
               ? STATUS_OK
               : mgk_fail(STATUS_USAGE, "%d threads: expected 0 (all cores) to 4096", threads);
}

/* "auto" is the CPU: no GPU has run the present CUDA kernels (docs/gpu.md). */
static bool is_cpu(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "auto") == 0;
}

mgk_status mgk_device_open(const char *name, mgk_precision precision, int threads, mgk_device **out)
{
    return mgk_device_open_in_turn(name, 0, precision, threads, out);
}

mgk_status mgk_device_open_in_turn(const char *name, int turn, mgk_precision precision, int threads,
                                   mgk_device **out)
{
    *out = NULL;
    TRY(check_threads(threads));
    if (is_cpu(name))
        return mgk_cpu_open(precision, threads, out);
    if (strncmp(name, "cuda", 4) == 0)
        return open_cuda(name, turn, precision, threads, out);
    return mgk_fail(STATUS_USAGE, "device \"%s\": expected auto, cpu, cuda or cuda:N", name);
}

mgk_status mgk_device_check(const char *name, int threads)
{
    mgk_device *device;
    mgk_cpu_variant variant;
    TRY(check_threads(threads));
    if (is_cpu(name))
        return mgk_cpu_choose_variant(&variant);
    TRY(mgk_device_open(name, MGK_SINGLE, threads, &device));
    mgk_device_close(device);
    return STATUS_OK;
}
