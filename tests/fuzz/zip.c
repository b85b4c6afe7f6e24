/* SPDX-License-Identifier: MIT */
/* ZIP archives: every entry, whole and in parts. */
#include "base/zip.h"
#include "base/memory.h"
#include "fuzz/fuzz.h"

enum { LARGE = 1 << 20 }; /* bytes */

static void read_entry(mgk_zip *zip, const mgk_zip_entry *entry)
{
    unsigned char *bytes, part[16];
    if (mgk_zip_read_all(zip, entry, LARGE, &bytes) == STATUS_OK)
        mgk_free(bytes);
    if (entry->size < sizeof(part) || entry->size > LARGE)
        return;
    mgk_zip_read(zip, entry, entry->size - sizeof(part), sizeof(part), part);
    mgk_zip_read(zip, entry, entry->size / 2, sizeof(part) / 2, part);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[FUZZ_PATH];
    mgk_zip *zip;
    int file = fuzz_file_open(bytes, size, path);
    if (mgk_zip_open(path, &zip) == STATUS_OK) {
        for (size_t i = 0; i < mgk_zip_count(zip); i++)
            read_entry(zip, mgk_zip_at(zip, i));
        mgk_zip_close(zip);
    }
    fuzz_file_close(file);
    return 0;
}
