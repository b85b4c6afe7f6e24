/* SPDX-License-Identifier: MIT */
/* Archives are read whole and in parts; inconsistent ones are refused. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/zip.h"

#define PATH "test.zip"
#define TEXT "a text of some length, a text of some length, a text of some length"

enum { LONG = 300000 };

static unsigned char content[LONG];

typedef struct member {
    const char *name;
    const void *bytes;
    size_t size;
    zip_int32_t method;
} member;

static void make(const member *members, size_t count)
{
    int code;
    zip_t *archive = zip_open(PATH, ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(archive);
    for (size_t i = 0; i < count; i++) {
        zip_source_t *source = zip_source_buffer(archive, members[i].bytes, members[i].size, 0);
        zip_int64_t index = zip_file_add(archive, members[i].name, source, 0);
        assert_true(index >= 0);
        assert_int_equal(
            zip_set_file_compression(archive, (zip_uint64_t)index, members[i].method, 0), 0);
    }
    assert_int_equal(zip_close(archive), 0);
}

static void make_pair(void)
{
    const member members[] = {{"a/stored", content, LONG, ZIP_CM_STORE},
                              {"a/deflated", content, LONG, ZIP_CM_DEFLATE},
                              {"empty", content, 0, ZIP_CM_STORE}};
    make(members, 3);
}

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < LONG; i++)
        content[i] = (unsigned char)(i * i / 977);
    return 0;
}

/* The archive's bytes, to be damaged; release with mgk_free. */
static unsigned char *bytes_of(size_t *size)
{
    mgk_mapping mapping;
    unsigned char *bytes;
    assert_ok(mgk_map_file(PATH, &mapping));
    assert_ok(mgk_alloc(mapping.size, 1, &bytes));
    memcpy(bytes, mapping.data, mapping.size);
    *size = mapping.size;
    mgk_unmap_file(&mapping);
    return bytes;
}

static void assert_refused(mgk_status expected, const char *words)
{
    mgk_zip *zip;
    assert_fails(mgk_zip_open(PATH, &zip), expected);
    assert_null(zip);
    if (!strstr(mgk_fail_message(), PATH) || !strstr(mgk_fail_message(), words))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), words);
}

static void test_entries(void **state)
{
    (void)state;
    mgk_zip *zip;
    unsigned char *bytes;
    make_pair();
    assert_ok(mgk_zip_open(PATH, &zip));
    assert_int_equal(mgk_zip_count(zip), 3);
    assert_string_equal(mgk_zip_at(zip, 1)->name, "a/deflated");
    assert_int_equal(mgk_zip_at(zip, 1)->size, LONG);
    assert_ptr_equal(mgk_zip_find(zip, "a/deflated"), mgk_zip_at(zip, 1));
    assert_null(mgk_zip_find(zip, "deflated"));
    for (size_t i = 0; i < 2; i++) {
        assert_fails(mgk_zip_read_all(zip, mgk_zip_at(zip, i), LONG - 1, &bytes), STATUS_FORMAT);
        assert_null(bytes);
        assert_ok(mgk_zip_read_all(zip, mgk_zip_at(zip, i), LONG, &bytes));
        assert_memory_equal(bytes, content, LONG);
        assert_int_equal(bytes[LONG], 0);
        mgk_free(bytes);
    }
    assert_ok(mgk_zip_read_all(zip, mgk_zip_find(zip, "empty"), 0, &bytes));
    mgk_free(bytes);
    mgk_zip_close(zip);
    mgk_zip_close(NULL);
}

/* A range has the right bytes, read forwards, backwards and alternately. */
static void test_ranges(void **state)
{
    (void)state;
    static const size_t firsts[] = {0, 17, 100000, 99999, 250000, 1, LONG - 5, LONG};
    unsigned char bytes[5];
    mgk_zip *zip;
    make_pair();
    assert_ok(mgk_zip_open(PATH, &zip));
    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        size_t count = firsts[i] == LONG ? 0 : sizeof(bytes);
        for (size_t k = 0; k < 2; k++) {
            assert_ok(mgk_zip_read(zip, mgk_zip_at(zip, k), firsts[i], count, bytes));
            assert_int_equal(memcmp(bytes, content + firsts[i], count), 0);
        }
    }
    for (size_t k = 0; k < 2; k++) {
        assert_fails(mgk_zip_read(zip, mgk_zip_at(zip, k), LONG - 4, 5, bytes), STATUS_FORMAT);
        assert_fails(mgk_zip_read(zip, mgk_zip_at(zip, k), LONG + 1, 0, bytes), STATUS_FORMAT);
        assert_fails(mgk_zip_read(zip, mgk_zip_at(zip, k), 1, SIZE_MAX, bytes), STATUS_FORMAT);
    }
    mgk_zip_close(zip);
}

