/*
 * Large writes past the kernel's cache of pages. Of gigabytes that are written once, every page
 * would have to be found, filled and forced out in the end, which takes a core longer than the disk
 * needs, and drives what is of use to others from memory.
 */
#ifndef MGK_STORE_DIRECT_WRITE_H
#define MGK_STORE_DIRECT_WRITE_H

#include <stddef.h>
#include <stdint.h>

enum {
    MGK_DIRECT_ALIGNMENT = 4096, /* of places in the file; the largest block of usual disks */
    MGK_DIRECT_LEAST = 1 << 18   /* bytes; smaller writes are better gathered by the kernel */
};

/* A way into a file; a zeroed one takes nothing. */
typedef struct mgk_direct {
    int descriptor; /* meaningful where there is memory */
    void *memory;   /* NULL: closed */
} mgk_direct;

/* Opens the existing file; where its file system or memory do not allow that, *out takes nothing.
 */
void mgk_direct_open(const char *path, mgk_direct *out);
void mgk_direct_close(mgk_direct *direct); /* a zeroed one is accepted */

/*
 * Writes the first bytes of the buffer at `address` and says how many: whole blocks of a large
 * write at an aligned place, else none. The rest is left to ordinary writing. Where the file cannot
 * be written so (EINVAL), nothing more is taken; any other failure goes to *error, an errno, and
 * should not be tried again: *error is left alone where there is none.
 */
size_t mgk_direct_write(mgk_direct *direct, uint64_t address, size_t size, const void *buffer,
                        int *error);

#endif
