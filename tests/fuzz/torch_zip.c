/* SPDX-License-Identifier: MIT */
/* PyTorch's ZIP container. The bytes are an archive, or a pickle in one. */
#include "fuzz/archive.h"
#include "fuzz/tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[FUZZ_PATH];
    int file = fuzz_archive_open(bytes, size, path);
    fuzz_tensors(path);
    fuzz_file_close(file);
    return 0;
}
