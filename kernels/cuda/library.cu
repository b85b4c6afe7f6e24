/* SPDX-License-Identifier: MIT */
/* The library's side of library.h: its entry, and the mgk_fail that its code calls. */
#include <atomic>
#include <stdarg.h>
#include <stdio.h>

extern "C" {
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"
}

static std::atomic<mgk_fail_function *> fail_in_program;

mgk_status mgk_fail(mgk_status status, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return fail_in_program.load()(status, "%s", message);
}

__attribute__((visibility("default"))) mgk_status
mgk_cuda_library_open(mgk_fail_function *fail, int index, mgk_precision precision, int threads,
                      mgk_device **out)
{
    fail_in_program = fail;
    return mgk_cuda_open(index, precision, threads, out);
}
