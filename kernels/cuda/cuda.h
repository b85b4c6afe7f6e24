/* SPDX-License-Identifier: MIT */
/*
 * Shared by the CUDA operations: the state of an open device, checked calls, launching. A .cu
 * file with the name of a CPU file is its counterpart. Operations are templates over the real type,
 * so that float and double share one source.
 */
#ifndef MGK_KERNELS_CUDA_CUDA_H
#define MGK_KERNELS_CUDA_CUDA_H

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

extern "C" {
#include "kernels/backend.h"
}

typedef struct mgk_cuda {
    int index;
    cudaStream_t stream; /* runs everything in order, except */
    cudaStream_t copies; /* copies of mirrors, which run concurrently */
    cublasHandle_t blas;
    cusolverDnHandle_t solver; /* created for the first singular values */
    void *scratch;
    size_t scratch_bytes;
    void *blas_workspace;
    bool recording; /* operations are recorded, not run, and must not grow the scratch */
} mgk_cuda;

static inline mgk_cuda *mgk_cuda_of(const mgk_device *device)
{
    return (mgk_cuda *)device->context;
}

/* STATUS_OK, or a failure with the call's name and CUDA's reason. */
mgk_status mgk_cuda_check(cudaError_t error, const char *what);
mgk_status mgk_cuda_check_blas(cublasStatus_t error, const char *what);

/* Selects the device for the calling thread; operations may be called from any thread. */
mgk_status mgk_cuda_enter(const mgk_device *device);

/* `bytes` of device memory, contents undefined, valid until the next operation requests scratch. */
mgk_status mgk_cuda_scratch(mgk_device *device, size_t bytes, void *out);

/* Reserves `bytes` at *end, aligned as cudaMalloc does: places several arrays in one allocation. */
static inline void *mgk_cuda_take(uintptr_t *end, size_t bytes)
{
    const size_t alignment = 256;
    void *array = (void *)*end;
    *end += (bytes + alignment - 1) / alignment * alignment;
    return array;
}

/* The cluster size in blocks that every device with clusters supports. */
enum { MGK_CLUSTER_PORTABLE = 8 };

/* How a kernel runs in clusters of `size` blocks (clusters.h); `config` refers to `cluster`. */
struct mgk_cuda_clusters {
    cudaLaunchAttribute cluster;
    cudaLaunchConfig_t config;

    mgk_cuda_clusters(const mgk_device *device, size_t clusters, size_t size, unsigned threads,
                      size_t shared)
        : cluster(), config()
    {
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = (unsigned)size;
        cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
        config.gridDim = dim3((unsigned)(clusters * size));
        config.blockDim = dim3(threads);
        config.dynamicSmemBytes = shared;
        config.stream = mgk_cuda_of(device)->stream;
        config.attrs = &cluster;
        config.numAttrs = size > 1;
    }
    mgk_cuda_clusters(const mgk_cuda_clusters &) = delete;
};

/*
 * Allows a kernel more shared memory and larger clusters than every kernel may have. The memory is
 * all that the device has: every thread of the host allows the same, so that they do not disturb
 * each other.
 */
static inline mgk_status mgk_cuda_allow(const mgk_device *device, const void *kernel, size_t size,
                                        size_t shared)
{
    cudaFuncAttributes own;
    int most;
    if (shared > 48 * 1024) {
        TRY(mgk_cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                                  mgk_cuda_of(device)->index),
                           "cudaDeviceGetAttribute"));
        TRY(mgk_cuda_check(cudaFuncGetAttributes(&own, kernel), "cudaFuncGetAttributes"));
        TRY(mgk_cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                most - (int)own.sharedSizeBytes),
                           "cudaFuncSetAttribute"));
    }
    if (size > MGK_CLUSTER_PORTABLE)
        TRY(mgk_cuda_check(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "cudaFuncSetAttribute"));
    return STATUS_OK;
}

/*
 * Runs a kernel in clusters of `size` blocks (clusters.h) with `threads` threads and `shared` bytes
 * each, on the device's stream.
 */
template <typename... Parameters, typename... Arguments>
mgk_status mgk_cuda_launch_clusters(const mgk_device *device, void (*kernel)(Parameters...),
                                    size_t clusters, size_t size, unsigned threads, size_t shared,
                                    Arguments... arguments)
{
    if (clusters == 0)
        return STATUS_OK;
    if (clusters > INT32_MAX / size)
        return mgk_fail(STATUS_UNSUPPORTED, "%zu blocks: too large for one kernel",
                        clusters * size);
    const mgk_cuda_clusters launch(device, clusters, size, threads, shared);
    TRY(mgk_cuda_enter(device));
    TRY(mgk_cuda_allow(device, (const void *)kernel, size, shared));
    return mgk_cuda_check(cudaLaunchKernelEx(&launch.config, kernel, (Parameters)arguments...),
                          "cudaLaunchKernelEx");
}

/*
 * How many clusters the device can run at a time; 0 if it has no clusters of this size. For devices
 * of compute capability 9.0 and later.
 */
template <typename... Parameters>
mgk_status mgk_cuda_clusters_at_once(const mgk_device *device, void (*kernel)(Parameters...),
                                     size_t size, unsigned threads, size_t shared, size_t *count)
{
    mgk_cuda_clusters launch(device, 1, size, threads, shared);
    int clusters = 0;
    launch.config.numAttrs = 1;
    TRY(mgk_cuda_enter(device));
    TRY(mgk_cuda_allow(device, (const void *)kernel, size, shared));
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config) != cudaSuccess) {
        cudaGetLastError(); /* a size that the device does not have is no failure */
        clusters = 0;
    }
    *count = (size_t)clusters;
    return STATUS_OK;
}

/* Runs kernel<<<blocks, threads, shared>>>(arguments...) on the device's stream. */
template <typename... Parameters, typename... Arguments>
mgk_status mgk_cuda_launch(const mgk_device *device, void (*kernel)(Parameters...), size_t blocks,
                           unsigned threads, size_t shared, Arguments... arguments)
{
    return mgk_cuda_launch_clusters(device, kernel, blocks, 1, threads, shared, arguments...);
}

/* Threads of a block, by default. */
enum { MGK_CUDA_BLOCK = 256 };

/* Blocks for one thread per element; kernels loop, so any number of elements is correct. */
static inline size_t mgk_cuda_blocks(size_t elements)
{
    const size_t most = 1 << 16;
    size_t blocks = (elements + MGK_CUDA_BLOCK - 1) / MGK_CUDA_BLOCK;
    return blocks < most ? blocks : most;
}

/* for (mgk_cuda_first(); < count; += mgk_cuda_step()) visits every element once. */
__device__ static inline size_t mgk_cuda_first(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static inline size_t mgk_cuda_step(void)
{
    return (size_t)gridDim.x * blockDim.x;
}

/* The block's dynamic shared memory, 16-byte aligned. */
#ifndef MGK_CUDA_EMULATED
__device__ static inline void *mgk_cuda_shared(void)
{
    extern __shared__ __align__(16) unsigned char memory[];
    return memory;
}
#endif

#endif
