/* SPDX-License-Identifier: MIT */
/* Arrays are zeroed, aligned, and refused if their size overflows. */
#include "test.h"

#include <string.h>

#include "base/memory.h"

/* By default AddressSanitizer ends the program where malloc would return NULL. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_arrays(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 7, 64, 65, 1000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        /* The content of a released array must not appear. */
        unsigned char *dirty, *array;
        assert_ok(mgk_alloc(counts[i], 3, &dirty));
        memset(dirty, 0xff, 3 * counts[i]);
        mgk_free(dirty);
        assert_ok(mgk_alloc(counts[i], 3, &array));
        assert_int_equal((uintptr_t)array % 64, 0);
        for (size_t k = 0; k < 3 * counts[i]; k++)
            assert_int_equal(array[k], 0);
        mgk_free(array);
    }
    mgk_free(NULL);
}

static void test_nothing(void **state)
{
    (void)state;
    char here, *array = &here;
    assert_ok(mgk_alloc(0, 8, &array));
    assert_null(array);
    array = &here;
    assert_ok(mgk_alloc(8, 0, &array));
    assert_null(array);
}

static void test_too_large(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {
        {SIZE_MAX, 2}, {SIZE_MAX / 8 + 1, 8}, {SIZE_MAX, 1}, {SIZE_MAX - 62, 1}, {SIZE_MAX / 4, 1}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char here, *array = &here;
        assert_fails(mgk_alloc(sizes[i][0], sizes[i][1], &array), STATUS_MEMORY);
        assert_null(array);
    }
}

static void test_grow(void **state)
{
    (void)state;
    size_t room = 0, before = 0, moves = 0;
    uint16_t *array = NULL;
    for (size_t i = 0; i < 1000; i++) {
        assert_ok(mgk_grow(i, sizeof(*array), &room, &array));
        assert_true(room > i);
        moves += room != before;
        before = room;
        array[i] = (uint16_t)(7 * i);
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(array[i], (uint16_t)(7 * i));
    assert_true(moves < 10);
    /* An array that cannot grow stays unchanged. */
    const uint16_t *same = array;
    room = SIZE_MAX / 4;
    assert_fails(mgk_grow(room, sizeof(*array), &room, &array), STATUS_MEMORY);
    assert_true(room == SIZE_MAX / 4);
    assert_ptr_equal(array, same);
    mgk_free(array);
}

static void test_multiply(void **state)
{
    (void)state;
    size_t product;
    assert_ok(mgk_multiply(6, 7, &product));
    assert_int_equal(product, 42);
    assert_ok(mgk_multiply(SIZE_MAX, 1, &product));
    assert_true(product == SIZE_MAX);
    assert_ok(mgk_multiply(SIZE_MAX, 0, &product));
    assert_int_equal(product, 0);
    assert_fails(mgk_multiply(SIZE_MAX / 2 + 1, 2, &product), STATUS_MEMORY);
}

static void test_copy_string(void **state)
{
    (void)state;
    char text[] = "text", *copy;
    assert_ok(mgk_copy_string(text, &copy));
    text[0] = 'n';
    assert_string_equal(copy, "text");
    mgk_free(copy);
    assert_ok(mgk_copy_string("", &copy));
    assert_string_equal(copy, "");
    mgk_free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),    cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_too_large), cmocka_unit_test(test_grow),
        cmocka_unit_test(test_multiply),  cmocka_unit_test(test_copy_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
