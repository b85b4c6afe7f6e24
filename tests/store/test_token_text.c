/* SPDX-License-Identifier: MIT */
/* The text of tokens in a store: written, read, and refused if malformed. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/fixture.h"
#include "store/schema/reader.h"
#include "test.h"

#define PATH "token_text.h5"

enum { N = 5 };

/* The fixture's ids are sample * 100 + position. */
static const char *text_of(const void *context, int32_t id)
{
    static const char *const texts[N] = {"un", "##aff", "\xe6\xb3\xa8\xe6\x84\x8f", "",
                                         " \xf0\x9f\x98\x80"};
    assert_string_equal(context, "context");
    return texts[id % 100];
}

static void write_store(const char *subword)
{
    mgk_store_description description =
        fixture_description(N, STORE_F32, MGK_STORE_BIT(STORE_ATTENTION));
    if (subword)
        description.token_text = (mgk_token_text){text_of, "context", subword};
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
}

static void comes_back(void **state)
{
    (void)state;
    static const char *const kinds[] = {"##", " ", ""};
    mgk_store_reader *reader;
    char texts[N][MGK_TOKEN_TEXT];
    for (size_t kind = 0; kind < 3; kind++) {
        write_store(kinds[kind]);
        assert_ok(mgk_store_open(PATH, NULL, &reader));
        assert_string_equal(mgk_store_describe(reader)->token_text.subword, kinds[kind]);
        for (int32_t sample = 0; sample < FIXTURE_SAMPLES; sample++) {
            assert_ok(mgk_store_read_token_text(reader, sample, texts));
            for (int32_t i = 0; i < N; i++) {
                int32_t id = fixture_token(sample, N, i);
                assert_string_equal(texts[i], id < 0 ? "" : text_of("context", id));
            }
        }
        assert_fails(mgk_store_read_token_text(reader, FIXTURE_SAMPLES, texts), STATUS_USAGE);
        assert_fails(mgk_store_read_token_text(reader, -1, texts), STATUS_USAGE);
        mgk_store_close(reader);
    }
}

static void may_be_missing(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    char texts[N][MGK_TOKEN_TEXT];
    write_store(NULL);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_null(mgk_store_describe(reader)->token_text.subword);
    assert_fails(mgk_store_read_token_text(reader, 0, texts), STATUS_USAGE);
    mgk_store_close(reader);
}

/* Replaces the text by a dataset [3, length] of `type`, with the attribute unless it is NULL. */
static void replace(hid_t type, hsize_t length, const void *data, const char *subword)
{
    const hsize_t shape[] = {FIXTURE_SAMPLES, length};
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, shape, NULL), scalar = H5Screate(H5S_SCALAR);
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 2);
    assert_true(H5Ldelete(file, "token_text", H5P_DEFAULT) >= 0);
    hid_t dataset =
        H5Dcreate2(file, "token_text", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    if (subword) {
        hid_t attribute = H5Acreate2(dataset, "subword", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(attribute, text, subword);
        H5Aclose(attribute);
    }
    H5Dclose(dataset);
    H5Tclose(text);
    H5Sclose(scalar);
    H5Sclose(space);
    H5Fclose(file);
}

static void expect_failure(mgk_status expected, const char *said)
{
    mgk_store_reader *reader;
    assert_fails(mgk_store_open(PATH, NULL, &reader), expected);
    if (!strstr(mgk_fail_message(), said))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), said);
}

static void others_are_refused(void **state)
{
    (void)state;
    const char *strings[FIXTURE_SAMPLES * N] = {"a"};
    const int32_t numbers[FIXTURE_SAMPLES * N] = {0};
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    write_store("##");
    replace(type, N, strings, NULL);
    expect_failure(STATUS_FORMAT, "says nothing of words");
    replace(type, N, strings, "@@");
    expect_failure(STATUS_FORMAT, "says nothing of words");
    replace(type, N - 1, strings, "##");
    expect_failure(STATUS_SHAPE, "\"token_text\" is [3,4], expected [3,5]");
    replace(H5T_NATIVE_INT32, N, numbers, "##");
    expect_failure(STATUS_FORMAT, "\"token_text\" does not hold strings");
    H5Tclose(type);
}

/* A huge text that every token shares, invalid UTF-8, and strings of a fixed length. */
static void hostile_texts(void **state)
{
    (void)state;
    enum { HUGE_TEXT = 1 << 20 };
    static char huge[HUGE_TEXT + 1], fixed[FIXTURE_SAMPLES * N][4];
    const char *strings[FIXTURE_SAMPLES * N];
    char texts[N][MGK_TOKEN_TEXT];
    mgk_store_reader *reader;
    memset(huge, 'a', HUGE_TEXT);
    for (int i = 0; i < FIXTURE_SAMPLES * N; i++)
        strings[i] = i % 2 ? "\xff\xfe" : huge;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    write_store("##");
    replace(type, N, strings, " ");
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_ok(mgk_store_read_token_text(reader, 0, texts));
    assert_int_equal(strlen(texts[0]), MGK_TOKEN_TEXT - 1);
    assert_string_equal(texts[1], "??");
    mgk_store_close(reader);
    H5Tclose(type);
    type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, 4);
    replace(type, N, fixed, " ");
    expect_failure(STATUS_UNSUPPORTED, "strings of a fixed length");
    H5Tclose(type);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),
        cmocka_unit_test(may_be_missing),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(hostile_texts),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
