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
    char *stack;
    place left;
    bool started;
    std::vector<copy_to_shared> copies; /* begun and not made */
    void *fake_stack;                   /* AddressSanitizer's */
};

/* All threads of a warp wait for the same thing. */
struct warp_state {
    waiting waits;
    const transaction_barrier *barrier; /* if they wait for transactions: for the end of a phase */
    uint8_t phase;
};

/* The running warp: its fibers from `first` to `last`, one after the other. */
struct warp_turn {
    size_t first, last;
    bool backwards;
    warp_state *state;
};

/* Of the running cluster, block after block. Kept until the end, in arrays: functions that change
 * stacks call none that AddressSanitizer looks at, so operators of classes would not be compiled
 * into them. */
fiber fibers[most_blocks * most_threads];
std::vector<warp_state> warps; /* theirs */
warp_turn turn;
place scheduler;
void *scheduler_fake_stack;
const void *scheduler_stack;
size_t scheduler_stack_bytes;
size_t current;                        /* the running fiber */
void (*operation)(void *const *lanes); /* of the running warp, once all its lanes are there */
void *operands[warp];
unsigned operands_given;
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

/* To a fiber of the running warp. */
[[noreturn]] CHANGES_STACKS void enter(size_t index)
{
    fiber &f = fibers[index];
    current = index;
    threadIdx.x = (unsigned)index - (blockIdx.x - first_block) * blockDim.x;
    if (f.started)
        jump(f.left);
    f.started = true;
    setcontext(f.start.get());
    abort();
}

/* The first fiber of a warp comes from the scheduler, the others from the one before. */
CHANGES_STACKS void continue_fiber(void *fake_stack)
{
    const bool first = current == turn.first;
    arrived(fake_stack, first ? &scheduler_stack : nullptr,
            first ? &scheduler_stack_bytes : nullptr);
}

/* Suspends a fiber until the event it waits for. The next one of its warp runs at once; the last
 * one goes back to the scheduler. */
CHANGES_STACKS void wait(waiting what)
{
    const size_t next = turn.backwards ? current - 1 : current + 1;
    const bool last = current == turn.last;
    if (current == turn.first)
        turn.state->waits = what;
    else if (turn.state->waits != what)
        stop("threads of a warp part at a barrier");
    leaving(&fibers[current].fake_stack, last ? scheduler_stack : fibers[next].stack,
            last ? scheduler_stack_bytes : stack_bytes);
    if (!__builtin_setjmp(fibers[current].left)) {
        if (last)
            jump(scheduler);
        enter(next);
    }
    continue_fiber(fibers[current].fake_stack);
}

/* A fiber runs a thread of every launch in turn, because starting a fiber takes system calls. */
CHANGES_STACKS void run_fiber(void)
{
    continue_fiber(nullptr);
    for (;;) {
        (*body)();
        if (!fibers[current].copies.empty())
            stop("a copy to shared memory is not waited for");
        wait(FINISHED);
    }
}

/* Runs each fiber of the warp to its next wait. */
CHANGES_STACKS void resume(void)
{
    leaving(&scheduler_fake_stack, fibers[turn.first].stack, stack_bytes);
    if (!__builtin_setjmp(scheduler))
        enter(turn.first);
    arrived(scheduler_fake_stack, nullptr, nullptr);
}

/* The operation of a warp for which its lanes have waited, if they have for one. */
void operate(void)
{
    if (operands_given == 0)
        return;
    if (operands_given != warp)
        stop("threads of a warp part at an operation");
    operation(operands);
    operands_given = 0;
}

/* Runs the threads first to last of a block until all wait for others or are finished. */
void run_warp(warp_state *state, size_t first, size_t last, bool backwards)
{
    turn = {backwards ? last : first, backwards ? first : last, backwards, state};
    do {
        resume();
        operate();
    } while (state->waits == WARP);
}

size_t warps_of_block(void)
{
    return (blockDim.x + warp - 1) / warp;
}

bool all_wait(size_t first, size_t last, waiting what)
{
    for (size_t w = first; w < last; w++)
        if (warps[w].waits != what)
            return false;
    return true;
}

bool can_run(const warp_state &w)
{
    return w.waits == NOTHING || (w.waits == TRANSACTIONS && w.barrier->phase != w.phase);
}

/* If all warps of a group wait for this, none does any more. */
bool release(size_t first, size_t last, waiting what)
{
    if (!all_wait(first, last, what))
        return false;
    for (size_t w = first; w < last; w++)
        warps[w].waits = NOTHING;
    return true;
}

void make_fibers(size_t count)
{
    warps.assign(cluster_blocks * warps_of_block(), {NOTHING, nullptr, 0});
    for (size_t i = 0; i < count; i++) {
        fiber &f = fibers[i];
        if (f.stack)
            continue;
        f.stack = new char[stack_bytes];
        f.start.reset(new ucontext_t);
        getcontext(f.start.get());
        f.start->uc_stack.ss_sp = f.stack;
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
    const size_t threads = blockDim.x, begin = rank * threads;
    const size_t own = warps_of_block(), first_warp = rank * own;
    const bool backwards = (first_block / cluster_blocks + rank) % 2;
    bool any = false, again = true;
    blockIdx = dim3(first_block + rank);
    while (again) {
        again = false;
        for (size_t i = 0; i < own; i++) {
            const size_t w = backwards ? own - 1 - i : i, last = std::min((w + 1) * warp, threads);
            warp_state *state = &warps[first_warp + w];
            if (!can_run(*state))
                continue;
            run_warp(state, begin + w * warp, begin + last - 1, backwards);
            again = true;
        }
        any |= again;
        again |= release(first_warp, first_warp + own, BLOCK);
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
        const size_t begin = m.rank * warps_of_block();
        if (all_wait(begin, begin + warps_of_block(), FINISHED))
            stop("a message to a block that has ended");
        *m.place = m.value;
        m.barrier->bytes -= (int32_t)sizeof(m.value);
        if (end_phase(m.barrier))
            return true;
    }
    return false;
}

[[noreturn]] void stop_waiting(void)
{
    for (const warp_state &w : warps)
        if (w.waits == TRANSACTIONS)
            stop("a phase of a transaction barrier does not end");
    for (const warp_state &w : warps)
        if (w.waits == BLOCK)
            stop("threads of a block part at a barrier");
    stop("blocks of a cluster part at a barrier");
}

/* Messages travel as long as a block can run. */
void run_cluster(void)
{
    const bool backwards = first_block / cluster_blocks % 2;
    bool any = true;
    make_fibers(cluster_blocks * blockDim.x);
    while (any) {
        any = false;
        for (unsigned i = 0; i < cluster_blocks; i++)
            any |= run_block(backwards ? cluster_blocks - 1 - i : i);
        any = any || release(0, warps.size(), CLUSTER) || deliver();
    }
    if (!all_wait(0, warps.size(), FINISHED))
        stop_waiting();
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

void emulator_operate(void *own, void (*all)(void *const *lanes))
{
    if (blockDim.x % warp != 0 || (operands_given > 0 && all != operation))
        stop("an operation of a warp that the emulator does not know");
    operation = all;
    operands[threadIdx.x % warp] = own;
    operands_given++;
    wait(WARP);
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
    turn.state->barrier = barrier_at(barrier);
    turn.state->phase = (uint8_t)parity;
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
