#include "store/hdf5/direct_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { PIECE = 1 << 20 }; /* bytes written at a time, and copied where they are not aligned */

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

/* Memory must be aligned like places in the file: `bytes`, or a copy where they are not. */
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
        /* EINVAL is how a file system refuses this way of writing; nothing else goes away by
         * another. */
        if (put < 0 && errno != EINVAL)
            *error = errno;
        /* An incomplete block, too, is more than can be gone on with. */
        if (put <= 0 || put % MGK_DIRECT_ALIGNMENT != 0) {
            mgk_direct_close(direct);
            break;
        }
        done += (size_t)put;
    }
    return done;
}
