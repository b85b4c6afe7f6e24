/* SPDX-License-Identifier: MIT */
/* Memory that a device lends again and again, until it is closed. */
#include "kernels/backend.h"

static void take_back(mgk_device *device)
{
    if (device->lent)
        device->op->release(device, device->lent);
    device->lent = NULL;
    device->lent_bytes = 0;
}

mgk_status mgk_device_lend(mgk_device *device, size_t bytes, void **out)
{
    if (bytes > device->lent_bytes) {
        take_back(device);
        TRY(device->op->allocate(device, bytes, &device->lent));
        device->lent_bytes = bytes;
    }
    *out = device->lent;
    return STATUS_OK;
}

void mgk_device_close(mgk_device *device)
{
    if (!device)
        return;
    take_back(device);
    device->op->close(device);
}
