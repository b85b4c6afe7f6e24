/* SPDX-License-Identifier: MIT */
/* Moves arrays between a device and the host, for code that knows no precision. */
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

mgk_status mgk_device_upload(mgk_device *device, const double *values, size_t count, void *reals)
{
    if (device->precision == MGK_DOUBLE)
        return device->op->upload(device, reals, values, count * sizeof(double));
    float *single;
    TRY(mgk_alloc(count, sizeof(*single), &single));
    for (size_t i = 0; i < count; i++)
        single[i] = (float)values[i];
    mgk_status status = device->op->upload(device, reals, single, count * sizeof(*single));
    mgk_free(single);
    return status;
}

mgk_status mgk_device_indices(mgk_device *device, const int32_t *indices, size_t count,
                              int32_t **out)
{
    TRY(mgk_alloc(count, sizeof(**out), out));
    mgk_status status = device->op->download(device, *out, indices, count * sizeof(**out));
    if (status == STATUS_OK)
        return STATUS_OK;
    mgk_free(*out);
    *out = NULL; /* callers release it with what else they hold */
    return status;
}

mgk_status mgk_device_send(mgk_device *device, const mgk_mirror *mirror)
{
    return device->op->mirror_send(device, mirror);
}

mgk_status mgk_device_receive(mgk_device *device, const mgk_mirror *mirror)
{
    return device->op->mirror_wait(device, mirror);
}
