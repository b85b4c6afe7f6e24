/* SPDX-License-Identifier: MIT */
#include "tools/waiting.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"

void mgk_wait_briefly(const char *name, char **argv)
{
    char path[PATH_MAX];
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    /* By its name, which processes then show; the link itself would call every program "exe". */
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    /* It is another one where the loader was started with the program as its argument, or an
     * interpreter of another processor. */
    if (mgk_ends_with(path, name) && setenv("GOMP_SPINCOUNT", "1000", 1) == 0)
        execv(path, argv);
}
