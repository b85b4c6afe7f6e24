/* SPDX-License-Identifier: MIT */
/* Threads, warps, blocks and clusters: fibers of one host thread that run in turns. Messages
 * between blocks arrive only when all others wait. */
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

enum waiting { NOTHING, WARP, BLOCK, CLUSTER, TRANSACTIONS, FINISHED };

/* An mbarrier object of shared memory. A phase ends when no arrival is pending and the bytes of its
 * transactions, expected less completed, are 0. */
struct transaction_barrier {
    uint8_t phase, arrivals, pending, unused;
    int32_t bytes;
};
static_assert(sizeof(transaction_barrier) == sizeof(uint64_t), "as large as on a device");

/* A store to another block that is on its way. */
struct message {
    double2 *place;
    double2 value;
    transaction_barrier *barrier;
    unsigned rank;
};

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
    const transaction_barrier *barrier; /* if it waits for transactions: for the end of a phase */
    uint8_t phase;
    void *fake_stack; /* AddressSanitizer's */
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
std::vector<message> messages;
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

/* Runs a warp until all its threads wait for others or are finished. */
void run_warp(size_t first, size_t last, bool backwards)
{
    for (;;) {
        for (size_t i = first; i < last; i++)
            resume(backwards ? last - 1 - (i - first) : i);
        if (!all_wait(first, last, fibers[first].waits))
            stop("threads of a warp part at a barrier");
        if (fibers[first].waits != WARP)
            return;
    }
}

/* All threads of a warp wait for the same thing: the first one tells. */
bool can_run(const fiber &f)
{
    return f.waits == NOTHING || (f.waits == TRANSACTIONS && f.barrier->phase != f.phase);
}

/* If all threads of a group wait for this, none does any more. */
bool release(size_t first, size_t last, waiting what)
{
    if (!all_wait(first, last, what))
        return false;
    for (size_t i = first; i < last; i++)
        fibers[i].waits = NOTHING;
    return true;
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
        f.waits = NOTHING;
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

/* Runs a block of the cluster until none of its warps can run; false: none could. */
bool run_block(unsigned rank)
{
    const size_t threads = blockDim.x, begin = rank * threads, end = begin + threads;
    const size_t warps = (threads + warp - 1) / warp;
    const bool backwards = (first_block / cluster_blocks + rank) % 2;
    bool any = false, again = true;
    blockIdx = dim3(first_block + rank);
    while (again) {
        again = false;
        for (size_t w = 0; w < warps; w++) {
            const size_t first = begin + (backwards ? warps - 1 - w : w) * warp;
            if (!can_run(fibers[first]))
                continue;
            run_warp(first, std::min<size_t>(first + warp, end), backwards);
            again = true;
        }
        any |= again;
        again |= release(begin, end, BLOCK);
    }
    return any;
}

/* Whether a phase of the barrier has ended. */
bool end_phase(transaction_barrier *b)
{
    if (b->pending > 0 || b->bytes != 0)
        return false;
    b->phase ^= 1;
    b->pending = b->arrivals;
    return true;
}

/* Delivers messages, in any order, until a phase ends; false: none does. */
bool deliver(void)
{
    static uint32_t random = 1;
    while (!messages.empty()) {
        random = random * 1664525u + 1013904223u;
        message &next = messages[(random >> 8) % messages.size()];
        const message m = next;
        next = messages.back();
        messages.pop_back();
        const size_t begin = m.rank * blockDim.x;
        if (all_wait(begin, begin + blockDim.x, FINISHED))
            stop("a message to a block that has ended");
        *m.place = m.value;
        m.barrier->bytes -= (int32_t)sizeof(m.value);
        if (end_phase(m.barrier))
            return true;
    }
    return false;
}

[[noreturn]] void stop_waiting(size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fibers[i].waits == TRANSACTIONS)
            stop("a phase of a transaction barrier does not end");
    for (unsigned b = 0; b < cluster_blocks; b++)
        if (fibers[b * blockDim.x].waits == BLOCK)
            stop("threads of a block part at a barrier");
    stop("blocks of a cluster part at a barrier");
}

