/* SPDX-License-Identifier: MIT */
#include "kernels/attention/devices.h"

#include <string.h>

/* Their operations have a CUDA version in kernels/cuda. */
static const char *const on_cuda[] = {"softmax", "mgk", "smgk", "linear", "mlk", "smlk"};

bool mgk_attention_on_cuda(const mgk_attention_kind *kind)
{
    for (size_t i = 0; i < sizeof(on_cuda) / sizeof(on_cuda[0]); i++)
        if (strcmp(kind->name, on_cuda[i]) == 0)
            return true;
    return false;
}
