/* SPDX-License-Identifier: MIT */
/* Files of llama2.c. */
#include "fuzz/fuzz.h"
#include "fuzz/tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[FUZZ_PATH];
    int file = fuzz_file_open(bytes, size, path);
    fuzz_tensors(path);
    fuzz_file_close(file);
    return 0;
}
