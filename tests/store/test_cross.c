/* SPDX-License-Identifier: MIT */
/* Stores of cross-attention: two lengths and two sequences of tokens. */
#include <hdf5.h>
#include <hdf5_hl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/fixture.h"
#include "store/schema/reader.h"
#include "test.h"

#define PATH "cross.h5"

enum { CROSS_ALL = FIXTURE_ALL };

static mgk_store_description cross_description(int32_t tokens, int32_t keys)
{
    mgk_store_description description = fixture_description(tokens, STORE_F32, CROSS_ALL);
    fixture_cross(&description, keys);
    return description;
}

static const char *text_of(const void *context, int32_t id)
{
    static const char *const texts[] = {"un", "##aff", "", "able"};
    (void)context;
    return id >= 5000 ? texts[id % 2] : texts[2 + id % 2];
}

static void check_values(mgk_store_reader *reader, int object)
{
    const size_t count = fixture_count(mgk_store_describe(reader), object);
    double *values;
    assert_ok(mgk_alloc(count, sizeof(*values), &values));
    assert_ok(mgk_store_read(reader, (mgk_store_object)object, 2, 1, 1, STORE_F64, values));
    const int sample = object >= STORE_KEY_WEIGHTS && object <= STORE_VARIANCES ? 0 : 2;
    for (size_t i = 0; i < count; i++)
        assert_true(values[i] == fixture_value(object, sample, 1, 1, i));
    mgk_free(values);
}

static void check_sides(mgk_store_reader *reader, int32_t tokens, int32_t keys)
{
    enum { MOST = 64 };
    int32_t ids[MOST], length;
    char texts[MOST][MGK_TOKEN_TEXT];
    for (int32_t sample = 0; sample < FIXTURE_SAMPLES; sample++) {
        assert_ok(mgk_store_read_tokens(reader, sample, ids, &length));
        assert_int_equal(length, fixture_length(sample, tokens));
        for (int32_t i = 0; i < tokens; i++)
            assert_int_equal(ids[i], fixture_token(sample, tokens, i));
        assert_ok(mgk_store_read_key_tokens(reader, sample, ids, &length));
        assert_int_equal(length, fixture_key_length(sample, keys));
        for (int32_t j = 0; j < keys; j++)
            assert_int_equal(ids[j], fixture_key_token(sample, keys, j));
        assert_ok(mgk_store_read_key_length(reader, sample, &length));
        assert_int_equal(length, fixture_key_length(sample, keys));
        assert_ok(mgk_store_read_key_token_text(reader, sample, texts));
        for (int32_t j = 0; j < keys; j++)
            assert_string_equal(texts[j], ids[j] < 0 ? "" : text_of(NULL, ids[j]));
    }
}

/* More queries than keys, fewer, as many; and matrices of several chunks. */
static void comes_back(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{3, 7}, {7, 3}, {5, 5}, {1, 33}, {33, 1}, {64, 0}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const int32_t tokens = sizes[i][0], keys = sizes[i][1] ? sizes[i][1] : tokens;
        mgk_store_reader *reader;
        mgk_store_description description = cross_description(tokens, sizes[i][1]);
        description.token_text = (mgk_token_text){text_of, NULL, "##"};
        description.key_token_text = (mgk_token_text){text_of, NULL, " "};
        assert_ok(fixture_store(PATH, &description, STORE_F64, i % 2));
        assert_ok(mgk_store_open(PATH, NULL, &reader));
        const mgk_store_description *read = mgk_store_describe(reader);
        assert_true(read->cross && !read->causal);
        assert_string_equal(read->part, "cross");
        assert_int_equal(read->tokens, tokens);
        assert_int_equal(read->key_tokens, keys);
        for (int object = 0; object < STORE_OBJECTS; object++)
            check_values(reader, object);
        check_sides(reader, tokens, keys);
        mgk_store_close(reader);
    }
    unlink(PATH);
}

