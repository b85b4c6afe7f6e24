/* SPDX-License-Identifier: MIT */
/*
 * Mirrors: a device array, page-locked memory on the host, and an event. The event marks the end of
 * the computation first, and then the end of its copy on the other stream.
 */
#include "kernels/cuda/operations.h"

static cudaEvent_t event_of(const mgk_mirror *mirror)
{
    return (cudaEvent_t)mirror->state;
}

static mgk_status open_mirror(mgk_device *device, mgk_mirror *mirror)
{
    cudaEvent_t event;
    TRY(mgk_cuda_allocate(device, mirror->bytes, &mirror->array));
    cudaError_t error = cudaMallocHost(&mirror->host, mirror->bytes ? mirror->bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* otherwise the next launch would report it again */
        return mgk_fail(STATUS_MEMORY, "%s: no %zu bytes of page-locked host memory", device->name,
                        mirror->bytes);
    }
    TRY(mgk_cuda_check(error, "cudaMallocHost"));
    /* A blocking wait leaves the core to the threads that compress. */
    TRY(mgk_cuda_check(
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
        "cudaEventCreateWithFlags"));
    mirror->state = event;
    return STATUS_OK;
}

mgk_status mgk_cuda_mirror_open(mgk_device *device, size_t bytes, mgk_mirror *out)
{
    *out = {};
    out->bytes = bytes;
    mgk_status status = open_mirror(device, out);
    if (status != STATUS_OK)
        mgk_cuda_mirror_close(device, out);
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

void mgk_cuda_mirror_close(mgk_device *device, mgk_mirror *mirror)
{
    if (mgk_cuda_enter(device) == STATUS_OK) {
        if (mirror->state) {
            cudaEventSynchronize(event_of(mirror));
            cudaEventDestroy(event_of(mirror));
        }
        cudaFreeHost(mirror->host);
        cudaFree(mirror->array);
    }
    *mirror = {};
}
