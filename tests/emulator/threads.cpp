/* SPDX-License-Identifier: MIT */
/* Threads, warps, blocks and clusters: fibers of one host thread that run in turns. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "cuda_pipeline.h"
#include "cuda_runtime.h"
#include "device.h"
#include "streams.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{

/* Not a power of 2, so that stacks do not compete for the same cache lines. */
const size_t stack_bytes = 64 * 1024 + 5 * 64, most_threads = 1024;
const unsigned warp = 32, most_blocks = 16, portable_blocks = 8; /* most blocks in a cluster */

enum waiting { NOTHING, WARP, BLOCK, CLUSTER, FINISHED };

/* Where a stack was left. The compiler's own jumps make no system calls, and AddressSanitizer does
 * not treat them as the end of all frames, which would cost more than everything else. */
typedef void *place[5];

struct copy_to_shared {
    void *to;
    const void *from;
    size_t bytes;
};

/* A fiber starts once by setcontext and continues by jumps. */
struct fiber {
    /* separate, because it is large and the other fields are visited often */
    std::unique_ptr<ucontext_t> start;
    std::unique_ptr<char[]> stack;
    place left;
    waiting waits;
    bool started;
    unsigned exchanges;
    std::vector<copy_to_shared> copies; /* begun and not made */
    void *fake_stack;                   /* AddressSanitizer's */
};

std::vector<fiber> fibers(most_threads);  /* of the running cluster, block after block */
std::vector<emulator_value> exchanged[2]; /* by fiber, alternating */
place scheduler;
void *scheduler_fake_stack;
const void *scheduler_stack;
size_t scheduler_stack_bytes;
size_t current;
const std::function<void()> *body;
alignas(16) char shared[most_blocks][emulator_most_shared];
unsigned cluster_blocks, first_block;
std::set<const void *> unportable; /* kernels that may run in non-portable large clusters */

[[noreturn]] void stop(const char *why)
{
    fprintf(stderr, "emulator: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, why);
    abort();
}

/* AddressSanitizer must know every change of stacks; it leaves these functions alone. */
#define CHANGES_STACKS __attribute__((noinline, no_sanitize("address")))

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

/* A separate function, because no function may both set a place and jump. */
[[noreturn]] CHANGES_STACKS void jump(place to)
{
    __builtin_longjmp(to, 1);
}

/* Suspends a fiber until the event it waits for. */
CHANGES_STACKS void wait(waiting what)
{
    fibers[current].waits = what;
    leaving(&fibers[current].fake_stack, scheduler_stack, scheduler_stack_bytes);
    if (!__builtin_setjmp(fibers[current].left))
        jump(scheduler);
    arrived(fibers[current].fake_stack, &scheduler_stack, &scheduler_stack_bytes);
}

/* A fiber runs a thread of every launch in turn, because starting a fiber takes system calls. */
CHANGES_STACKS void run_fiber(void)
{
    arrived(nullptr, &scheduler_stack, &scheduler_stack_bytes);
    for (;;) {
        (*body)();
        if (!fibers[current].copies.empty())
            stop("a copy to shared memory is not waited for");
        wait(FINISHED);
    }
}

CHANGES_STACKS void resume(size_t index)
{
    current = index;
    threadIdx = dim3((unsigned)index % blockDim.x);
    fibers[index].waits = NOTHING;
    leaving(&scheduler_fake_stack, fibers[index].stack.get(), stack_bytes);
    if (!__builtin_setjmp(scheduler)) {
        if (fibers[index].started)
            jump(fibers[index].left);
        fibers[index].started = true;
        setcontext(fibers[index].start.get());
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

/* Runs a warp until all its threads wait for the block or are finished. */
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
        f.exchanges = 0;
        if (f.stack)
            continue;
        f.stack.reset(new char[stack_bytes]);
        f.start.reset(new ucontext_t);
        getcontext(f.start.get());
        f.start->uc_stack.ss_sp = f.stack.get();
        f.start->uc_stack.ss_size = stack_bytes;
        f.start->uc_link = nullptr;
        f.started = false;
        f.fake_stack = nullptr;
        makecontext(f.start.get(), run_fiber, 0);
    }
}

/* Runs a block of the cluster until all its threads wait for the cluster or are finished. */
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

void __syncwarp(void)
{
    wait(WARP);
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
    if (offset >= emulator_most_shared || rank >= cluster_blocks)
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

void __pipeline_memcpy_async(void *to, const void *from, size_t bytes)
{
    if ((bytes != 4 && bytes != 8 && bytes != 16) || (uintptr_t)to % bytes != 0 ||
        (uintptr_t)from % bytes != 0)
        stop("a copy to shared memory is not aligned");
    fibers[current].copies.push_back({to, from, bytes});
}

void __pipeline_commit(void)
{
}

void __pipeline_wait_prior(size_t)
{
    for (const copy_to_shared &copy : fibers[current].copies)
        memcpy(copy.to, copy.from, copy.bytes);
    fibers[current].copies.clear();
}

cudaError_t emulator_run(const cudaLaunchConfig_t *config, const void *kernel,
                         const std::function<void()> &thread)
{
    const unsigned size = config->numAttrs > 0 ? config->attrs->val.clusterDim.x : 1;
    const unsigned most = unportable.count(kernel) ? most_blocks : portable_blocks;
    if (config->blockDim.x > most_threads || config->dynamicSmemBytes > emulator_shared_limit() ||
        size == 0 || size > most || config->gridDim.x % size != 0)
        return cudaErrorInvalidValue;
    if (emulator_has_fault("no_kernel"))
        return cudaErrorNoKernelImageForDevice;
    emulator_submit(config->stream, [launch = *config, size, thread] {
        body = &thread;
        gridDim = launch.gridDim;
        blockDim = launch.blockDim;
        cluster_blocks = size;
        for (first_block = 0; first_block < gridDim.x; first_block += size) {
            for (unsigned i = 0; i < size; i++) /* NaN: shared memory is undefined */
                memset(shared[i], 0xff, launch.dynamicSmemBytes);
            run_cluster();
        }
    });
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, int attribute, int value)
{
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
        unportable.insert(kernel);
    else if (value > (int)emulator_shared_limit())
        return cudaErrorInvalidValue;
    return cudaSuccess;
}