/* A store of one sequence gives its tokens as those of the keys. */
static void keys_of_one_sequence(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    int32_t ids[5], length;
    mgk_store_description description = fixture_description(5, STORE_F32, 1);
    description.part = "decoder";
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_string_equal(mgk_store_describe(reader)->part, "decoder");
    assert_false(mgk_store_describe(reader)->cross);
    assert_int_equal(mgk_store_describe(reader)->key_tokens, 0);
    assert_int_equal(mgk_store_keys(mgk_store_describe(reader)), 5);
    assert_ok(mgk_store_read_key_tokens(reader, 1, ids, &length));
    assert_int_equal(length, fixture_length(1, 5));
    assert_int_equal(ids[0], fixture_token(1, 5, 0));
    assert_ok(mgk_store_read_key_length(reader, 2, &length));
    assert_int_equal(length, fixture_length(2, 5));
    mgk_store_close(reader);
    unlink(PATH);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void write_good(void)
{
    const mgk_store_description description = cross_description(4, 6);
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
}

static void expect_failure(mgk_status status, const char *message)
{
    mgk_store_reader *reader;
    assert_fails(mgk_store_open(PATH, NULL, &reader), status);
    if (!strstr(mgk_fail_message(), message))
        fail_msg("\"%s\" does not contain \"%s\"", mgk_fail_message(), message);
}

/* Files whose parts contradict each other are refused, whichever part was changed. */
static void contradictions(void **state)
{
    (void)state;
    write_good();
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5LTset_attribute_string(file, "/", "part", "decoder") >= 0);
    H5Fclose(file);
    expect_failure(STATUS_FORMAT, "format_version 2 of the part \"decoder\"");

    write_good();
    file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5LTset_attribute_int(file, "/", "format_version", &(int){1}, 1) >= 0);
    H5Fclose(file);
    expect_failure(STATUS_FORMAT, "format_version 1 of the part \"cross\"");

    write_good();
    file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5LTset_attribute_int(file, "/", "causal", &(int){1}, 1) >= 0);
    H5Fclose(file);
    expect_failure(STATUS_FORMAT, "cross-attention with a causal mask");

    static const char *const needed[] = {"key_tokens", "key_lengths"};
    for (int i = 0; i < 2; i++) {
        write_good();
        file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(H5Ldelete(file, needed[i], H5P_DEFAULT) >= 0);
        H5Fclose(file);
        expect_failure(STATUS_FORMAT, needed[i]);
    }

    write_good();
    file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    const hsize_t shape[] = {FIXTURE_SAMPLES, 5};
    assert_true(H5Ldelete(file, "key_tokens", H5P_DEFAULT) >= 0);
    assert_true(H5LTmake_dataset_int(file, "key_tokens", 2, shape, (int[15]){0}) >= 0);
    H5Fclose(file);
    expect_failure(STATUS_SHAPE, "\"attention\" is [3,2,2,4,6], expected [3,2,2,4,5]");
    unlink(PATH);
}

static void lengths_beyond_the_keys(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    int32_t length;
    write_good();
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "key_lengths", H5P_DEFAULT);
    assert_true(
        H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, (int[]){7, 6, 0}) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_fails(mgk_store_read_key_length(reader, 0, &length), STATUS_FORMAT);
    assert_ok(mgk_store_read_key_length(reader, 1, &length));
    assert_int_equal(length, 6);
    mgk_store_close(reader);
    unlink(PATH);
}

static void writer_arguments(void **state)
{
    (void)state;
    mgk_store_writer *writer;
    mgk_store_block *block;
    const mgk_store_options options = {.force = true, .incoming = STORE_F32};
    const mgk_store_description good = cross_description(4, 6);
    mgk_store_description bad[] = {good, good, good, good, good};
    bad[0].part = "decoder";
    bad[1].part = NULL;
    bad[2].cross = false;
    bad[3].causal = true;
    bad[4].key_tokens = -1;
    for (int i = 0; i < 5; i++)
        assert_fails(mgk_store_create(PATH, &bad[i], &options, &writer), STATUS_USAGE);
    assert_ok(mgk_store_create(PATH, &good, &options, &writer));
    assert_ok(mgk_store_next_block(writer, &block));
    fixture_fill(&good, STORE_F32, 0, 0, block);
    block->key_length = 7;
    assert_fails(mgk_store_submit(writer, block), STATUS_USAGE);
    block->key_length = -1;
    assert_fails(mgk_store_submit(writer, block), STATUS_USAGE);
    mgk_store_discard(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),       cmocka_unit_test(keys_of_one_sequence),
        cmocka_unit_test(contradictions),   cmocka_unit_test(lengths_beyond_the_keys),
        cmocka_unit_test(writer_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
