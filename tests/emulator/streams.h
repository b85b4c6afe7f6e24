/* SPDX-License-Identifier: MIT */
/*
 * Streams of the emulator. Calls run at once, except copies to page-locked memory: these are
 * delayed until the host waits for them, because it may not rely on them earlier. So a missing
 * wait, or an array that is overwritten too early, gives wrong numbers.
 */
#ifndef MGK_TESTS_EMULATOR_STREAMS_H
#define MGK_TESTS_EMULATOR_STREAMS_H

#include <functional>
#include <mutex>

#include "cuda_runtime.h"

/*
 * Host threads take turns: every call that uses the emulator's state holds this lock to its end, a
 * launch until its kernel has ended. So work of several streams alternates between calls.
 */
struct emulator_turn {
    std::lock_guard<std::recursive_mutex> held;
    emulator_turn();
};

/* Runs the call, or adds it to the graph that the stream captures. */
void emulator_submit(cudaStream_t stream, const std::function<void()> &call);

/* Whether a stream is capturing; if so, the capture fails. */
bool emulator_spoils_capture(void);

#endif
