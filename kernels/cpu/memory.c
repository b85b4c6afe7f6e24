/* Device memory is host memory. */
#include "kernels/cpu/memory.h"

#include <string.h>

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