/* An archive of one entry of zeros. */
static mgk_zip *open_zeros(size_t size)
{
    unsigned char *zeros;
    mgk_zip *zip;
    assert_ok(mgk_alloc(size, 1, &zeros));
    make(&(member){"a", zeros, size, ZIP_CM_DEFLATE}, 1);
    mgk_free(zeros);
    assert_ok(mgk_zip_open(PATH, &zip));
    return zip;
}

/* Reading from the end to the beginning inflates the entry once, not ten thousand times. */
static void test_backwards(void **state)
{
    (void)state;
    enum { SIZE = 1 << 24, STEPS = 10000 };
    mgk_zip *zip = open_zeros(SIZE);
    unsigned char byte;
    for (size_t i = 1; i <= STEPS; i++) {
        byte = 1;
        assert_ok(mgk_zip_read(zip, mgk_zip_at(zip, 0), SIZE - i, 1, &byte));
        assert_int_equal(byte, 0);
    }
    mgk_zip_close(zip);
}

/* An entry that is too large to keep is inflated again, but a bounded number of times. */
static void test_too_large_to_keep(void **state)
{
    (void)state;
    enum { SIZE = (1 << 27) + 1, STEPS = 1000 };
    mgk_zip *zip = open_zeros(SIZE);
    unsigned char byte;
    mgk_status status = STATUS_OK;
    size_t step = 0;
    while (status == STATUS_OK && step < STEPS)
        status = mgk_zip_read(zip, mgk_zip_at(zip, 0), SIZE - ++step, 1, &byte);
    assert_int_equal(status, STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "\"a\" is compressed and read out of order"));
    assert_true(step > 3);
    mgk_zip_close(zip);
}

/* Replaces every occurrence of the `count` bytes, and writes the archive. */
static size_t replace(const void *from, const void *to, size_t count)
{
    size_t size, found = 0;
    unsigned char *bytes = bytes_of(&size);
    for (size_t i = 0; i + count <= size; i++) {
        if (memcmp(bytes + i, from, count) == 0) {
            memcpy(bytes + i, to, count);
            found++;
        }
    }
    assert_ok(mgk_write_file(PATH, true, bytes, size));
    mgk_free(bytes);
    return found;
}

static void test_lying_sizes(void **state)
{
    (void)state;
    const uint32_t truth = sizeof(TEXT), lies[] = {sizeof(TEXT) - 1, sizeof(TEXT) + 1, 40000};
    unsigned char *bytes;
    mgk_zip *zip;
    for (size_t i = 0; i < 3; i++) {
        make(&(member){"x", TEXT, sizeof(TEXT), ZIP_CM_DEFLATE}, 1);
        assert_true(replace(&truth, &lies[i], sizeof(truth)) > 0);
        if (lies[i] == 40000) {
            assert_refused(STATUS_FORMAT, "cannot be");
            continue;
        }
        assert_ok(mgk_zip_open(PATH, &zip));
        assert_fails(mgk_zip_read_all(zip, mgk_zip_at(zip, 0), LONG, &bytes), STATUS_FORMAT);
        assert_non_null(strstr(mgk_fail_message(), "damaged"));
        mgk_zip_close(zip);
    }
}

static void test_checksum(void **state)
{
    (void)state;
    unsigned char *bytes;
    mgk_zip *zip;
    make(&(member){"x", TEXT, sizeof(TEXT), ZIP_CM_STORE}, 1);
    assert_int_equal(replace("text", "test", 4), 3);
    assert_ok(mgk_zip_open(PATH, &zip));
    assert_fails(mgk_zip_read_all(zip, mgk_zip_at(zip, 0), LONG, &bytes), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "\"x\" is damaged"));
    mgk_zip_close(zip);
}

