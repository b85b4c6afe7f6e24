/* SPDX-License-Identifier: MIT */
/* Device memory is host memory. */
#include "kernels/cpu/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

mgk_status mgk_cpu_allocate(mgk_device *device, size_t bytes, void *out)
{
    (void)device;
    return mgk_alloc(bytes, 1, out);
}

void mgk_cpu_release(mgk_device *device, void *array)
{
    (void)device;
    mgk_free(array);
}

mgk_status mgk_cpu_copy(mgk_device *device, void *destination, const void *source, size_t bytes)
{
    (void)device;
    if (bytes > 0)
        memcpy(destination, source, bytes);
    return STATUS_OK;
}

mgk_status mgk_cpu_zero(mgk_device *device, void *array, size_t bytes)
{
    (void)device;
    if (bytes > 0)
        memset(array, 0, bytes);
    return STATUS_OK;
}

mgk_status mgk_cpu_synchronize(mgk_device *device)
{
    (void)device;
    return STATUS_OK;
}

/* Reads the line "name: N kB" of /proc/meminfo, in bytes; false if there is none. */
static bool read_meminfo(const char *name, size_t *bytes)
{
    char line[128];
    size_t length = strlen(name), kilobytes;
    bool found = false;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && !found && fgets(line, sizeof(line), file))
        found = strncmp(line, name, length) == 0 && line[length] == ':' &&
                sscanf(line + length + 1, "%zu", &kilobytes) == 1;
    if (file)
        fclose(file);
    if (found)
        *bytes = kilobytes * 1024;
    return found;
}

/* `bytes`, limited to what the process may still take (ulimit -v). */
static size_t within_limit(size_t bytes, size_t page)
{
    struct rlimit limit;
    size_t pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return bytes;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return bytes;
    if (fscanf(file, "%zu", &pages) != 1)
        pages = 0;
    fclose(file);
    size_t most = (size_t)limit.rlim_cur, used = pages * page;
    size_t left = used < most ? most - used : 0;
    return left < bytes ? left : bytes;
}

mgk_status mgk_cpu_memory(mgk_device *device, size_t *left, size_t *total)
{
    (void)device;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!read_meminfo("MemTotal", total))
        *total = (size_t)sysconf(_SC_PHYS_PAGES) * page;
    size_t swap = 0;
    if (!read_meminfo("MemAvailable", left))
        *left = (size_t)sysconf(_SC_AVPHYS_PAGES) * page;
    if (read_meminfo("SwapFree", &swap))
        *left += swap;
    *left = within_limit(*left, page);
    return STATUS_OK;
}

mgk_status mgk_cpu_mirror_open(mgk_device *device, size_t count, size_t bytes, mgk_mirror *out)
{
    char *arrays;
    memset(out, 0, count * sizeof(*out));
    TRY(mgk_alloc(count, bytes, &arrays));
    for (size_t i = 0; i < count; i++) {
        void *array = arrays + i * bytes;
        out[i] = (mgk_mirror){.array = array, .host = array, .bytes = bytes};
    }
    (void)device;
    return STATUS_OK;
}

mgk_status mgk_cpu_mirror_send(mgk_device *device, const mgk_mirror *mirror)
{
    (void)device;
    (void)mirror;
    return STATUS_OK;
}

void mgk_cpu_mirror_close(mgk_device *device, size_t count, mgk_mirror *mirrors)
{
    (void)device;
    mgk_free(mirrors[0].array);
    memset(mirrors, 0, count * sizeof(*mirrors));
}

mgk_status mgk_cpu_allow_tf32(mgk_device *device)
{
    (void)device;
    return mgk_fail(STATUS_USAGE, "TF32 is for single precision on a GPU, not for the CPU");
}
