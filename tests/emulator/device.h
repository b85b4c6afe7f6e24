/* SPDX-License-Identifier: MIT */
/* Settings of the emulated device from the environment (cuda_runtime.h). */
#ifndef MGK_TESTS_EMULATOR_DEVICE_H
#define MGK_TESTS_EMULATOR_DEVICE_H

#include <stddef.h>

/* Shared memory of a block in bytes, as on an H100. */
const size_t emulator_most_shared = 227 * 1024;

/* Whether EMULATOR_FAULT has this value. */
bool emulator_has_fault(const char *name);

/* Limit of a block's shared memory in bytes. */
size_t emulator_shared_limit(void);

/* Most blocks of a cluster; 1: the device has no clusters. */
unsigned emulator_cluster_limit(void);

#endif
