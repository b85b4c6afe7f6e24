/* SPDX-License-Identifier: MIT */
/* A CPU has nothing to gain from a recording: replaying calls the work. */
#include "kernels/cpu/recording.h"

#include "base/memory.h"

struct mgk_recording {
    mgk_status (*work)(void *);
    void *context;
};

mgk_status mgk_cpu_record(mgk_device *device, mgk_status (*work)(void *), void *context,
                          mgk_recording **out)
{
    (void)device;
    TRY(mgk_alloc(1, sizeof **out, out));
    **out = (mgk_recording){work, context};
    return STATUS_OK;
}

mgk_status mgk_cpu_replay(mgk_device *device, mgk_recording *recording)
{
    (void)device;
    return recording->work(recording->context);
}

void mgk_cpu_release_recording(mgk_device *device, mgk_recording *recording)
{
    (void)device;
    mgk_free(recording);
}
