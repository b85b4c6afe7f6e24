/* What the environment makes of the emulated device (cuda_runtime.h). */
#ifndef MGK_TESTS_EMULATOR_DEVICE_H
#define MGK_TESTS_EMULATOR_DEVICE_H

#include <stddef.h>

/* Bytes of shared memory of a block, as an H100 has. */
const size_t emulator_most_shared = 227 * 1024;

/* Whether EMULATOR_FAULT is this one. */
bool emulator_has_fault(const char *name);

/* Bytes of shared memory that a block may have. */
size_t emulator_shared_limit(void);

#endif
