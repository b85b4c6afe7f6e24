/* SPDX-License-Identifier: MIT */
/* Data of the paper's code: a pickle of samples, and a corpus, an archive of PyTorch or its pickle.
 */
#include "run/authors_data.h"

#include <stdlib.h>

#include "base/memory.h"
#include "fuzz/archive.h"

/* Every id must be there; a failure leaves none. */
static void use(mgk_status status, const mgk_token_array *array)
{
    volatile int64_t sum = 0;
    for (size_t i = 0; status == STATUS_OK && i < array->rows * array->columns; i++)
        sum += array->ids[i] & 1;
    if (status != STATUS_OK && array->ids)
        abort();
    mgk_free(array->ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[FUZZ_PATH];
    mgk_token_array array;
    bool found;
    int file = fuzz_file_open(bytes, size, path);
    use(mgk_lra_pickle_read(path, &array), &array);
    fuzz_file_close(file);
    file = fuzz_archive_open(bytes, size, path);
    use(mgk_corpus_read(path, &found, &array), &array);
    fuzz_file_close(file);
    return 0;
}
