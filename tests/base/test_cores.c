/* SPDX-License-Identifier: MIT */
/* The limits of control groups, from trees of files like those of the kernel. */
#include "test.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cores.h"

/* Writes a file of the tree `root`, with its folders. */
static void put(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0777);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void test_version_2(void **state)
{
    (void)state;
    static const char root[] = "v2";
    put(root, "/proc/self/cgroup", "0::/user/job\n");
    put(root, "/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
    assert_int_equal(mgk_control_group_cores(root), 0);
    put(root, "/sys/fs/cgroup/user/cpu.max", "250000 100000\n"); /* of the parent, rounded up */
    assert_int_equal(mgk_control_group_cores(root), 3);
    put(root, "/sys/fs/cgroup/user/job/cpu.max", "150000 100000\n");
    assert_int_equal(mgk_control_group_cores(root), 2);
    put(root, "/sys/fs/cgroup/user/job/cpu.max", "50000 100000\n");
    assert_int_equal(mgk_control_group_cores(root), 1);
    put(root, "/sys/fs/cgroup/user/job/cpu.max", "nonsense\n");
    assert_int_equal(mgk_control_group_cores(root), 3);
}

/* A container may see the path that the host has for its group, and only its own group. */
static void test_container(void **state)
{
    (void)state;
    static const char root[] = "container";
    put(root, "/proc/self/cgroup", "0::/docker/0123\n");
    put(root, "/sys/fs/cgroup/cpu.max", "400000 100000\n");
    assert_int_equal(mgk_control_group_cores(root), 4);
}

static void test_version_1(void **state)
{
    (void)state;
    static const char root[] = "v1";
    put(root, "/proc/self/cgroup",
        "5:cpuset:/job\n4:cpu,cpuacct:/slurm/job\n3:memory:/job\n0::/init\n");
    put(root, "/sys/fs/cgroup/cpu,cpuacct/slurm/job/cpu.cfs_quota_us", "-1\n");
    put(root, "/sys/fs/cgroup/cpu,cpuacct/slurm/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(mgk_control_group_cores(root), 0);
    put(root, "/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "200000\n");
    put(root, "/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
    assert_int_equal(mgk_control_group_cores(root), 2);
    put(root, "/sys/fs/cgroup/cpuset/job/cpu.cfs_quota_us", "1000\n"); /* of no meaning there */
    put(root, "/sys/fs/cgroup/cpuset/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(mgk_control_group_cores(root), 2);
}

static void test_nothing(void **state)
{
    (void)state;
    assert_int_equal(mgk_control_group_cores("nothing"), 0);
    put("odd", "/proc/self/cgroup", "\n::\n0\n0:\n7:cpu\n7:cpu:\n");
    assert_int_equal(mgk_control_group_cores("odd"), 0);
}

static void test_default(void **state)
{
    (void)state;
    unsetenv("OMP_NUM_THREADS");
    const int threads = mgk_default_threads(), processors = omp_get_num_procs();
    assert_true(threads >= 1 && threads <= processors);
    omp_set_num_threads(processors + 3);
    assert_int_equal(mgk_default_threads(), processors + 3);
    omp_set_num_threads(processors);
    setenv("OMP_NUM_THREADS", "1", 1); /* its number was read when the process began */
    assert_int_equal(mgk_default_threads(), processors);
}

/* Removes the trees of an earlier run. */
static int prepare(void **state)
{
    (void)state;
    return system("rm -rf v2 container v1 odd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2), cmocka_unit_test(test_container),
        cmocka_unit_test(test_version_1), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_default),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
