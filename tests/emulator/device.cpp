/* SPDX-License-Identifier: MIT */
/* The device and its faults, its memory, and errors. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <map>

#include "cuda_runtime.h"
#include "streams.h"

bool emulator_has_fault(const char *name)
{
    const char *fault = getenv("EMULATOR_FAULT");
    return fault && strcmp(fault, name) == 0;
}

size_t emulator_shared_limit(void)
{
    const char *limit = getenv("EMULATOR_SHARED");
    return limit ? std::min<size_t>(strtoull(limit, nullptr, 10), emulator_most_shared)
                 : emulator_most_shared;
}

unsigned emulator_cluster_limit(void)
{
    const char *limit = getenv("EMULATOR_CLUSTER");
    return limit ? (unsigned)strtoul(limit, nullptr, 10) : 16;
}

static int capability(void)
{
    return emulator_cluster_limit() > 1 ? 9 : 8;
}

static std::map<void *, size_t> allocated; /* bytes of device memory, by address */
static size_t allocated_bytes;

static size_t memory_limit(void)
{
    const char *limit = getenv("EMULATOR_MEMORY");
    return limit ? strtoull(limit, nullptr, 10) : (size_t)1 << 34;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorDevicesUnavailable ? "cudaErrorDevicesUnavailable" : "emulated error";
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

static int device_count(void)
{
    const char *devices = getenv("EMULATOR_DEVICES");
    return devices ? atoi(devices) : 1;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = device_count();
    if (emulator_has_fault("no_driver") || emulator_has_fault("old_driver"))
        return cudaErrorInsufficientDriver;
    return emulator_has_fault("no_device") ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    snprintf(properties->name, sizeof(properties->name), "emulated on the CPU");
    properties->major = capability();
    properties->minor = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? capability()
                                                            : (int)emulator_shared_limit();
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *)
{
    out->sharedSizeBytes = 0;
    out->ptxVersion = emulator_has_fault("old_code") ? 80 : 90;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = emulator_has_fault("no_driver")    ? 0
               : emulator_has_fault("old_driver") ? 12040
                                                  : 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int index)
{
    if (emulator_has_fault("busy"))
        return cudaErrorDevicesUnavailable;
    return index >= 0 && index < device_count() ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMalloc(void **array, size_t bytes)
{
    const emulator_turn turn;
    *array = nullptr;
    if (emulator_spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    if (bytes > memory_limit() - allocated_bytes)
        return cudaErrorMemoryAllocation;
    *array = malloc(bytes);
    if (!*array)
        return cudaErrorMemoryAllocation;
    memset(*array, 0xff, bytes);
    allocated[*array] = bytes;
    allocated_bytes += bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void *array)
{
    const emulator_turn turn;
    if (emulator_spoils_capture())
        return cudaErrorStreamCaptureUnsupported;
    if (array)
        allocated_bytes -= allocated.at(array);
    allocated.erase(array);
    free(array);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
    const emulator_turn turn;
    *total = memory_limit();
    *left = *total - allocated_bytes;
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *array, int value, size_t bytes, cudaStream_t stream)
{
    emulator_submit(stream, [=] { memset(array, value, bytes); });
    return cudaSuccess;
}
