#include <cblas.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "cublas_v2.h"
#include "cuda_runtime.h"
#include "streams.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{

const size_t stack_bytes = 64 * 1024, most_shared = 227 * 1024, most_threads = 1024;
const unsigned warp = 32, most_blocks = 16, portable_blocks = 8; /* of a cluster */

enum waiting { NOTHING, WARP, BLOCK, CLUSTER, FINISHED };

/* A fiber begins by setcontext and goes on by longjmp, which makes no system call. */
struct fiber {
    ucontext_t start;
    jmp_buf place;
    std::unique_ptr<char[]> stack;
    waiting waits;
    bool started;
    unsigned exchanges;
    void *fake_stack; /* AddressSanitizer's */
};

std::vector<fiber> fibers(most_threads);  /* of the cluster that runs, block after block */
std::vector<emulator_value> exchanged[2]; /* by fiber, in turns */
jmp_buf scheduler;
void *scheduler_fake_stack;
const void *scheduler_stack;
size_t scheduler_stack_bytes;
size_t current;
const std::function<void()> *body;
alignas(16) char shared[most_blocks][most_shared];
unsigned cluster_blocks, first_block;
std::set<const void *> unportable; /* kernels that may run in large clusters */

[[noreturn]] void stop(const char *why)
{
    fprintf(stderr, "emulator: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, why);
    abort();
}

/* AddressSanitizer is told of every change of stacks. */
void leaving(void **fake_stack, const void *stack, size_t bytes)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
#else
    (void)fake_stack, (void)stack, (void)bytes;
#endif
}

void arrived(void *fake_stack, const void **stack, size_t *bytes)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack, stack, bytes);
#else
    (void)fake_stack, (void)stack, (void)bytes;
#endif
}

void run_fiber(void)
{
    arrived(nullptr, &scheduler_stack, &scheduler_stack_bytes);
    (*body)();
    fibers[current].waits = FINISHED;
    leaving(nullptr, scheduler_stack, scheduler_stack_bytes);
    _longjmp(scheduler, 1);
}

/* A fiber gives way until what it waits for has happened. */
__attribute__((noinline)) void wait(waiting what)
{
    fiber &self = fibers[current];
    self.waits = what;
    leaving(&self.fake_stack, scheduler_stack, scheduler_stack_bytes);
    if (!_setjmp(self.place))
        _longjmp(scheduler, 1);
    arrived(self.fake_stack, &scheduler_stack, &scheduler_stack_bytes);
}

/* Not inlined: what surrounds a setjmp may not live in registers. */
__attribute__((noinline)) void resume(size_t index)
{
    current = index;
    threadIdx = dim3((unsigned)index % blockDim.x);
    fibers[index].waits = NOTHING;
    leaving(&scheduler_fake_stack, fibers[index].stack.get(), stack_bytes);
    if (!_setjmp(scheduler)) {
        if (fibers[index].started)
            _longjmp(fibers[index].place, 1);
        fibers[index].started = true;
        setcontext(&fibers[index].start);
    }
    arrived(scheduler_fake_stack, nullptr, nullptr);
}

bool has_fault(const char *name)
{
    const char *fault = getenv("EMULATOR_FAULT");
    return fault && strcmp(fault, name) == 0;
}

std::map<void *, size_t> allocated; /* bytes of device memory, by address */
size_t allocated_bytes;

size_t memory_limit(void)
{
    const char *limit = getenv("EMULATOR_MEMORY");
    return limit ? strtoull(limit, nullptr, 10) : (size_t)1 << 34;
}

size_t shared_limit(void)
{
    const char *limit = getenv("EMULATOR_SHARED");
    return limit ? std::min<size_t>(strtoull(limit, nullptr, 10), most_shared) : most_shared;
}

bool all_wait(size_t first, size_t last, waiting what)
{
    for (size_t i = first; i < last; i++)
        if (fibers[i].waits != what)
            return false;
    return true;
}

/* Runs a warp until each of its threads waits for the block or is finished. */
void run_warp(size_t first, size_t last, bool backwards)
{
    for (;;) {
        for (size_t i = first; i < last; i++)
            resume(backwards ? last - 1 - (i - first) : i);
        if (all_wait(first, last, BLOCK) || all_wait(first, last, CLUSTER) ||
            all_wait(first, last, FINISHED))
            return;
        if (!all_wait(first, last, WARP))
            stop("threads of a warp part at a barrier");
    }
}

void make_fibers(size_t count)
{
    if (fibers.size() < count)
        fibers.resize(count);
    for (std::vector<emulator_value> &turn : exchanged)
        turn.resize(fibers.size());
    for (size_t i = 0; i < count; i++) {
        fiber &f = fibers[i];
        if (!f.stack)
            f.stack.reset(new char[stack_bytes]);
        getcontext(&f.start);
        f.start.uc_stack.ss_sp = f.stack.get();
        f.start.uc_stack.ss_size = stack_bytes;
        f.start.uc_link = nullptr;
        f.started = false;
        f.exchanges = 0;
        f.fake_stack = nullptr;
        makecontext(&f.start, run_fiber, 0);
    }
}

