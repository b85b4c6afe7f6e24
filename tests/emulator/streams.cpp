/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <vector>

namespace
{

struct copy {
    void *to;
    const void *from;
    size_t bytes;
    uint64_t time;
};

uint64_t now; /* number of calls on all streams */
std::vector<cudaStream_t> streams;
std::map<const char *, size_t> locked; /* page-locked host memory, by address */

[[noreturn]] void stop(const char *why)
{
    fprintf(stderr, "emulator: %s\n", why);
    abort();
}

cudaStream_t capturing; /* one at a time */

} // namespace

static std::recursive_mutex turns;

emulator_turn::emulator_turn() : held(turns)
{
}

struct emulator_graph {
    std::vector<std::function<void()>> calls;
};

struct emulator_executable {
    std::vector<std::function<void()>> calls;
};

struct emulator_stream {
    uint64_t last = 0; /* `now` of its last call */
    uint64_t seen = 0; /* value of `now` up to which it waits for other streams */
    std::vector<copy> copies;
    emulator_graph *captured = nullptr; /* nullptr: calls run at once */
    bool spoilt = false;
};

struct emulator_event {
    cudaStream_t stream = nullptr;
    uint64_t time = 0;
};

static void carry_out(cudaStream_t stream, uint64_t until)
{
    std::vector<copy> &copies = stream->copies;
    while (!copies.empty() && copies.front().time <= until) {
        memcpy(copies.front().to, copies.front().from, copies.front().bytes);
        copies.erase(copies.begin());
    }
}

void emulator_submit(cudaStream_t stream, const std::function<void()> &call)
{
    const emulator_turn turn;
    if (stream->captured) {
        stream->captured->calls.push_back(call);
        return;
    }
    stream->last = ++now;
    call();
}

bool emulator_spoils_capture(void)
{
    const emulator_turn turn;
    if (capturing)
        capturing->spoilt = true;
    return capturing != nullptr;
}

/* A copy to page-locked memory is delayed until the host waits; other copies are done at once. */
static bool put_off(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    auto memory = locked.upper_bound((const char *)to);
    if (memory == locked.begin())
        return false;
    --memory;
    if ((const char *)to >= memory->first + memory->second)
        return false;
    for (cudaStream_t other : streams)
        if (other != stream && other->last > stream->seen)
            stop("a copy does not wait for what another stream was given");
    stream->copies.push_back({to, from, bytes, stream->last});
    return true;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const emulator_turn turn;
    if (stream->captured && kind != cudaMemcpyDeviceToDevice) {
        emulator_spoils_capture();
        return cudaErrorStreamCaptureUnsupported;
    }
    emulator_submit(stream, [=] {
        if (!put_off(to, from, bytes, stream))
            memcpy(to, from, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    const emulator_turn turn;
    *stream = new emulator_stream;
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    const emulator_turn turn;
    if (!stream->copies.empty())
        stop("a stream is destroyed before its copies are done");
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    const emulator_turn turn;
    if (stream->captured && emulator_spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    carry_out(stream, now);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    const emulator_turn turn;
    stream->seen = std::max(stream->seen, event->time);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = new emulator_event;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    const emulator_turn turn;
    event->stream = stream;
    event->time = std::max(stream->last, stream->seen);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    const emulator_turn turn;
    if (event->stream)
        carry_out(event->stream, event->time);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **array, size_t bytes)
{
    const emulator_turn turn;
    *array = malloc(bytes);
    if (!*array)
        return cudaErrorMemoryAllocation;
    memset(*array, 0xff, bytes);
    locked[(const char *)*array] = bytes;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *array)
{
    const emulator_turn turn;
    for (cudaStream_t stream : streams)
        for (const copy &c : stream->copies)
            if (array && (const char *)c.to >= (const char *)array &&
                (const char *)c.to < (const char *)array + locked[(const char *)array])
                stop("memory is released before a copy to it is done");
    locked.erase((const char *)array);
    free(array);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    const emulator_turn turn;
    if (capturing)
        return cudaErrorStreamCaptureUnsupported;
    stream->captured = new emulator_graph;
    stream->spoilt = false;
    capturing = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    const emulator_turn turn;
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
    const emulator_turn turn;
    if (stream->captured && emulator_spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    for (const std::function<void()> &call : executable->calls)
        emulator_submit(stream, call);
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
