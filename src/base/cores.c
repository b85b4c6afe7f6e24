/* SPDX-License-Identifier: MIT */
#include "base/cores.h"

#include <limits.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 2 * PATH_MAX };

/* Reads the first line of a file; false: there is none. */
static bool read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    const bool found = file && fgets(line, size, file);
    if (file)
        fclose(file);
    return found;
}

/* Microseconds of processor time for each period of so many microseconds; no quota: no limit. */
static int cores_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0 || quota / period >= INT_MAX)
        return 0;
    return (int)((quota + period - 1) / period);
}

/* The limit of one group of version 2, "max 100000" or "150000 100000"; 0: none. */
static int read_max(const char *folder)
{
    char path[PATH_SIZE + 16], line[64];
    long long quota, period;
    snprintf(path, sizeof(path), "%s/cpu.max", folder);
    if (!read_line(path, line, sizeof(line)) || sscanf(line, "%lld %lld", &quota, &period) != 2)
        return 0;
    return cores_of(quota, period);
}

/* The limit of one group of version 1, a quota of −1 where there is none; 0: none. */
static int read_quota(const char *folder)
{
    char path[PATH_SIZE + 32], quota[64], period[64];
    snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof(quota)))
        return 0;
    snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, period, sizeof(period)))
        return 0;
    return cores_of(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

static int least(int a, int b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/*
 * The least limit of the group and its parents. In a container the path may be that of the host,
 * which the container does not see; the root of what it sees is its own group.
 */
static int least_above(const char *mount, const char *group, int (*read)(const char *folder))
{
    char folder[PATH_SIZE];
    const size_t top = strlen(mount);
    int found = 0;
    if (snprintf(folder, sizeof(folder), "%s%s", mount, group) >= (int)sizeof(folder))
        return 0;
    for (;;) {
        found = least(found, read(folder));
        char *slash = strrchr(folder, '/');
        if (!slash || slash < folder + top)
            return found;
        *slash = '\0';
    }
}

/* Whether "cpu,cpuacct" names the controller "cpu". */
static bool controls_cpu(const char *controllers)
{
    for (const char *at = controllers;; at++) {
        const size_t length = strcspn(at, ",");
        if (length == 3 && memcmp(at, "cpu", 3) == 0)
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

/* The limit that a line of /proc/self/cgroup leads to: "0::/group", "4:cpu,cpuacct:/group". */
static int limit_of(const char *root, char *line)
{
    char mount[PATH_SIZE];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    controllers++;
    if (*controllers == '\0') {
        snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
        return least_above(mount, group, read_max);
    }
    if (!controls_cpu(controllers))
        return 0;
    snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%s", root, controllers);
    const int found = least_above(mount, group, read_quota);
    snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/cpu", root);
    return found ? found : least_above(mount, group, read_quota);
}

int mgk_control_group_cores(const char *root)
{
    char path[PATH_SIZE], line[PATH_MAX];
    int found = 0;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        found = least(found, limit_of(root, line));
    if (file)
        fclose(file);
    return found;
}

int mgk_default_threads(void)
{
    const int processors = omp_get_num_procs(), chosen = omp_get_max_threads();
    if (chosen != processors || getenv("OMP_NUM_THREADS"))
        return chosen;
    const int allowed = mgk_control_group_cores("");
    return allowed > 0 && allowed < processors ? allowed : processors;
}
