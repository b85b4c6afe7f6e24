/* SPDX-License-Identifier: MIT */
#include "base/unfinished.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum { MOST = 512 }; /* files and locks at a time: mgk-train locks up to 256 models that it keeps */

static _Atomic(const char *) paths[MOST]; /* NULL: unused */
static atomic_bool ending;

/* Replaces `before` by `after`; false if it is not in the list. */
static bool replace(const char *before, const char *after)
{
    for (int i = 0; i < MOST; i++) {
        const char *expected = before;
        if (atomic_compare_exchange_strong(&paths[i], &expected, after))
            return true;
    }
    return false;
}

void mgk_unfinished_add(const char *path)
{
    replace(NULL, path);
}

void mgk_unfinished_end(const char *path)
{
    if (replace(path, NULL))
        return;
    /* A handler in another thread may be using the path: wait for the end of the process. */
    while (atomic_load(&ending))
        pause();
}

void mgk_unfinished_remove(void)
{
    atomic_store(&ending, true);
    for (int i = 0; i < MOST; i++) {
        const char *path = atomic_exchange(&paths[i], NULL);
        if (path)
            unlink(path);
    }
}
