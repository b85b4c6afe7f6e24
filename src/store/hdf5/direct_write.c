/* SPDX-License-Identifier: MIT */
#include "store/hdf5/direct_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { PIECE = 1 << 20 }; /* bytes per write, and of the copy of unaligned data */

void mgk_direct_open(const char *path, mgk_direct *out)
{
    *out = (mgk_direct){0};
#ifdef O_DIRECT
    int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_DIRECT);
    if (descriptor < 0)
        return;
    if (mgk_alloc(PIECE, 1, &out->memory) == STATUS_OK)
        out->descriptor = descriptor;
    else
        close(descriptor);
#else
    (void)path;
#endif
}

void mgk_direct_close(mgk_direct *direct)
{
    if (direct->memory)
        close(direct->descriptor);
    mgk_free(direct->memory);
    *direct = (mgk_direct){0};
}

/* The kernel requires memory to be aligned like file offsets: returns `bytes`, or an
 * aligned copy. */
static const unsigned char *aligned(const mgk_direct *direct, const unsigned char *bytes,
                                    size_t size)
{
    if ((uintptr_t)bytes % MGK_DIRECT_ALIGNMENT == 0)
        return bytes;
    return memcpy(direct->memory, bytes, size);
}

size_t mgk_direct_write(mgk_direct *direct, uint64_t address, size_t size, const void *buffer,
                        int *error)
{
    const unsigned char *bytes = buffer;
    size_t whole = size - size % MGK_DIRECT_ALIGNMENT, done = 0;
    if (!direct->memory || size < MGK_DIRECT_LEAST || address % MGK_DIRECT_ALIGNMENT != 0)
        return 0;
    while (done < whole) {
        size_t piece = whole - done < PIECE ? whole - done : PIECE;
        ssize_t put = pwrite(direct->descriptor, aligned(direct, bytes + done, piece), piece,
                             (off_t)(address + done));
        if (put < 0 && errno == EINTR)
            continue;
        /* EINVAL means that the file system refuses direct writes; any other failure would
         * repeat. */
        if (put < 0 && errno != EINVAL)
            *error = errno;
        /* After a partial block the next offset is not aligned. */
        if (put <= 0 || put % MGK_DIRECT_ALIGNMENT != 0) {
            mgk_direct_close(direct);
            break;
        }
        done += (size_t)put;
    }
    return done;
}
