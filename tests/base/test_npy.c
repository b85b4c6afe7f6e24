/* SPDX-License-Identifier: MIT */
/* Headers of .npy files are read, or refused if malformed. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/npy.h"

enum { FILE_SIZE = 1024 };

#define NPY(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

/* Makes a file with this version, this header and `size` bytes of elements; returns its size. */
static size_t make(unsigned char file[FILE_SIZE], int version, const char *header, size_t size)
{
    const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    size_t length = strlen(header), at = sizeof(start) + (version == 1 ? 2 : 4);
    memset(file, 0, FILE_SIZE);
    memcpy(file, start, sizeof(start));
    file[8] = (unsigned char)(length & 0xff);
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + at, header, length);
    return at + length + size;
}

static void headers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        char kind;
        size_t element_size;
        bool big_endian, fortran_order;
        int rank;
        size_t shape[3], bytes;
        const char *type;
    } cases[] = {
        {NPY("'<f4'", "False", "(2, 3)"), 'f', 4, false, false, 2, {2, 3}, 24, "float32"},
        {"{\"shape\":(4,),\"fortran_order\":True,\"descr\":\">i8\"}  \n",
         'i',
         8,
         true,
         true,
         1,
         {4},
         32,
         "int64"},
        {NPY("'|b1'", "False", "()"), 'b', 1, false, false, 0, {0}, 1, "bool"},
        {NPY("'<f4'", "False", "(2L, 3L)"), 'f', 4, false, false, 2, {2, 3}, 24, "float32"},
        {NPY("'=u2'", "False", "(1, 2, 3,)"), 'u', 2, false, false, 3, {1, 2, 3}, 12, "uint16"},
        {NPY("'<c16'", "False", "(0, 5)"), 'c', 16, false, false, 2, {0, 5}, 0, "complex128"},
        {NPY("'<U3'", "False", "(2,)"), 'U', 12, false, false, 1, {2}, 24, "string"},
        {NPY("'<M8[ns]'", "False", "(2,)"), 'M', 8, false, false, 1, {2}, 16, "datetime"},
        {NPY("'|O'", "False", "(7,)"), 'O', 0, false, false, 1, {7}, 99, "object"},
        {NPY("'|V8'", "False", "(7,)"), 'V', 0, false, false, 1, {7}, 56, "records"},
        {NPY("[('a', '<f4'), ('b]', '<i4', (2,))]", "False", "(2,)"),
         'V',
         0,
         false,
         false,
         1,
         {2},
         24,
         "records"},
    };
    unsigned char file[FILE_SIZE];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int version = 1; version <= 3; version++) {
            mgk_npy npy;
            char type[MGK_NPY_TYPE];
            size_t size = make(file, version, cases[i].header, cases[i].bytes);
            assert_ok(mgk_npy_parse(file, size, size, &npy));
            assert_int_equal(npy.kind, cases[i].kind);
            assert_int_equal(npy.element_size, cases[i].element_size);
            assert_int_equal(npy.big_endian, cases[i].big_endian);
            assert_int_equal(npy.fortran_order, cases[i].fortran_order);
            assert_int_equal(npy.rank, cases[i].rank);
            assert_memory_equal(npy.shape, cases[i].shape, sizeof(cases[i].shape));
            assert_int_equal(npy.start, size - cases[i].bytes);
            mgk_npy_type(&npy, type);
            assert_string_equal(type, cases[i].type);
        }
}

