/* SPDX-License-Identifier: MIT */
/* The devices for tests of kernels, one after another: every instruction-set level of the CPU that
 * this build contains and this machine supports, or the device MGK_TEST_DEVICE. */
#ifndef MGK_TESTS_KERNELS_DEVICES_H
#define MGK_TESTS_KERNELS_DEVICES_H

#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "test.h"

/* The odd sizes at which operations are tested. The emulator is slow and has no vectors: 1, a block
 * and one more, several blocks. */
#ifdef MGK_TEST_LARGEST
#define MGK_TEST_SIZES 1, 33, MGK_TEST_LARGEST
#else
#define MGK_TEST_LARGEST 257
#define MGK_TEST_SIZES 1, 2, 31, 33, MGK_TEST_LARGEST
#endif

/* ctest's exit status for "skipped". */
enum { EXIT_SKIPPED = 77 };

/* Without a GPU the test is reported as skipped, or as failed if MGK_REQUIRE_GPU is set. */
static inline mgk_device *open_or_skip(const char *name, mgk_precision precision, int threads)
{
    mgk_device *device;
    mgk_status status = mgk_device_open(name, precision, threads, &device);
    if (status == STATUS_OK)
        return device;
    print_error("%s\n", mgk_fail_message());
    exit(status == STATUS_DEVICE && !getenv("MGK_REQUIRE_GPU") ? EXIT_SKIPPED : EXIT_FAILURE);
}

/* Largest number of host threads to test. A chosen device is a GPU, which needs one. */
static inline int most_threads(void)
{
    return getenv("MGK_TEST_DEVICE") ? 1 : 3;
}

/* The device after number *index (0 at first), or NULL; the caller closes it. */
static inline mgk_device *open_next_device(int *index, mgk_precision precision, int threads)
{
    static const char *const levels[] = {MGK_CPU_LEVEL_NAMES};
    const char *chosen = getenv("MGK_TEST_DEVICE");
    if (chosen)
        return (*index)++ == 0 ? open_or_skip(chosen, precision, threads) : NULL;
    while (*index < (int)(sizeof levels / sizeof *levels)) {
        const char *level = levels[(*index)++];
        setenv("MGK_CPU_LEVEL", level, 1);
        mgk_device *device = open_or_skip("cpu", precision, threads);
        /* A machine without the level opens the next lower one, which was tested already. */
        if (strcmp(level, "base") == 0 || strstr(device->name, level))
            return device;
        print_message("not run on this machine: code of level %s\n", level);
        mgk_device_close(device);
    }
    return NULL;
}

/* Whether a device is tested with shape i of a list. The emulator is slow: half of a list is for
 * single precision, the other half for double, each with even and odd shapes. */
static inline bool takes_shape(const mgk_device *device, int i)
{
    return !strstr(device->name, "emulated") ||
           ((i ^ i >> 1) & 1) == (device->precision == MGK_DOUBLE);
}

/* The device MGK_TEST_DEVICE, or the CPU with the best level of this machine; the caller closes it.
 */
static inline mgk_device *open_best_device(mgk_precision precision)
{
    const char *chosen = getenv("MGK_TEST_DEVICE");
    unsetenv("MGK_CPU_LEVEL");
    return open_or_skip(chosen ? chosen : "cpu", precision, 1);
}

#endif
