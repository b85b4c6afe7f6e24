/* SPDX-License-Identifier: MIT */
#include "tools/waiting.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

void mgk_wait_briefly(char **argv)
{
    char path[PATH_MAX];
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    /* By its name, which processes then show; the link itself would call every program "exe". */
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length <= 0 || setenv("GOMP_SPINCOUNT", "1000", 1) != 0)
        return;
    path[length] = '\0';
    execv(path, argv);
}
