/* SPDX-License-Identifier: MIT */
/* fsync that fails when it is told to. The linker redirects the library's calls: --wrap=fsync. */
#ifndef MGK_TEST_FAILING_SYNC_H
#define MGK_TEST_FAILING_SYNC_H

#include <errno.h>

static int syncs_left = -1; /* before one that fails; −1: none fails */

int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor);

int __wrap_fsync(int descriptor)
{
    if (syncs_left < 0 || syncs_left-- > 0)
        return __real_fsync(descriptor);
    errno = EIO;
    return -1;
}

#endif
