/* SPDX-License-Identifier: MIT */
#include "store/hdf5/placed_write.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool mgk_placed_open(const char *path, int flags, mgk_placed *out)
{
    *out = (mgk_placed){.descriptor = open(path, flags | O_CLOEXEC, 0666)};
    if (out->descriptor >= 0)
        mgk_direct_open(path, &out->direct);
    return out->descriptor >= 0;
}

void mgk_placed_write(mgk_placed *file, uint64_t address, size_t size, const void *bytes,
                      int *error)
{
    const unsigned char *next = bytes;
    if (*error == 0) {
        const size_t written = mgk_direct_write(&file->direct, address, size, next, error);
        next += written;
        address += written;
        size -= written;
    }
    while (size > 0 && *error == 0) {
        const ssize_t put = pwrite(file->descriptor, next, size, (off_t)address);
        if (put < 0 && errno != EINTR)
            *error = errno;
        if (put > 0) {
            next += put;
            address += (uint64_t)put;
            size -= (size_t)put;
        }
    }
}

void mgk_placed_close(mgk_placed *file, int *error)
{
    mgk_direct_close(&file->direct);
    if (close(file->descriptor) != 0 && *error == 0)
        *error = errno;
}
