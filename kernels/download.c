/* Copies reals of a device to the host: the only operation that reading models needs. */
#include "base/memory.h"
#include "kernels/backend.h"

mgk_status mgk_device_download(mgk_device *device, const void *reals, size_t count, double *out)
{
    if (device->precision == MGK_DOUBLE)
        return device->op->download(device, out, reals, count * sizeof(double));
    float *single;
    TRY(mgk_alloc(count, sizeof(*single), &single));
    mgk_status status = device->op->download(device, single, reals, count * sizeof(*single));
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        out[i] = (double)single[i];
    mgk_free(single);
    return status;
}