static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        mgk_status status;
        const char *message;
    } cases[] = {
        {NPY("'<f4'", "Maybe", "(4,)"), STATUS_FORMAT, "not True or False"},
        {NPY("'<f4'", "False", "(-4,)"), STATUS_FORMAT, "not made of sizes"},
        {NPY("'<f4'", "False", "(2*2,)"), STATUS_FORMAT, "shape is malformed"},
        {NPY("'<f4'", "False", "(99999999999999999999, 1)"), STATUS_FORMAT, "not made of sizes"},
        {NPY("'<f4'", "False", "(4294967296, 4294967296)"), STATUS_MEMORY, "too large"},
        {NPY("'<f4'", "False", "(4611686018427387905, 4)"), STATUS_MEMORY, "too large"},
        {NPY("'<U4611686018427387905'", "False", "(1,)"), STATUS_MEMORY, "too large"},
        {NPY("'<f4'", "False", "(1000000000000,)"), STATUS_FORMAT,
         "16 bytes, expected 4000000000000 "},
        {NPY("'<f4'", "False", "(3,)"), STATUS_FORMAT, "take 16 bytes, expected 12 for [3]"},
        {NPY("'<f4'", "False", "(4"), STATUS_FORMAT, "not made of sizes"},
        {NPY("'<f4'", "False", "(2 2)"), STATUS_FORMAT, "shape is malformed"},
        {NPY("'<f4'", "False", "4"), STATUS_FORMAT, "not a tuple"},
        {NPY("'<f4'", "False",
             "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4)"),
         STATUS_UNSUPPORTED, "more than 32 axes"},
        {NPY("'<f4'", "False", "(4,)") "x", STATUS_FORMAT, "after the dictionary"},
        {NPY("__import__('os').system('true')", "False", "(4,)"), STATUS_FORMAT, "no type"},
        {NPY("'<f4'", "False", "__import__('os')"), STATUS_FORMAT, "not a tuple"},
        {NPY("'f'", "False", "(4,)"), STATUS_FORMAT, "\"f\" has no size"},
        {NPY("'<f4x'", "False", "(4,)"), STATUS_FORMAT, "has no size"},
        {NPY("'<'", "False", "(4,)"), STATUS_FORMAT, "no type"},
        {NPY("''", "False", "(4,)"), STATUS_FORMAT, "no type"},
        {NPY("'a type that is longer than any'", "False", "(4,)"), STATUS_FORMAT, "no type"},
        {NPY("[('a', '<f4')", "False", "(4,)"), STATUS_FORMAT, "not closed"},
        {"{'descr': '<f4', 'shape': (4,)}", STATUS_FORMAT, "fortran_order or shape is missing"},
        {"{'descr': '<f4', 'descr': '<f4'}", STATUS_FORMAT, "unexpected key \"descr\""},
        {"{'surprise': 1}", STATUS_FORMAT, "unexpected key \"surprise\""},
        {"{'surprise\x01': 1}", STATUS_FORMAT, "expected a dictionary"},
        {"{'descr': '<f4", STATUS_FORMAT, "no type"},
        {"{", STATUS_FORMAT, "expected a dictionary"},
        {"", STATUS_FORMAT, "expected a dictionary"},
    };
    unsigned char file[FILE_SIZE];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_npy npy;
        size_t size = make(file, 1, cases[i].header, 16);
        assert_fails(mgk_npy_parse(file, size, size, &npy), cases[i].status);
        if (!strstr(mgk_fail_message(), cases[i].message))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), cases[i].message);
    }
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    unsigned char file[FILE_SIZE];
    for (int version = 1; version <= 2; version++) {
        mgk_npy npy;
        size_t size = make(file, version, NPY("'<f4'", "False", "(2, 2)"), 16);
        for (size_t kept = 0; kept < size; kept++)
            assert_fails(mgk_npy_parse(file, kept, kept, &npy), STATUS_FORMAT);
        assert_fails(mgk_npy_parse(file, size + 1, size + 1, &npy), STATUS_FORMAT);
    }
}

/* False lengths, in a file that is large enough for one of them. */
static void long_headers_are_refused(void **state)
{
    (void)state;
    unsigned char file[MGK_NPY_START] = {0x93, 'N', 'U',  'M',  'P',  'Y',
                                         2,    0,   0xff, 0xff, 0xff, 0xff};
    mgk_npy npy;
    assert_fails(mgk_npy_parse(file, sizeof(file), sizeof(file), &npy), STATUS_FORMAT);
    assert_fails(mgk_npy_parse(file, sizeof(file), SIZE_MAX, &npy), STATUS_UNSUPPORTED);
    file[6] = 4;
    assert_fails(mgk_npy_parse(file, sizeof(file), sizeof(file), &npy), STATUS_UNSUPPORTED);
    file[0] = 0;
    assert_fails(mgk_npy_parse(file, sizeof(file), sizeof(file), &npy), STATUS_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(long_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
