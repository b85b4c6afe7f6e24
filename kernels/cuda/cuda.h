/*
 * Shared by the CUDA operations: what an open device keeps, checked calls, launching. Every .cu
 * file of this folder holds the device's side of the CPU file of the same name; operations are
 * templates over the real type, so that float and double are one text.
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
    cudaStream_t stream; /* everything runs on it, in order, but for */
    cudaStream_t copies; /* those of mirrors, beside it */
    cublasHandle_t blas;
    cusolverDnHandle_t solver; /* made when singular values are asked for */
    void *scratch;
    size_t scratch_bytes;
    void *blas_workspace;
    bool recording; /* what is called now is not run but recorded, and may not grow the scratch */
} mgk_cuda;

static inline mgk_cuda *mgk_cuda_of(const mgk_device *device)
{
    return (mgk_cuda *)device->context;
}

/* STATUS_OK, or a failure that names the call and CUDA's reason. */
mgk_status mgk_cuda_check(cudaError_t error, const char *what);
mgk_status mgk_cuda_check_blas(cublasStatus_t error, const char *what);

/* Makes the device the calling thread's; operations may come from any thread. */
mgk_status mgk_cuda_enter(const mgk_device *device);

/* `bytes` of device memory, contents undefined, until the next operation asks. */
mgk_status mgk_cuda_scratch(mgk_device *device, size_t bytes, void *out);

/* The next `bytes` behind *end, aligned as cudaMalloc does: several arrays in one piece. */
static inline void *mgk_cuda_take(uintptr_t *end, size_t bytes)
{
    const size_t alignment = 256;
    void *array = (void *)*end;
    *end += (bytes + alignment - 1) / alignment * alignment;
    return array;
}

/* Blocks of a cluster that every device with clusters takes. */
enum { MGK_CLUSTER_PORTABLE = 8 };

/* Runs a kernel in clusters of `size` blocks (clusters.h) of so many threads on the device's
 * stream. */
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
    TRY(mgk_cuda_enter(device));
    if (shared > 48 * 1024)
        TRY(mgk_cuda_check(cudaFuncSetAttribute((const void *)kernel,
                                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                (int)shared),
                           "cudaFuncSetAttribute"));
    if (size > MGK_CLUSTER_PORTABLE)
        TRY(mgk_cuda_check(cudaFuncSetAttribute((const void *)kernel,
                                                cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                           "cudaFuncSetAttribute"));
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = (unsigned)size;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(clusters * size));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = mgk_cuda_of(device)->stream;
    config.attrs = &cluster;
    config.numAttrs = size > 1;
    return mgk_cuda_check(cudaLaunchKernelEx(&config, kernel, (Parameters)arguments...),
                          "cudaLaunchKernelEx");
}

/* Runs kernel<<<blocks, threads, shared>>>(arguments...) on the device's stream. */
template <typename... Parameters, typename... Arguments>
mgk_status mgk_cuda_launch(const mgk_device *device, void (*kernel)(Parameters...), size_t blocks,
                           unsigned threads, size_t shared, Arguments... arguments)
{
    return mgk_cuda_launch_clusters(device, kernel, blocks, 1, threads, shared, arguments...);
}

/* Threads of a block where nothing asks for another number. */
enum { MGK_CUDA_BLOCK = 256 };

/* Blocks for one thread an element; kernels loop, so that any number of elements is right. */
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
