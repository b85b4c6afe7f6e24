/* SPDX-License-Identifier: MIT */
/*
 * Large writes that bypass the kernel's page cache. The kernel would have to allocate, fill and
 * flush every page of gigabytes that are written once: that takes a core longer than the disk
 * needs, and evicts useful data from memory.
 */
#ifndef MGK_STORE_DIRECT_WRITE_H
#define MGK_STORE_DIRECT_WRITE_H

#include <stddef.h>
#include <stdint.h>

enum {
    MGK_DIRECT_ALIGNMENT = 4096, /* of file offsets; the largest block of usual disks */
    MGK_DIRECT_LEAST = 1 << 18   /* bytes; the kernel gathers smaller writes better */
};

/* A file open for direct writes; zeroed it takes no writes. */
typedef struct mgk_direct {
    int descriptor; /* valid if memory is not NULL */
    void *memory;   /* NULL: closed */
} mgk_direct;

/* Opens an existing file. If its file system or memory does not allow direct writes, *out takes
 * none. */
void mgk_direct_open(const char *path, mgk_direct *out);
void mgk_direct_close(mgk_direct *direct); /* a zeroed one is accepted */

/*
 * Writes a leading part of the buffer at `address` and returns its size: whole blocks if the write
 * is large and aligned, else 0. The caller writes the rest normally. If the file refuses direct
 * writes (EINVAL), `direct` takes no more writes. Any other failure stores an errno in *error and
 * should not be retried; without a failure *error is unchanged.
 */
size_t mgk_direct_write(mgk_direct *direct, uint64_t address, size_t size, const void *buffer,
                        int *error);

#endif
