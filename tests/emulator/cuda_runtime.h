/* SPDX-License-Identifier: MIT */
/*
 * The part of the CUDA runtime that kernels/cuda uses, on the CPU, so that its kernels are tested
 * without a GPU: the same .cu files are compiled as C++ with this header.
 *
 * The threads of a block are fibers of one host thread; they run in turns from barrier to barrier,
 * in an order that changes from block to block, so a missing barrier gives wrong numbers. Device
 * memory is host memory, so sanitizers check every access. The emulator cannot show speed, nor
 * errors of the real compiler or runtime.
 *
 * EMULATOR_DEVICES=COUNT devices are there, 1 if not said. EMULATOR_MEMORY=BYTES limits device
 * memory, EMULATOR_SHARED=BYTES the shared memory of a block, and EMULATOR_CLUSTER=BLOCKS clusters
 * (1: there are none, as before compute capability 9.0); EMULATOR_FAULT makes the device unusable:
 * no_driver, old_driver, no_device, busy, no_kernel or old_code.
 */
#ifndef MGK_TESTS_EMULATOR_CUDA_RUNTIME_H
#define MGK_TESTS_EMULATOR_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>

#define MGK_CUDA_EMULATED
#define __global__
#define __device__
#define __host__
#define __shared__ static /* one block runs at a time; kernels in clusters use none */
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

/* In kernels. */
void __syncthreads(void);
void __syncwarp(void);
void *mgk_cuda_shared(void);
void emulator_cluster_barrier(void);
unsigned emulator_cluster_rank(void);
unsigned emulator_cluster_blocks(void);
void *emulator_cluster_at(void *own, unsigned rank);
/* The instructions of kernels/cuda/spectral/messages.h. A stored value arrives late, as a device
 * may do it. */
struct alignas(16) double2 {
    double x, y;
};
static inline double2 make_double2(double x, double y)
{
    return {x, y};
}
void mgk_mbarrier_init(uint64_t *barrier, unsigned arrivals);
void mgk_mbarrier_arrive_expect(uint64_t *barrier, unsigned bytes);
bool mgk_mbarrier_try_wait(uint64_t *barrier, unsigned parity);
void mgk_store_async(double2 *place, double2 value, uint64_t *barrier, int rank);
/* Operations of a warp: when all its lanes have called this, `all` gets what they gave, and changes
 * it. Faster than if each lane collected what the others have. */
void emulator_operate(void *own, void (*all)(void *const *lanes));

template <typename T> struct emulator_shuffle {
    T own, found;
    int from; /* lane */
};

template <typename T> void emulator_shuffle_lanes(void *const *lanes)
{
    emulator_shuffle<T> *const *of = (emulator_shuffle<T> *const *)lanes;
    for (int lane = 0; lane < 32; lane++)
        of[lane]->found = of[of[lane]->from]->own;
}

template <typename T> T __shfl_sync(unsigned, T x, int lane)
{
    emulator_shuffle<T> own = {x, x, lane};
    emulator_operate(&own, emulator_shuffle_lanes<T>);
    return own.found;
}

template <typename T> T __shfl_xor_sync(unsigned lanes, T x, int mask)
{
    return __shfl_sync(lanes, x, (int)(threadIdx.x % 32) ^ mask);
}

static inline void emulator_ballot_lanes(void *const *lanes)
{
    unsigned votes = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        votes |= (unsigned)(*(unsigned *)lanes[lane] != 0) << lane;
    for (unsigned lane = 0; lane < 32; lane++)
        *(unsigned *)lanes[lane] = votes;
}

static inline unsigned __ballot_sync(unsigned, bool vote)
{
    unsigned votes = vote;
    emulator_operate(&votes, emulator_ballot_lanes);
    return votes;
}

/* Tensor cores: see kernels/cuda/attention/fragments.h. */
void mgk_multiply_tf32(float (&sum)[4], const float (&a)[4], const float (&b)[2]);
void mgk_multiply_double(double &sum0, double &sum1, double a, double b);

static inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Never fused with a sum; the emulator is compiled for processors without fused operations. */
static inline double __dmul_rn(double x, double y)
{
    return x * y;
}

static inline double normcdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static inline float normcdf(float x)
{
    return (float)normcdf((double)x);
}

static inline int min(int a, int b)
{
    return a < b ? a : b;
}

static inline int atomicAdd(int *at, int x)
{
    const int before = *at;
    *at += x;
    return before;
}

/* The upper 32 bits of a double, and a double of two halves. */
static inline int __double2hiint(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (int)(bits >> 32);
}

static inline double __hiloint2double(int high, int low)
{
    const uint64_t bits = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

/* In host code. */
enum cudaError_t {
    cudaSuccess,
    cudaErrorMemoryAllocation,
    cudaErrorInvalidValue,
    cudaErrorNoDevice,
    cudaErrorInsufficientDriver,
    cudaErrorStreamCaptureUnsupported,
    cudaErrorStreamCaptureInvalidated,
    cudaErrorInvalidDeviceFunction,
    cudaErrorNoKernelImageForDevice,
    cudaErrorUnsupportedPtxVersion,
    cudaErrorDevicesUnavailable
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributeNonPortableClusterSizeAllowed
};
enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin, cudaDevAttrComputeCapabilityMajor };
enum { cudaStreamNonBlocking };
enum { cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
typedef struct emulator_stream *cudaStream_t;
typedef struct emulator_event *cudaEvent_t;
struct cudaDeviceProp {
    char name[256];
    int major, minor;
};
enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension };
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        struct {
            unsigned x, y, z;
        } clusterDim;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int index);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int index);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaSetDevice(int index);
cudaError_t cudaMalloc(void **array, size_t bytes);
cudaError_t cudaFree(void *array);
cudaError_t cudaMemGetInfo(size_t *left, size_t *total);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *array, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaMallocHost(void **array, size_t bytes);
cudaError_t cudaFreeHost(void *array);
cudaError_t cudaFuncSetAttribute(const void *kernel, int attribute, int value);
struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    int ptxVersion;
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *kernel);

/* As on a device of 132 multiprocessors. */
cudaError_t emulator_clusters_at_once(int *clusters, const void *kernel,
                                      const cudaLaunchConfig_t *config);
template <typename... Parameters>
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, void (*kernel)(Parameters...),
                                           const cudaLaunchConfig_t *config)
{
    return emulator_clusters_at_once(clusters, (const void *)kernel, config);
}

/* A graph is the list of calls on a stream while it was captured. Calls that CUDA forbids during a
 * capture, such as copies from and to the host, fail here too and invalidate the capture. */
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
typedef struct emulator_graph *cudaGraph_t;
typedef struct emulator_executable *cudaGraphExec_t;
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

/* Runs `thread` for every thread of every block of the kernel. */
cudaError_t emulator_run(const cudaLaunchConfig_t *config, const void *kernel,
                         const std::function<void()> &thread);

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                               Arguments &&...arguments)
{
    return emulator_run(config, (const void *)kernel,
                        [=] { kernel(arguments...); }); /* arguments are copied */
}

#endif
