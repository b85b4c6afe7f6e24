#include <cblas.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <memory>
#include <vector>

#include "cublas_v2.h"
#include "cuda_runtime.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

struct emulator_graph {
    std::vector<std::function<void()>> calls;
};

struct emulator_executable {
    std::vector<std::function<void()>> calls;
};

struct emulator_stream {
    emulator_graph *captured; /* NULL: calls run at once */
    bool spoilt;
};

struct emulator_blas {
    cudaStream_t stream;
};

namespace
{

emulator_stream *capturing; /* by the one thread that uses the emulator */

/* Runs the call, or keeps it for the graph. */
void submit(cudaStream_t stream, const std::function<void()> &call)
{
    if (stream->captured)
        stream->captured->calls.push_back(call);
    else
        call();
}

/* Whether a stream is being captured, which then fails. */
bool spoils_capture(void)
{
    if (capturing)
        capturing->spoilt = true;
    return capturing != nullptr;
}

const size_t stack_bytes = 64 * 1024, most_shared = 227 * 1024, most_threads = 1024;
const unsigned warp = 32;

enum waiting { NOTHING, WARP, BLOCK, FINISHED };

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

std::vector<fiber> fibers(most_threads);
emulator_value exchanged[2][most_threads]; /* in turns */
jmp_buf scheduler;
void *scheduler_fake_stack;
const void *scheduler_stack;
size_t scheduler_stack_bytes;
size_t current;
const std::function<void()> *body;
alignas(16) char shared[most_shared];

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
__attribute__((noinline)) void resume(size_t thread)
{
    current = thread;
    threadIdx = dim3((unsigned)thread);
    fibers[thread].waits = NOTHING;
    leaving(&scheduler_fake_stack, fibers[thread].stack.get(), stack_bytes);
    if (!_setjmp(scheduler)) {
        if (fibers[thread].started)
            _longjmp(fibers[thread].place, 1);
        fibers[thread].started = true;
        setcontext(&fibers[thread].start);
    }
    arrived(scheduler_fake_stack, nullptr, nullptr);
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
        if (all_wait(first, last, BLOCK) || all_wait(first, last, FINISHED))
            return;
        if (!all_wait(first, last, WARP))
            stop("threads of a warp part at a barrier");
    }
}

void run_block(size_t threads)
{
    const bool backwards = blockIdx.x % 2;
    for (size_t i = 0; i < threads; i++) {
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
    do {
        const size_t warps = (threads + warp - 1) / warp;
        for (size_t w = 0; w < warps; w++) {
            const size_t first = (backwards ? warps - 1 - w : w) * warp;
            run_warp(first, first + warp < threads ? first + warp : threads, backwards);
        }
        if (!all_wait(0, threads, BLOCK) && !all_wait(0, threads, FINISHED))
            stop("threads of a block part at a barrier");
    } while (!all_wait(0, threads, FINISHED));
}

} // namespace

void __syncthreads(void)
{
    wait(BLOCK);
}

void *mgk_cuda_shared(void)
{
    return shared;
}

const emulator_value *emulator_exchange(const void *value, size_t size)
{
    emulator_value *turn = exchanged[fibers[current].exchanges++ % 2];
    if (size > sizeof(*turn) || blockDim.x % warp != 0)
        stop("a shuffle that the emulator does not know");
    memcpy(turn[current].bytes, value, size);
    wait(WARP);
    return turn + current / warp * warp;
}

cudaError_t emulator_run(const cudaLaunchConfig_t *config, const std::function<void()> &thread)
{
    if (config->blockDim.x > most_threads || config->dynamicSmemBytes > most_shared)
        return cudaErrorInvalidValue;
    submit(config->stream, [launch = *config, thread] {
        body = &thread;
        gridDim = launch.gridDim;
        blockDim = launch.blockDim;
        for (unsigned i = 0; i < gridDim.x; i++) {
            blockIdx = dim3(i);
            memset(shared, 0xff, launch.dynamicSmemBytes); /* NaN, as good as undefined */
            run_block(blockDim.x);
        }
    });
    return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t)
{
    return "emulated error";
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
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    snprintf(properties->name, sizeof(properties->name), "emulated on the CPU");
    properties->major = 9;
    properties->minor = 0;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 0;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int index)
{
    return index == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMalloc(void **array, size_t bytes)
{
    if (spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    *array = malloc(bytes);
    if (!*array)
        return cudaErrorMemoryAllocation;
    memset(*array, 0xff, bytes);
    return cudaSuccess;
}

cudaError_t cudaFree(void *array)
{
    if (spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    free(array);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
    *left = *total = 8 << 20; /* so little that work is divided where it depends on it */
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    if (stream->captured && kind != cudaMemcpyDeviceToDevice) {
        spoils_capture();
        return cudaErrorStreamCaptureUnsupported;
    }
    submit(stream, [=] { memcpy(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *array, int value, size_t bytes, cudaStream_t stream)
{
    submit(stream, [=] { memset(array, value, bytes); });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = new emulator_stream{};
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return stream->captured && spoils_capture() ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    if (capturing)
        return cudaErrorStreamCaptureUnsupported;
    stream->captured = new emulator_graph;
    stream->spoilt = false;
    capturing = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    if (capturing != stream)
        return cudaErrorInvalidValue;
    *graph = stream->captured;
    stream->captured = nullptr;
    capturing = nullptr;
    if (!stream->spoilt)
        return cudaSuccess;
    delete *graph;
    *graph = nullptr;
    return cudaErrorStreamCaptureInvalidated;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
    *executable = new emulator_executable{graph->calls};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    if (stream->captured && spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    for (const std::function<void()> &call : executable->calls)
        call();
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    delete executable;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *, int, int value)
{
    return value <= (int)most_shared ? cudaSuccess : cudaErrorInvalidValue;
}

const char *cublasGetStatusString(cublasStatus_t)
{
    return "emulated error";
}

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = new emulator_blas{};
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

static CBLAS_TRANSPOSE transposed(cublasOperation_t op)
{
    return op == CUBLAS_OP_T ? CblasTrans : CblasNoTrans;
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                           int m, int n, int k, const float *alpha, const float *a, int lda,
                           const float *b, int ldb, const float *beta, float *c, int ldc)
{
    submit(handle->stream, [=, factor = *alpha, keep = *beta] {
        cblas_sgemm(CblasColMajor, transposed(op_a), transposed(op_b), m, n, k, factor, a, lda, b,
                    ldb, keep, c, ldc);
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                           int m, int n, int k, const double *alpha, const double *a, int lda,
                           const double *b, int ldb, const double *beta, double *c, int ldc)
{
    submit(handle->stream, [=, factor = *alpha, keep = *beta] {
        cblas_dgemm(CblasColMajor, transposed(op_a), transposed(op_b), m, n, k, factor, a, lda, b,
                    ldb, keep, c, ldc);
    });
    return CUBLAS_STATUS_SUCCESS;
}
