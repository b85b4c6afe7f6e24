/* SPDX-License-Identifier: MIT */
/* cuSOLVER's handle and errors, shared by the operations. */
#include "kernels/cuda/spectral/solver.h"

mgk_status mgk_cuda_check_solver(cusolverStatus_t error, const char *what)
{
    static const struct {
        cusolverStatus_t status;
        const char *name;
    } names[] = {
        {CUSOLVER_STATUS_NOT_INITIALIZED, "CUSOLVER_STATUS_NOT_INITIALIZED"},
        {CUSOLVER_STATUS_ALLOC_FAILED, "CUSOLVER_STATUS_ALLOC_FAILED"},
        {CUSOLVER_STATUS_INVALID_VALUE, "CUSOLVER_STATUS_INVALID_VALUE"},
        {CUSOLVER_STATUS_ARCH_MISMATCH, "CUSOLVER_STATUS_ARCH_MISMATCH"},
        {CUSOLVER_STATUS_MAPPING_ERROR, "CUSOLVER_STATUS_MAPPING_ERROR"},
        {CUSOLVER_STATUS_EXECUTION_FAILED, "CUSOLVER_STATUS_EXECUTION_FAILED"},
        {CUSOLVER_STATUS_INTERNAL_ERROR, "CUSOLVER_STATUS_INTERNAL_ERROR"},
        {CUSOLVER_STATUS_NOT_SUPPORTED, "CUSOLVER_STATUS_NOT_SUPPORTED"},
        {CUSOLVER_STATUS_INVALID_WORKSPACE, "CUSOLVER_STATUS_INVALID_WORKSPACE"},
    };
    if (error == CUSOLVER_STATUS_SUCCESS)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].status == error)
            return mgk_fail(error == CUSOLVER_STATUS_ALLOC_FAILED ? STATUS_MEMORY : STATUS_DEVICE,
                            "%s: %s", what, names[i].name);
    return mgk_fail(STATUS_DEVICE, "%s: cuSOLVER status %d", what, (int)error);
}

mgk_status mgk_cuda_open_solver(mgk_device *device)
{
    mgk_cuda *cuda = mgk_cuda_of(device);
    if (!cuda->solver)
        TRY(mgk_cuda_check_solver(cusolverDnCreate(&cuda->solver), "cusolverDnCreate"));
    return mgk_cuda_check_solver(cusolverDnSetStream(cuda->solver, cuda->stream),
                                 "cusolverDnSetStream");
}
