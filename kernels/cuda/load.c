/* SPDX-License-Identifier: MIT */
/* The program's side of the CUDA backend, which is loaded when a GPU is requested. */
#include <dlfcn.h>
#include <string.h>

#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"

/* The library stays loaded: CUDA does not support unloading well. */
static mgk_status load(mgk_cuda_entry **entry)
{
    void *library = dlopen("libmgk_cuda.so." MGK_VERSION, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "mgk_cuda_library_open") : NULL;
    if (!symbol)
        return mgk_fail(STATUS_DEVICE, "the CUDA backend cannot be loaded: %s", dlerror());
    memcpy(entry, &symbol, sizeof symbol); /* ISO C cannot cast an object to a function pointer */
    return STATUS_OK;
}

mgk_status mgk_cuda_open(int index, mgk_precision precision, int threads, mgk_device **out)
{
    mgk_cuda_entry *entry = NULL;
    *out = NULL;
    TRY(load(&entry));
    return entry(mgk_fail, index, precision, threads, out);
}