/* Runs a block of the cluster until its threads wait for the cluster or are finished. */
void run_block(unsigned rank)
{
    const size_t threads = blockDim.x, begin = rank * threads, end = begin + threads;
    const bool backwards = (first_block / cluster_blocks + rank) % 2;
    blockIdx = dim3(first_block + rank);
    do {
        const size_t warps = (threads + warp - 1) / warp;
        for (size_t w = 0; w < warps; w++) {
            const size_t first = begin + (backwards ? warps - 1 - w : w) * warp;
            run_warp(first, std::min<size_t>(first + warp, end), backwards);
        }
        if (!all_wait(begin, end, BLOCK) && !all_wait(begin, end, CLUSTER) &&
            !all_wait(begin, end, FINISHED))
            stop("threads of a block part at a barrier");
    } while (all_wait(begin, end, BLOCK));
}

void run_cluster(void)
{
    const size_t count = cluster_blocks * blockDim.x;
    const bool backwards = first_block / cluster_blocks % 2;
    make_fibers(count);
    do {
        for (unsigned i = 0; i < cluster_blocks; i++)
            run_block(backwards ? cluster_blocks - 1 - i : i);
        if (!all_wait(0, count, CLUSTER) && !all_wait(0, count, FINISHED))
            stop("blocks of a cluster part at a barrier");
    } while (!all_wait(0, count, FINISHED));
}

} // namespace

void __syncthreads(void)
{
    wait(BLOCK);
}

void emulator_cluster_barrier(void)
{
    wait(CLUSTER);
}

unsigned emulator_cluster_rank(void)
{
    return blockIdx.x - first_block;
}

unsigned emulator_cluster_blocks(void)
{
    return cluster_blocks;
}

void *mgk_cuda_shared(void)
{
    return shared[emulator_cluster_rank()];
}

void *emulator_cluster_at(void *own, unsigned rank)
{
    const size_t offset = (size_t)((char *)own - shared[emulator_cluster_rank()]);
    if (offset >= most_shared || rank >= cluster_blocks)
        stop("no shared memory of another block");
    return shared[rank] + offset;
}

const emulator_value *emulator_exchange(const void *value, size_t size)
{
    emulator_value *turn = exchanged[fibers[current].exchanges++ % 2].data();
    if (size > sizeof(*turn) || blockDim.x % warp != 0)
        stop("a shuffle that the emulator does not know");
    memcpy(turn[current].bytes, value, size);
    wait(WARP);
    return turn + current / warp * warp;
}

cudaError_t emulator_run(const cudaLaunchConfig_t *config, const void *kernel,
                         const std::function<void()> &thread)
{
    const unsigned size = config->numAttrs > 0 ? config->attrs->val.clusterDim.x : 1;
    const unsigned most = unportable.count(kernel) ? most_blocks : portable_blocks;
    if (config->blockDim.x > most_threads || config->dynamicSmemBytes > shared_limit() ||
        size == 0 || size > most || config->gridDim.x % size != 0)
        return cudaErrorInvalidValue;
    if (has_fault("no_kernel"))
        return cudaErrorNoKernelImageForDevice;
    emulator_submit(config->stream, [launch = *config, size, thread] {
        body = &thread;
        gridDim = launch.gridDim;
        blockDim = launch.blockDim;
        cluster_blocks = size;
        for (first_block = 0; first_block < gridDim.x; first_block += size) {
            for (unsigned i = 0; i < size; i++) /* NaN, as good as undefined */
                memset(shared[i], 0xff, launch.dynamicSmemBytes);
            run_cluster();
        }
    });
    return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorDevicesUnavailable ? "cudaErrorDevicesUnavailable" : "emulated error";
}

