/* Writing past the kernel's cache: what is taken is written as it is, and the rest is left. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "store/direct_write.h"
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
    if (!direct->memory) { /* not every file system offers it */
        unlink(PATH);
        skip();
    }
}

static void whole_blocks(void **state)
{
    (void)state;
    mgk_direct direct;
    mgk_mapping file;
    unsigned char *bytes = sequence(LARGE + 1);
    open_new(&direct);
    /* From memory that is not aligned. */
    assert_int_equal(mgk_direct_write(&direct, 2 * BLOCK, LARGE, bytes + 1), LARGE - 100);
    mgk_direct_close(&direct);
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
    unsigned char *bytes = sequence(LARGE);
    assert_int_equal(mgk_direct_write(&direct, 0, LARGE, bytes), 0);
    mgk_direct_close(&direct);
    mgk_direct_open("missing.bin", &direct);
    assert_null(direct.memory);

    open_new(&direct);
    assert_int_equal(mgk_direct_write(&direct, BLOCK / 2, LARGE, bytes), 0);
    assert_int_equal(mgk_direct_write(&direct, 0, MGK_DIRECT_LEAST - 1, bytes), 0);
    assert_int_equal(mgk_direct_write(&direct, 0, MGK_DIRECT_LEAST, bytes), MGK_DIRECT_LEAST);
    /* What fails closes the way, and whoever writes the rest sees why. */
    close(direct.descriptor);
    direct.descriptor = open(PATH, O_RDONLY | O_CLOEXEC);
    assert_true(direct.descriptor >= 0);
    assert_int_equal(mgk_direct_write(&direct, 0, MGK_DIRECT_LEAST, bytes), 0);
    assert_null(direct.memory);
    mgk_free(bytes);
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_blocks),
        cmocka_unit_test(left_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
