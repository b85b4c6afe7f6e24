/* SPDX-License-Identifier: MIT */
/* Describes the machine: processor, kernels, memory and GPU. */
#include <stdio.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/memory.h"
#include "describe/describe.h"
#include "kernels/blas.h"
#include "kernels/cpu/variant.h"
#include "kernels/processor.h"

static mgk_status add_text(cJSON *tree, const char *name, const char *text)
{
    return mgk_describe_add(tree, name, cJSON_CreateString(text));
}

static mgk_status add_number(cJSON *tree, const char *name, double value)
{
    return mgk_describe_add(tree, name, cJSON_CreateNumber(value));
}

static mgk_status add_processor(cJSON *tree)
{
    char name[128], level[32] = "generic";
    mgk_processor_name(name, sizeof(name));
    if (mgk_processor_level() > 0)
        snprintf(level, sizeof(level), "x86-64-v%d", mgk_processor_level());
    TRY(add_text(tree, "processor", name));
    TRY(add_text(tree, "processor_level", level));
    TRY(add_number(tree, "cores", (double)sysconf(_SC_NPROCESSORS_ONLN)));
    return add_number(tree, "threads", mgk_default_threads());
}

/* A missing one is replaced by the reason. */
static mgk_status add_kernels(cJSON *tree)
{
    static const char *const choosers[] = {[MGK_BLAS_BY_OPENBLAS] = "OpenBLAS",
                                           [MGK_BLAS_BY_TOOLKIT] = "the toolkit",
                                           [MGK_BLAS_BY_USER] = "OPENBLAS_CORETYPE"};
    mgk_cpu_variant variant;
    if (mgk_blas_open() != STATUS_OK)
        return add_text(tree, "blas", mgk_fail_message());
    const mgk_blas_choice *blas = mgk_blas_chosen();
    TRY(add_text(tree, "kernels",
                 mgk_cpu_choose_variant(&variant) == STATUS_OK ? variant.name
                                                               : mgk_fail_message()));
    TRY(add_text(tree, "blas", blas->version));
    TRY(add_text(tree, "blas_kernels", blas->kernels));
    TRY(add_text(tree, "blas_kernels_chosen_by", choosers[blas->chooser]));
    TRY(mgk_describe_add(tree, "blas_below_processor", cJSON_CreateBool(blas->below)));
    return add_text(tree, "blas_library", blas->path);
}

static mgk_status add_memory(cJSON *tree)
{
    const double page = (double)sysconf(_SC_PAGESIZE);
    TRY(add_number(tree, "memory_bytes", (double)sysconf(_SC_PHYS_PAGES) * page));
    return add_number(tree, "memory_free_bytes", (double)sysconf(_SC_AVPHYS_PAGES) * page);
}

static mgk_status add_cuda(cJSON *tree)
{
    mgk_device *device;
    if (mgk_device_open("cuda", MGK_SINGLE, 0, &device) != STATUS_OK)
        return add_text(tree, "cuda", mgk_fail_message());
    mgk_status status = add_text(tree, "cuda", device->name);
    mgk_device_close(device);
    return status;
}

mgk_status mgk_describe_host(cJSON *tree)
{
    TRY(add_processor(tree));
    TRY(add_kernels(tree));
    TRY(add_memory(tree));
    return add_cuda(tree);
}
