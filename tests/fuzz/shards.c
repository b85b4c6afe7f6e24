/* SPDX-License-Identifier: MIT */
/* The JSON index of a checkpoint in two files, which are good and always the same. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "fuzz/tensors.h"
#include "model/containers/safetensors.h"

static void write_shard(const char *name, const char *first, const char *second)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    char path[FUZZ_PATH];
    mgk_tensor_view views[2];
    const char *const names[] = {first, second};
    for (int i = 0; i < 2; i++)
        views[i] = (mgk_tensor_view){.name = names[i],
                                     .storage = MGK_DTYPE_F32,
                                     .axes = 2,
                                     .shape = {2, 3},
                                     .source = MGK_DTYPE_F32,
                                     .data = values};
    fuzz_path(name, path);
    if (mgk_safetensors_write(path, true, views, 2, NULL, 0) != STATUS_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool written;
    if (!written) {
        write_shard("1.safetensors", "a", "b.weight");
        write_shard("2.safetensors", "c", "d.weight");
        written = true;
    }
    static const uint8_t nothing[1];
    fuzz_write("model.safetensors.index.json", size > 0 ? bytes : nothing, size);
    fuzz_tensors(fuzz_folder());
    return 0;
}
