/* SPDX-License-Identifier: MIT */
/* Writes that bypass the kernel's cache: accepted bytes are written unchanged, the rest is left to
 * the caller. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "store/hdf5/direct_write.h"
#include "test.h"

#define PATH "direct.bin"

enum { BLOCK = MGK_DIRECT_ALIGNMENT, LARGE = 3 * (1 << 20) + 5 * BLOCK + 100 };

static unsigned char *sequence(size_t count)
{
    unsigned char *bytes;
    assert_ok(mgk_alloc(count, 1, &bytes));
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    return bytes;
}

static void open_new(mgk_direct *direct)
{
    assert_ok(mgk_write_file(PATH, true, "", 0));
    mgk_direct_open(PATH, direct);
    if (!direct->memory) { /* some file systems do not support it */
        unlink(PATH);
        skip();
    }
}

static void whole_blocks(void **state)
{
    (void)state;
    mgk_direct direct;
    mgk_mapping file;
    int error = 0;
    unsigned char *bytes = sequence(LARGE + 1);
    open_new(&direct);
    /* Memory that is not aligned. */
    assert_int_equal(mgk_direct_write(&direct, 2 * BLOCK, LARGE, bytes + 1, &error), LARGE - 100);
    mgk_direct_close(&direct);
    assert_int_equal(error, 0);
    assert_ok(mgk_map_file(PATH, &file));
    assert_int_equal(file.size, 2 * BLOCK + LARGE - 100);
    assert_memory_equal((const char *)file.data + 2 * BLOCK, bytes + 1, LARGE - 100);
    mgk_unmap_file(&file);
    mgk_free(bytes);
    unlink(PATH);
}

static void left_to_others(void **state)
{
    (void)state;
    mgk_direct direct = {0};
    int error = 0;
    unsigned char *bytes = sequence(LARGE);
    assert_int_equal(mgk_direct_write(&direct, 0, LARGE, bytes, &error), 0);
    mgk_direct_close(&direct);
    mgk_direct_open("missing.bin", &direct);
    assert_null(direct.memory);

    open_new(&direct);
    assert_int_equal(mgk_direct_write(&direct, BLOCK / 2, LARGE, bytes, &error), 0);
    assert_int_equal(mgk_direct_write(&direct, 0, MGK_DIRECT_LEAST - 1, bytes, &error), 0);
    assert_int_equal(mgk_direct_write(&direct, 0, MGK_DIRECT_LEAST, bytes, &error),
                     MGK_DIRECT_LEAST);
    assert_int_equal(error, 0);
    /* A refusal, here of an offset beyond all files, closes it and is not a failure. */
    assert_int_equal(mgk_direct_write(&direct, UINT64_C(1) << 63, MGK_DIRECT_LEAST, bytes, &error),
                     0);
    assert_int_equal(error, 0);
    assert_null(direct.memory);
    mgk_free(bytes);
    unlink(PATH);
}

/* A failure that normal writing would repeat is reported, and not retried. */
static void failures_are_reported(void **state)
{
    (void)state;
    mgk_direct direct;
    int error = 0;
    unsigned char *bytes = sequence(LARGE);
    open_new(&direct);
    close(direct.descriptor);
    direct.descriptor = open(PATH, O_RDONLY | O_CLOEXEC);
    assert_true(direct.descriptor >= 0);
    assert_int_equal(mgk_direct_write(&direct, 0, MGK_DIRECT_LEAST, bytes, &error), 0);
    assert_int_equal(error, EBADF);
    assert_null(direct.memory);
    mgk_free(bytes);
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_blocks),
        cmocka_unit_test(left_to_others),
        cmocka_unit_test(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