/* Sets a byte of the first entry in the directory. */
static void patch_directory(size_t at, unsigned char value)
{
    size_t size;
    unsigned char *bytes = bytes_of(&size);
    unsigned char *entry = memmem(bytes, size, "PK\1\2", 4);
    assert_non_null(entry);
    entry[at] = value;
    assert_ok(mgk_write_file(PATH, true, bytes, size));
    mgk_free(bytes);
}

static void test_refused(void **state)
{
    (void)state;
    const member two[] = {{"x", TEXT, sizeof(TEXT), ZIP_CM_STORE},
                          {"y", TEXT, sizeof(TEXT), ZIP_CM_STORE}};
    mgk_zip *zip;
    int code;
    make(two, 2);
    assert_true(replace("y", "x", 1) >= 2);
    assert_refused(STATUS_FORMAT, "\"x\" stands twice");
    make(two, 1);
    patch_directory(10, 12);
    assert_refused(STATUS_UNSUPPORTED, "method 12");
    zip_t *archive = zip_open(PATH, ZIP_CREATE | ZIP_TRUNCATE, &code);
    zip_file_add(archive, "secret", zip_source_buffer(archive, TEXT, sizeof(TEXT), 0), 0);
    assert_int_equal(zip_file_set_encryption(archive, 0, ZIP_EM_AES_256, "word"), 0);
    assert_int_equal(zip_close(archive), 0);
    assert_refused(STATUS_UNSUPPORTED, "\"secret\" is encrypted");
    assert_fails(mgk_zip_open("missing.zip", &zip), STATUS_IO);
    assert_fails(mgk_zip_open(".", &zip), STATUS_IO);
    assert_ok(mgk_write_file(PATH, true, "PK\3\4 and no more", 16));
    assert_refused(STATUS_FORMAT, "a ZIP archive that is cut short or damaged");
}

/* Two directory entries that refer to the same bytes. */
static void test_overlap(void **state)
{
    (void)state;
    const member two[] = {{"x", content, LONG, ZIP_CM_STORE}, {"y", "", 0, ZIP_CM_STORE}};
    size_t size;
    make(two, 2);
    unsigned char *bytes = bytes_of(&size), *first = NULL, *second = NULL;
    for (size_t i = LONG; i + 4 <= size; i++)
        if (memcmp(bytes + i, "PK\1\2", 4) == 0)
            *(first ? &second : &first) = bytes + i;
    assert_non_null(second);
    memcpy(second + 16, first + 16, 12); /* checksum and sizes */
    memcpy(second + 42, first + 42, 4);  /* the offset */
    assert_ok(mgk_write_file(PATH, true, bytes, size));
    mgk_free(bytes);
    assert_refused(STATUS_FORMAT, "overlap");
}

/* Cut off anywhere, or with any bit flipped, an archive gives an error or its content. */
static void read_everything(void)
{
    mgk_zip *zip;
    unsigned char *bytes;
    if (mgk_zip_open(PATH, &zip) != STATUS_OK)
        return;
    for (size_t i = 0; i < mgk_zip_count(zip); i++)
        if (mgk_zip_read_all(zip, mgk_zip_at(zip, i), LONG, &bytes) == STATUS_OK)
            mgk_free(bytes);
    mgk_zip_close(zip);
}

/* Called thousands of times: mgk_write_file would wait for the disk. */
static void put(const unsigned char *bytes, size_t size)
{
    unlink(PATH); /* some file systems wait when a file is overwritten */
    FILE *file = fopen(PATH, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_damage(void **state)
{
    (void)state;
    const member two[] = {{"x", TEXT, sizeof(TEXT), ZIP_CM_STORE},
                          {"y", TEXT, sizeof(TEXT), ZIP_CM_DEFLATE}};
    size_t size;
    mgk_zip *zip;
    make(two, 2);
    unsigned char *bytes = bytes_of(&size);
    for (size_t cut = 0; cut < size; cut++) {
        put(bytes, cut);
        assert_fails(mgk_zip_open(PATH, &zip), STATUS_FORMAT);
    }
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        put(bytes, size);
        read_everything();
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    mgk_free(bytes);
}

static int clean(void **state)
{
    (void)state;
    return unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),     cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_backwards),   cmocka_unit_test(test_too_large_to_keep),
        cmocka_unit_test(test_lying_sizes), cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, fill, clean);
}
