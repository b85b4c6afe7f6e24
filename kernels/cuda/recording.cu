/* SPDX-License-Identifier: MIT */
/* A recording is a CUDA graph: hundreds of launches cost the host as much as one. */
#include <stdlib.h>

#include "kernels/cuda/operations.h"

struct mgk_recording {
    mgk_status (*work)(void *);
    void *context;
    bool ran; /* once without a graph, which loads the kernels and sizes the scratch */
    cudaGraphExec_t graph;
    const void *scratch; /* the scratch memory of the graph, and its size */
    size_t scratch_bytes;
};

mgk_status mgk_cuda_record(mgk_device *device, mgk_status (*work)(void *), void *context,
                           mgk_recording **out)
{
    (void)device;
    *out = (mgk_recording *)calloc(1, sizeof(**out));
    if (!*out)
        return mgk_fail(STATUS_MEMORY, "no memory for a recording");
    (*out)->work = work;
    (*out)->context = context;
    return STATUS_OK;
}

static void drop_graph(mgk_recording *recording)
{
    if (recording->graph)
        cudaGraphExecDestroy(recording->graph);
    recording->graph = NULL;
}

/* Reports the first failure: the others follow from it. */
static mgk_status capture(mgk_device *device, mgk_recording *recording)
{
    mgk_cuda *cuda = mgk_cuda_of(device);
    cudaGraph_t graph = NULL;
    drop_graph(recording);
    TRY(mgk_cuda_check(cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal),
                       "cudaStreamBeginCapture"));
    cuda->recording = true;
    mgk_status status = recording->work(recording->context);
    cuda->recording = false;
    cudaError_t ended = cudaStreamEndCapture(cuda->stream, &graph);
    if (status == STATUS_OK)
        status = mgk_cuda_check(ended, "cudaStreamEndCapture");
    if (status == STATUS_OK)
        status = mgk_cuda_check(cudaGraphInstantiate(&recording->graph, graph, 0),
                                "cudaGraphInstantiate");
    if (graph)
        cudaGraphDestroy(graph);
    if (status != STATUS_OK)
        cudaGetLastError(); /* otherwise the next launch would report it again */
    recording->scratch = cuda->scratch;
    recording->scratch_bytes = cuda->scratch_bytes;
    return status;
}

/* If other work has grown the scratch, it has usually moved: the graph is captured again. */
mgk_status mgk_cuda_replay(mgk_device *device, mgk_recording *recording)
{
    mgk_cuda *cuda = mgk_cuda_of(device);
    if (!recording->ran) {
        TRY(recording->work(recording->context));
        recording->ran = true;
        return STATUS_OK;
    }
    TRY(mgk_cuda_enter(device));
    bool moved =
        recording->scratch != cuda->scratch || recording->scratch_bytes != cuda->scratch_bytes;
    if (!recording->graph || moved)
        TRY(capture(device, recording));
    return mgk_cuda_check(cudaGraphLaunch(recording->graph, cuda->stream), "cudaGraphLaunch");
}

void mgk_cuda_release_recording(mgk_device *device, mgk_recording *recording)
{
    if (recording && mgk_cuda_enter(device) == STATUS_OK)
        drop_graph(recording);
    free(recording);
}