/* Messages travel as long as a block can run. */
void run_cluster(void)
{
    const size_t count = cluster_blocks * blockDim.x;
    const bool backwards = first_block / cluster_blocks % 2;
    bool any = true;
    make_fibers(count);
    while (any) {
        any = false;
        for (unsigned i = 0; i < cluster_blocks; i++)
            any |= run_block(backwards ? cluster_blocks - 1 - i : i);
        any = any || release(0, count, CLUSTER) || deliver();
    }
    if (!all_wait(0, count, FINISHED))
        stop_waiting(count);
}

transaction_barrier *barrier_at(uint64_t *barrier)
{
    transaction_barrier *b = (transaction_barrier *)barrier;
    if (b->phase > 1 || b->arrivals == 0)
        stop("a transaction barrier that is not initialised");
    return b;
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

void mgk_mbarrier_init(uint64_t *barrier, unsigned arrivals)
{
    const transaction_barrier b = {0, (uint8_t)arrivals, (uint8_t)arrivals, 0, 0};
    memcpy(barrier, &b, sizeof(b));
}

void mgk_mbarrier_arrive_expect(uint64_t *barrier, unsigned bytes)
{
    transaction_barrier *b = barrier_at(barrier);
    if (b->pending == 0)
        stop("more arrivals than a phase of a transaction barrier has");
    b->bytes += (int32_t)bytes;
    b->pending--;
    end_phase(b);
}

bool mgk_mbarrier_try_wait(uint64_t *barrier, unsigned parity)
{
    fibers[current].barrier = barrier_at(barrier);
    fibers[current].phase = (uint8_t)parity;
    wait(TRANSACTIONS);
    return true;
}

void mgk_store_async(double2 *place, double2 value, uint64_t *barrier, int rank)
{
    const unsigned to = (unsigned)rank;
    messages.push_back({(double2 *)emulator_cluster_at(place, to), value,
                        barrier_at((uint64_t *)emulator_cluster_at(barrier, to)), to});
}

/* Clusters of a kernel may have so many blocks. */
static unsigned most_in_cluster(const void *kernel)
{
    return std::min(unportable.count(kernel) ? most_blocks : portable_blocks,
                    emulator_cluster_limit());
}

cudaError_t emulator_clusters_at_once(int *clusters, const void *kernel,
                                      const cudaLaunchConfig_t *config)
{
    const unsigned multiprocessors = 132, threads = 2048, size = config->attrs->val.clusterDim.x;
    const size_t reserved = 1024; /* bytes of shared memory for each block */
    const size_t room = emulator_shared_limit() + reserved;
    const size_t blocks = std::min<size_t>(threads / config->blockDim.x,
                                           room / (config->dynamicSmemBytes + reserved));
    *clusters = 0;
    if (size > most_in_cluster(kernel))
        return cudaErrorInvalidValue;
    *clusters = (int)(multiprocessors * blocks / size);
    return cudaSuccess;
}

cudaError_t emulator_run(const cudaLaunchConfig_t *config, const void *kernel,
                         const std::function<void()> &thread)
{
    const emulator_turn turn;
    const unsigned size = config->numAttrs > 0 ? config->attrs->val.clusterDim.x : 1;
    if (config->blockDim.x > most_threads || config->dynamicSmemBytes > emulator_shared_limit() ||
        size == 0 || size > most_in_cluster(kernel) || config->gridDim.x % size != 0)
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
            if (!messages.empty())
                stop("messages that nobody waits for");
        }
    });
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, int attribute, int value)
{
    const emulator_turn turn;
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
        unportable.insert(kernel);
    else if (value > (int)emulator_shared_limit())
        return cudaErrorInvalidValue;
    return cudaSuccess;
}
