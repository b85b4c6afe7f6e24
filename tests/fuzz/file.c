/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

int fuzz_file_open(const uint8_t *bytes, size_t size, char path[FUZZ_PATH])
{
    int file = memfd_create("fuzz", 0);
    if (file < 0)
        abort();
    for (size_t done = 0; done < size;) {
        ssize_t written = write(file, bytes + done, size - done);
        if (written < 0)
            abort();
        done += (size_t)written;
    }
    snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", file);
    return file;
}

void fuzz_file_close(int file)
{
    close(file);
}
