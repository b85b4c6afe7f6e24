/* SPDX-License-Identifier: MIT */
/*
 * Streams of the emulator. Calls run at once, except copies to page-locked memory: these are
 * delayed until the host waits for them, because it may not rely on them earlier. So a missing
 * wait, or an array that is overwritten too early, gives wrong numbers.
 */
#ifndef MGK_TESTS_EMULATOR_STREAMS_H
#define MGK_TESTS_EMULATOR_STREAMS_H

#include <functional>

#include "cuda_runtime.h"

/* Runs the call, or adds it to the graph that the stream captures. */
void emulator_submit(cudaStream_t stream, const std::function<void()> &call);

/* Whether a stream is capturing; if so, the capture fails. */
bool emulator_spoils_capture(void);

#endif
