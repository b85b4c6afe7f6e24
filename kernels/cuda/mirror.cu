/* SPDX-License-Identifier: MIT */
/*
 * Mirrors: a device array, page-locked memory on the host, and an event. The event marks the end of
 * the computation first, and then the end of its copy on the other stream. The arrays of mirrors
 * that are opened together are one allocation, which the first one owns.
 */
#include <string.h>

#include "kernels/cuda/operations.h"

static cudaEvent_t event_of(const mgk_mirror *mirror)
{
    return (cudaEvent_t)mirror->state;
}

static mgk_status open_arrays(mgk_device *device, size_t bytes, mgk_mirror *first)
{
    TRY(mgk_cuda_allocate(device, bytes, &first->array));
    cudaError_t error = cudaMallocHost(&first->host, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* otherwise the next launch would report it again */
        return mgk_fail(STATUS_MEMORY, "%s: no %zu bytes of page-locked host memory", device->name,
                        bytes);
    }
    return mgk_cuda_check(error, "cudaMallocHost");
}

static mgk_status open_mirrors(mgk_device *device, size_t count, size_t bytes, mgk_mirror *out)
{
    if (bytes > SIZE_MAX / count)
        return mgk_fail(STATUS_MEMORY, "%zu arrays of %zu bytes are too large", count, bytes);
    TRY(open_arrays(device, count * bytes, &out[0]));
    for (size_t i = 0; i < count; i++) {
        cudaEvent_t event;
        out[i].array = (char *)out[0].array + i * bytes;
        out[i].host = (char *)out[0].host + i * bytes;
        out[i].bytes = bytes;
        /* A blocking wait leaves the core to the threads that compress. */
        TRY(mgk_cuda_check(
            cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
            "cudaEventCreateWithFlags"));
        out[i].state = event;
    }
    return STATUS_OK;
}

mgk_status mgk_cuda_mirror_open(mgk_device *device, size_t count, size_t bytes, mgk_mirror *out)
{
    memset(out, 0, count * sizeof(*out));
    mgk_status status = open_mirrors(device, count, bytes, out);
    if (status != STATUS_OK)
        mgk_cuda_mirror_close(device, count, out);
    return status;
}

mgk_status mgk_cuda_mirror_send(mgk_device *device, const mgk_mirror *mirror)
{
    const mgk_cuda *cuda = mgk_cuda_of(device);
    TRY(mgk_cuda_enter(device));
    TRY(mgk_cuda_check(cudaEventRecord(event_of(mirror), cuda->stream), "cudaEventRecord"));
    TRY(mgk_cuda_check(cudaStreamWaitEvent(cuda->copies, event_of(mirror), 0),
                       "cudaStreamWaitEvent"));
    TRY(mgk_cuda_check(cudaMemcpyAsync(mirror->host, mirror->array, mirror->bytes,
                                       cudaMemcpyDeviceToHost, cuda->copies),
                       "cudaMemcpyAsync"));
    return mgk_cuda_check(cudaEventRecord(event_of(mirror), cuda->copies), "cudaEventRecord");
}

mgk_status mgk_cuda_mirror_wait(mgk_device *device, const mgk_mirror *mirror)
{
    TRY(mgk_cuda_enter(device));
    return mgk_cuda_check(cudaEventSynchronize(event_of(mirror)), "cudaEventSynchronize");
}

void mgk_cuda_mirror_close(mgk_device *device, size_t count, mgk_mirror *mirrors)
{
    if (mgk_cuda_enter(device) == STATUS_OK) {
        for (size_t i = 0; i < count && mirrors[i].state; i++) {
            cudaEventSynchronize(event_of(&mirrors[i]));
            cudaEventDestroy(event_of(&mirrors[i]));
        }
        cudaFreeHost(mirrors[0].host);
        cudaFree(mirrors[0].array);
    }
    memset(mirrors, 0, count * sizeof(*mirrors));
}
