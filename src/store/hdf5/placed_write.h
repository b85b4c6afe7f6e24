/* SPDX-License-Identifier: MIT */
/*
 * A file that is written at addresses which the caller knows. Several processes may write one file,
 * each at addresses of its own.
 */
#ifndef MGK_STORE_PLACED_WRITE_H
#define MGK_STORE_PLACED_WRITE_H

#include <stdbool.h>

#include "base/status.h"
#include "store/hdf5/direct_write.h"

typedef struct mgk_placed {
    int descriptor;
    mgk_direct direct; /* of large writes */
} mgk_placed;

/* Opens the file; `flags` are those of open(2). False: errno says why. */
bool mgk_placed_open(const char *path, int flags, mgk_placed *out);

/* Writes `size` bytes at `address`, by one thread at a time. A failure stores its errno in *error;
 * if *error is set already, the call does nothing. */
void mgk_placed_write(mgk_placed *file, uint64_t address, size_t size, const void *bytes,
                      int *error);

/* Closes an open file. A failure stores its errno in *error, unless that is set already. */
void mgk_placed_close(mgk_placed *file, int *error);

#endif
