/* HDF5 files: stores of ours, and arrays of others. */
#include "fuzz/arrays.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_arrays(bytes, size);
    return 0;
}
