#include "base/unfinished.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum { MOST = 64 }; /* files that are written at a time: programs write two or three */

static _Atomic(char *) paths[MOST]; /* NULL: free */
static atomic_bool ending;

/* Puts `after` where `before` is; false where it is nowhere. */
static bool replace(char *before, char *after)
{
    for (int i = 0; i < MOST; i++) {
        char *expected = before;
        if (atomic_compare_exchange_strong(&paths[i], &expected, after))
            return true;
    }
    return false;
}

void mgk_unfinished_add(char *path)
{
    replace(NULL, path);
}

void mgk_unfinished_end(char *path)
{
    if (replace(path, NULL))
        return;
    /* A handler in another thread may be using it: this one goes no further. */
    while (atomic_load(&ending))
        pause();
}

void mgk_unfinished_remove(void)
{
    atomic_store(&ending, true);
    for (int i = 0; i < MOST; i++) {
        char *path = atomic_exchange(&paths[i], NULL);
        if (path)
            unlink(path);
    }
}
