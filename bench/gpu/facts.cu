/* SPDX-License-Identifier: MIT */
/* What a GPU has: memory, multiprocessors, and how many clusters with most shared memory can run.
 */
#include <cuda_runtime.h>

#include <stdio.h>

__global__ void nothing(void)
{
}

/* Clusters of `size` blocks with `shared` bytes each that run at a time; 0: none do. */
static int active_clusters(int size, int shared)
{
    int clusters = 0;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = (unsigned)size;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)size);
    config.blockDim = dim3(512);
    config.dynamicSmemBytes = (size_t)shared;
    config.attrs = &cluster;
    config.numAttrs = 1;
    if (cudaOccupancyMaxActiveClusters(&clusters, nothing, &config) != cudaSuccess)
        clusters = 0;
    cudaGetLastError();
    return clusters;
}

int main(void)
{
    cudaDeviceProp p;
    int driver = 0, runtime = 0, shared = 0;
    size_t left = 0, total = 0;
    cudaError_t error = cudaGetDeviceProperties(&p, 0);
    if (error != cudaSuccess) {
        fprintf(stderr, "bench_facts: %s\n", cudaGetErrorString(error));
        return 1;
    }
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaMemGetInfo(&left, &total);
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    printf("device: %s, compute capability %d.%d\n", p.name, p.major, p.minor);
    printf("driver and runtime: CUDA %d, %d\n", driver, runtime);
    printf("multiprocessors: %d\n", p.multiProcessorCount);
    printf("memory: %zu bytes, %zu free\n", total, left);
    printf("second-level cache: %d bytes\n", p.l2CacheSize);
    printf("shared memory of a block: %d bytes\n", shared);
    cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    for (int size = 1; size <= 16; size *= 2)
        printf("clusters of %d blocks with all shared memory: %d\n", size,
               active_clusters(size, shared));
    return 0;
}