const char *cudaGetErrorString(cudaError_t error)
{
    if (error == cudaErrorStreamCaptureUnsupported)
        return "forbidden while a stream is captured";
    return "of the emulator";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    if (has_fault("no_driver") || has_fault("old_driver"))
        return cudaErrorInsufficientDriver;
    return has_fault("no_device") ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    snprintf(properties->name, sizeof(properties->name), "emulated on the CPU");
    properties->major = 9;
    properties->minor = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : (int)shared_limit();
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = has_fault("no_driver") ? 0 : has_fault("old_driver") ? 12040 : 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int index)
{
    if (has_fault("busy"))
        return cudaErrorDevicesUnavailable;
    return index == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMalloc(void **array, size_t bytes)
{
    *array = nullptr;
    if (emulator_spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    if (bytes > memory_limit() - allocated_bytes)
        return cudaErrorMemoryAllocation;
    *array = malloc(bytes);
    if (!*array)
        return cudaErrorMemoryAllocation;
    memset(*array, 0xff, bytes);
    allocated[*array] = bytes;
    allocated_bytes += bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void *array)
{
    if (emulator_spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    if (array)
        allocated_bytes -= allocated.at(array);
    allocated.erase(array);
    free(array);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
    *total = memory_limit();
    *left = *total - allocated_bytes;
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *array, int value, size_t bytes, cudaStream_t stream)
{
    emulator_submit(stream, [=] { memset(array, value, bytes); });
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, int attribute, int value)
{
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
        unportable.insert(kernel);
    else if (value > (int)shared_limit())
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

const char *cublasGetStatusString(cublasStatus_t)
{
    return "emulated error";
}

struct emulator_blas {
    cudaStream_t stream = nullptr;
    int mode = -1; /* until it is set */
};

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = new emulator_blas;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t, void *, size_t)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

/* Whether float32 products may use TF32: the default mode leaves it to the environment. */
static bool rounds(cublasHandle_t handle)
{
    const char *wish = getenv("NVIDIA_TF32_OVERRIDE");
    return handle->mode == CUBLAS_TF32_TENSOR_OP_MATH ||
           (handle->mode != CUBLAS_PEDANTIC_MATH && wish && strcmp(wish, "1") == 0);
}

/* A factor of [rows, columns] as TF32 has it, 10 bits behind the point, or as it is. */
static std::vector<float> factor(bool rounded, const float *a, int lda, int rows, int columns)
{
    std::vector<float> out((size_t)lda * (size_t)columns);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            const size_t place = (size_t)j * (size_t)lda + (size_t)i;
            uint32_t bits;
            memcpy(&bits, &a[place], sizeof(bits));
            bits = rounded ? (bits + 0x1000) & ~UINT32_C(0x1fff) : bits;
            memcpy(&out[place], &bits, sizeof(bits));
        }
    return out;
}

static CBLAS_TRANSPOSE transposed(cublasOperation_t op)
{
    return op == CUBLAS_OP_T ? CblasTrans : CblasNoTrans;
}

/* cuBLAS refuses leading dimensions below 1, even of matrices that are not read; CBLAS may not. */
static bool are_leading(int lda, int ldb, int ldc)
{
    return lda >= 1 && ldb >= 1 && ldc >= 1;
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                           int m, int n, int k, const float *alpha, const float *a, int lda,
                           const float *b, int ldb, const float *beta, float *c, int ldc)
{
    if (!are_leading(lda, ldb, ldc))
        return CUBLAS_STATUS_INVALID_VALUE;
    const bool rounded = rounds(handle);
    emulator_submit(handle->stream, [=, scale = *alpha, keep = *beta] {
        const bool flip_a = op_a == CUBLAS_OP_T, flip_b = op_b == CUBLAS_OP_T;
        const std::vector<float> left = factor(rounded, a, lda, flip_a ? k : m, flip_a ? m : k);
        const std::vector<float> right = factor(rounded, b, ldb, flip_b ? n : k, flip_b ? k : n);
        cblas_sgemm(CblasColMajor, transposed(op_a), transposed(op_b), m, n, k, scale, left.data(),
                    lda, right.data(), ldb, keep, c, ldc);
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                           int m, int n, int k, const double *alpha, const double *a, int lda,
                           const double *b, int ldb, const double *beta, double *c, int ldc)
{
    if (!are_leading(lda, ldb, ldc))
        return CUBLAS_STATUS_INVALID_VALUE;
    emulator_submit(handle->stream, [=, scale = *alpha, keep = *beta] {
        cblas_dgemm(CblasColMajor, transposed(op_a), transposed(op_b), m, n, k, scale, a, lda, b,
                    ldb, keep, c, ldc);
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDtrsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,
                           cublasOperation_t op, cublasDiagType_t diagonal, int m, int n,
                           const double *alpha, const double *a, int lda, double *b, int ldb)
{
    if (!are_leading(lda, ldb, 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    emulator_submit(handle->stream, [=, scale = *alpha] {
        cblas_dtrsm(CblasColMajor, side == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight,
                    fill == CUBLAS_FILL_MODE_LOWER ? CblasLower : CblasUpper, transposed(op),
                    diagonal == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit, m, n, scale, a, lda, b,
                    ldb);
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k,
                                         const double *alpha, const double *a, int lda,
                                         long long stride_a, const double *b, int ldb,
                                         long long stride_b, const double *beta, double *c, int ldc,
                                         long long stride_c, int count)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; i++)
        status = cublasDgemm(handle, op_a, op_b, m, n, k, alpha, a + i * stride_a, lda,
                             b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
    return status;
}
