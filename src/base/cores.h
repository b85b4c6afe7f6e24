/* SPDX-License-Identifier: MIT */
/* How many threads to use where nobody names a number. */
#ifndef MGK_BASE_CORES_H
#define MGK_BASE_CORES_H

/*
 * The number that the user has chosen for all programs by OMP_NUM_THREADS, or the process by
 * omp_set_num_threads; without one, the processors that the process may run on (its affinity), but
 * no more than its control groups allow. At least 1.
 */
int mgk_default_threads(void);

/*
 * The processor time that the control groups of this process allow, in processors, rounded up: the
 * least of the limits of the group and of its parents, cpu.max of version 2 and the quota of
 * version 1. 0: no limit. `root` is the folder of /proc and /sys, "" but for tests.
 */
int mgk_control_group_cores(const char *root);

#endif
