/* SPDX-License-Identifier: MIT */
/* HDF5 files: attention stores, and arrays of other software. The bytes are a file, or changes to a
 * good store: the fuzzer cannot instrument the library and seldom finds a valid file. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuzz/arrays.h"
#include "fuzz/fuzz.h"
#include "store/fixture.h"

enum { TOKENS = 3, STORE_SIZE = 1 << 17, CHANGE = 4 };

static char path[FUZZ_PATH];

static const char *text_of(const void *context, int32_t id)
{
    (void)context;
    return id % 2 ? "##text" : "text";
}

/* A complete store as bytes [*size], the same for every call. */
static uint8_t *good_store(size_t *size)
{
    static uint8_t good[STORE_SIZE], copy[STORE_SIZE];
    static size_t good_size;
    if (good_size == 0) {
        mgk_mapping file;
        mgk_store_description description = fixture_description(TOKENS, STORE_F32, FIXTURE_ALL);
        description.token_text = (mgk_token_text){.of = text_of, .subword = "##"};
        if (fixture_store(path, &description, STORE_F32, 1) != STATUS_OK ||
            mgk_map_file(path, &file) != STATUS_OK || file.size > STORE_SIZE)
            abort();
        memcpy(good, file.data, file.size);
        good_size = file.size;
        mgk_unmap_file(&file);
    }
    memcpy(copy, good, good_size);
    *size = good_size;
    return copy;
}

/* Applies changes: three bytes are an offset, one is the new value. */
static uint8_t *change_store(const uint8_t *changes, size_t count, size_t *size)
{
    uint8_t *store = good_store(size);
    for (size_t i = 0; i + CHANGE <= count; i += CHANGE) {
        size_t place = changes[i] | (size_t)changes[i + 1] << 8 | (size_t)changes[i + 2] << 16;
        store[place % *size] = changes[i + 3];
    }
    return store;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t signature[] = {0x89, 'H', 'D', 'F'};
    bool whole = size >= sizeof(signature) && memcmp(bytes, signature, sizeof(signature)) == 0;
    size_t store_size = size;
    fuzz_path("file.h5", path); /* HDF5 needs a named file in a folder */
    const uint8_t *store = whole ? bytes : change_store(bytes, size, &store_size);
    fuzz_write("file.h5", store, store_size);
    fuzz_arrays(path);
    return 0;
}
