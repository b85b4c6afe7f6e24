/* SPDX-License-Identifier: MIT */
/* NumPy files, .npy and .npz. */
#include "fuzz/arrays.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[FUZZ_PATH];
    int file = fuzz_file_open(bytes, size, path);
    fuzz_arrays(path);
    fuzz_file_close(file);
    return 0;
}
