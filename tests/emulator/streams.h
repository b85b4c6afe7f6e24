/*
 * Streams of the emulator. Work is done as it is given, but for copies to page-locked memory, which
 * the host may not rely on before it waits: these are put off until it does. So a missing wait,
 * or an array that is written again too early, shows as a wrong number.
 */
#ifndef MGK_TESTS_EMULATOR_STREAMS_H
#define MGK_TESTS_EMULATOR_STREAMS_H

#include <functional>

#include "cuda_runtime.h"

/* Runs the call, or keeps it for the graph that the stream is captured for. */
void emulator_submit(cudaStream_t stream, const std::function<void()> &call);

/* Whether a stream is being captured, which then fails. */
bool emulator_spoils_capture(void);

#endif
