/* SPDX-License-Identifier: MIT */
/* Device memory. Allocations are zeroed; transfers are complete on return. */
#include "kernels/cuda/operations.h"

mgk_status mgk_cuda_allocate(mgk_device *device, size_t bytes, void *out)
{
    void *array = NULL;
    *(void **)out = NULL;
    TRY(mgk_cuda_enter(device));
    cudaError_t error = cudaMalloc(&array, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        size_t left = 0, total = 0;
        cudaGetLastError(); /* otherwise the next launch would report it again */
        cudaMemGetInfo(&left, &total);
        return mgk_fail(STATUS_MEMORY, "%s: %zu bytes wanted, %zu of %zu are free", device->name,
                        bytes, left, total);
    }
    TRY(mgk_cuda_check(error, "cudaMalloc"));
    mgk_status status = mgk_cuda_zero(device, array, bytes);
    if (status != STATUS_OK) {
        cudaFree(array);
        return status;
    }
    *(void **)out = array;
    return STATUS_OK;
}

mgk_status mgk_cuda_memory(mgk_device *device, size_t *left, size_t *total)
{
    TRY(mgk_cuda_enter(device));
    return mgk_cuda_check(cudaMemGetInfo(left, total), "cudaMemGetInfo");
}

void mgk_cuda_release(mgk_device *device, void *array)
{
    if (mgk_cuda_enter(device) == STATUS_OK)
        cudaFree(array);
}

static mgk_status transfer(mgk_device *device, void *to, const void *from, size_t bytes,
                           cudaMemcpyKind kind)
{
    if (bytes == 0)
        return STATUS_OK;
    TRY(mgk_cuda_enter(device));
    return mgk_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, mgk_cuda_of(device)->stream),
                          "cudaMemcpyAsync");
}

mgk_status mgk_cuda_upload(mgk_device *device, void *array, const void *host, size_t bytes)
{
    TRY(transfer(device, array, host, bytes, cudaMemcpyHostToDevice));
    return mgk_cuda_synchronize(device);
}

mgk_status mgk_cuda_download(mgk_device *device, void *host, const void *array, size_t bytes)
{
    TRY(transfer(device, host, array, bytes, cudaMemcpyDeviceToHost));
    return mgk_cuda_synchronize(device);
}

mgk_status mgk_cuda_copy(mgk_device *device, void *destination, const void *source, size_t bytes)
{
    return transfer(device, destination, source, bytes, cudaMemcpyDeviceToDevice);
}

mgk_status mgk_cuda_zero(mgk_device *device, void *array, size_t bytes)
{
    if (bytes == 0)
        return STATUS_OK;
    TRY(mgk_cuda_enter(device));
    return mgk_cuda_check(cudaMemsetAsync(array, 0, bytes, mgk_cuda_of(device)->stream),
                          "cudaMemsetAsync");
}

mgk_status mgk_cuda_synchronize(mgk_device *device)
{
    TRY(mgk_cuda_enter(device));
    return mgk_cuda_check(cudaStreamSynchronize(mgk_cuda_of(device)->stream),
                          "cudaStreamSynchronize");
}
