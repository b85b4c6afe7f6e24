/* SPDX-License-Identifier: MIT */
/* Checkpoints are the same in every container, and elements the same in every order. */
#include "test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/containers/safetensors.h"
#include "model/containers/tensors.h"

#define PATH "tensors.safetensors"
#define FOLDER "tensors_folder"
#define INDEX FOLDER "/model.safetensors.index.json"

enum { LONG = 3 * (1 << 14) + 5 };

static void write_file(const char *path, mgk_dtype dtype, const float *values, size_t count)
{
    const mgk_tensor_view views[] = {{"z", dtype, 2, {count / 5, 5}, MGK_DTYPE_F32, values},
                                     {"a", dtype, 0, {0}, MGK_DTYPE_F32, values}};
    assert_ok(mgk_safetensors_write(path, true, views, 2, &(mgk_metadata){"format", "pt"}, 1));
}

/* Every type converts to both kinds of numbers, whole and in parts, beyond a chunk. */
static void test_conversions(void **state)
{
    (void)state;
    static const mgk_dtype dtypes[] = {MGK_DTYPE_F64, MGK_DTYPE_F32, MGK_DTYPE_F16, MGK_DTYPE_BF16};
    float *values, *floats;
    double *doubles;
    mgk_tensors *tensors;
    assert_ok(mgk_alloc(LONG, sizeof(*values), &values));
    assert_ok(mgk_alloc(LONG, sizeof(*floats), &floats));
    assert_ok(mgk_alloc(LONG, sizeof(*doubles), &doubles));
    for (int i = 0; i < LONG; i++)
        values[i] = (float)(i - LONG / 3) / 1024 / 1024;
    for (size_t k = 0; k < 4; k++) {
        write_file(PATH, dtypes[k], values, LONG);
        assert_ok(mgk_tensors_open(PATH, &tensors));
        assert_string_equal(mgk_tensors_container(tensors), "safetensors");
        const mgk_tensor_info *tensor = mgk_tensors_find(tensors, "z");
        assert_int_equal(tensor->count, LONG / 5 * 5);
        assert_ok(mgk_tensors_read(tensors, tensor, 0, tensor->count, MGK_DTYPE_F32, floats));
        assert_ok(mgk_tensors_read(tensors, tensor, 0, tensor->count, MGK_DTYPE_F64, doubles));
        for (size_t i = 0; i < tensor->count; i++) {
            unsigned char bytes[8];
            assert_true(mgk_dtype_encode(dtypes[k], (double)values[i], bytes));
            double expected = mgk_dtype_decode(dtypes[k], bytes);
            assert_true(doubles[i] == expected && (double)floats[i] == expected);
        }
        float part[3];
        assert_ok(mgk_tensors_read(tensors, tensor, LONG / 2, 3, MGK_DTYPE_F32, part));
        assert_memory_equal(part, floats + LONG / 2, sizeof(part));
        assert_ok(mgk_tensors_read(tensors, tensor, tensor->count, 0, MGK_DTYPE_F32, NULL));
        assert_fails(mgk_tensors_read(tensors, tensor, tensor->count - 2, 3, MGK_DTYPE_F32, part),
                     STATUS_USAGE);
        mgk_tensors_close(tensors);
    }
    mgk_free(values);
    mgk_free(floats);
    mgk_free(doubles);
    mgk_tensors_close(NULL);
}

/* Every finite 16-bit number converts to the same float as by the scalar decoder. */
static void test_half_patterns(void **state)
{
    (void)state;
    static const mgk_dtype dtypes[] = {MGK_DTYPE_F16, MGK_DTYPE_BF16};
    static float values[1 << 16], read[1 << 16];
    for (size_t k = 0; k < 2; k++) {
        size_t count = 0;
        mgk_tensors *tensors;
        for (uint32_t pattern = 0; pattern <= 0xffff; pattern++) {
            const uint16_t bits = (uint16_t)pattern;
            double value = mgk_dtype_decode(dtypes[k], (const unsigned char *)&bits);
            if (isfinite(value))
                values[count++] = (float)value;
        }
        const mgk_tensor_view view = {"a", dtypes[k], 1, {count}, MGK_DTYPE_F32, values};
        assert_ok(mgk_safetensors_write(PATH, true, &view, 1, NULL, 0));
        assert_ok(mgk_tensors_open(PATH, &tensors));
        assert_ok(
            mgk_tensors_read(tensors, mgk_tensors_at(tensors, 0), 0, count, MGK_DTYPE_F32, read));
        assert_memory_equal(read, values, count * sizeof(*values));
        mgk_tensors_close(tensors);
    }
}

static void test_listing(void **state)
{
    (void)state;
    const float values[] = {1, 2, 3, 4, 5};
    mgk_tensors *tensors;
    size_t count;
    double number;
    write_file(PATH, MGK_DTYPE_F16, values, 5);
    assert_ok(mgk_tensors_open(PATH, &tensors));
    assert_int_equal(mgk_tensors_count(tensors), 2);
    assert_string_equal(mgk_tensors_at(tensors, 0)->name, "z");
    assert_ptr_equal(mgk_tensors_find(tensors, "a"), mgk_tensors_at(tensors, 1));
    assert_null(mgk_tensors_find(tensors, "b"));
    assert_string_equal(mgk_tensors_text(tensors, "format"), "pt");
    assert_null(mgk_tensors_text(tensors, "z"));
    assert_false(mgk_tensors_number(tensors, "format", &number));
    assert_null(mgk_tensors_class(tensors, ""));
    assert_string_equal(mgk_tensors_files(tensors, &count)[0], PATH);
    assert_int_equal(count, 1);
    mgk_tensors_close(tensors);
}

static void test_folder(void **state)
{
    (void)state;
    const float values[] = {1, 2, 3, 4, 5};
    mgk_tensors *tensors;
    mkdir(FOLDER, 0777);
    assert_fails(mgk_tensors_open(FOLDER, &tensors), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), FOLDER ": a folder without model.safetensors"));
    write_file(FOLDER "/model.safetensors", MGK_DTYPE_F32, values, 5);
    assert_ok(mgk_tensors_open(FOLDER "/", &tensors));
    assert_int_equal(mgk_tensors_count(tensors), 2);
    mgk_tensors_close(tensors);
    unlink(FOLDER "/model.safetensors");
    rmdir(FOLDER);
}

/* Writes two files of two tensors each, and an index. */
static void write_shards(const char *index)
{
    const float values[] = {1, 2, 3, 4, 5};
    const mgk_tensor_view views[] = {{"a", MGK_DTYPE_F32, 1, {5}, MGK_DTYPE_F32, values},
                                     {"b", MGK_DTYPE_F32, 1, {4}, MGK_DTYPE_F32, values + 1},
                                     {"c", MGK_DTYPE_F32, 1, {3}, MGK_DTYPE_F32, values + 2}};
    mkdir(FOLDER, 0777);
    assert_ok(mgk_safetensors_write(FOLDER "/1.safetensors", true, views, 2, NULL, 0));
    assert_ok(mgk_safetensors_write(FOLDER "/2.safetensors", true, views + 2, 1, NULL, 0));
    assert_ok(mgk_safetensors_write(FOLDER "/3.safetensors", true, views + 1, 2, NULL, 0));
    assert_ok(mgk_write_file(INDEX, true, index, strlen(index)));
}

#define IN_ONE "\"a\":\"1.safetensors\",\"b\":\"1.safetensors\""
#define MAP(more) "{\"metadata\":{\"total_size\":48},\"weight_map\":{" IN_ONE more "}}"

static void test_shards(void **state)
{
    (void)state;
    mgk_tensors *tensors;
    float values[3];
    size_t count;
    write_shards(MAP(",\"c\":\"2.safetensors\""));
    assert_ok(mgk_tensors_open(FOLDER, &tensors));
    assert_string_equal(mgk_tensors_container(tensors), "safetensors, 2 files");
    assert_int_equal(mgk_tensors_count(tensors), 3);
    const mgk_tensor_info *tensor = mgk_tensors_find(tensors, "c");
    assert_ok(mgk_tensors_read(tensors, tensor, 0, 3, MGK_DTYPE_F32, values));
    assert_true(values[0] == 3 && values[2] == 5);
    assert_string_equal(mgk_tensors_files(tensors, &count)[1], FOLDER "/2.safetensors");
    assert_string_equal(mgk_tensors_files(tensors, &count)[2], INDEX);
    assert_int_equal(count, 3);
    mgk_tensors_close(tensors);
}

static void test_wrong_shards(void **state)
{
    (void)state;
    static const struct {
        const char *index, *words;
    } cases[] = {
        {MAP(",\"c\":\"1.safetensors\""), "\"c\" is not in 1.safetensors"},
        {MAP(",\"d\":\"2.safetensors\""), "\"d\" is not in 2.safetensors"},
        {MAP(",\"c\":\"3.safetensors\""), "\"b\" stands twice"},
        {MAP(",\"a\":\"2.safetensors\""), "\"a\" stands twice"},
        {MAP(",\"c\":\"../2.safetensors\""), "\"c\" is not a name in the folder"},
        {MAP(",\"c\":\"/etc/passwd\""), "\"c\" is not a name in the folder"},
        {MAP(",\"c\":\"..\""), "\"c\" is not a name in the folder"},
        {MAP(",\"c\":\"\""), "\"c\" is not a name in the folder"},
        {MAP(",\"c\":7"), "\"c\" is not a name in the folder"},
        {MAP(",\"c\":\"model.safetensors.index.json\""), "not a file of tensors"},
        {"{\"weight_map\":{}}", "without tensors"},
        {"{\"weight_map\":[]}", "without tensors"},
        {"{}", "a JSON file, but no index of tensors"},
        {"{\"weight_map\":", "JSON"},
    };
    mgk_tensors *tensors;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_shards(cases[i].index);
        assert_fails(mgk_tensors_open(INDEX, &tensors), STATUS_FORMAT);
        assert_null(tensors);
        if (!strstr(mgk_fail_message(), cases[i].words))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].index, mgk_fail_message(),
                     cases[i].words);
    }
    write_shards(MAP(",\"c\":\"4.safetensors\""));
    assert_fails(mgk_tensors_open(INDEX, &tensors), STATUS_IO);
}

static void test_refused(void **state)
{
    (void)state;
    const double large[] = {1, 1e39};
    const mgk_tensor_view view = {"a", MGK_DTYPE_F64, 1, {2}, MGK_DTYPE_F64, large};
    mgk_tensors *tensors;
    double doubles[2];
    float floats[2];
    assert_ok(mgk_safetensors_write(PATH, true, &view, 1, NULL, 0));
    assert_ok(mgk_tensors_open(PATH, &tensors));
    const mgk_tensor_info *tensor = mgk_tensors_at(tensors, 0);
    assert_ok(mgk_tensors_read(tensors, tensor, 0, 2, MGK_DTYPE_F64, doubles));
    assert_memory_equal(doubles, large, sizeof(large));
    assert_fails(mgk_tensors_read(tensors, tensor, 0, 2, MGK_DTYPE_F32, floats), STATUS_NUMERIC);
    assert_string_equal(mgk_fail_message(),
                        PATH ": tensor \"a\": element 1, 1e+39, is beyond the range of float");
    mgk_tensors_close(tensors);
    assert_ok(mgk_write_file(PATH, true, "weights", 7));
    assert_fails(mgk_tensors_open(PATH, &tensors), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "not a file of tensors"));
    assert_null(tensors);
    assert_fails(mgk_tensors_open("missing.bin", &tensors), STATUS_IO);
}

static int clean(void **state)
{
    (void)state;
    unlink(INDEX);
    unlink(FOLDER "/1.safetensors");
    unlink(FOLDER "/2.safetensors");
    unlink(FOLDER "/3.safetensors");
    rmdir(FOLDER);
    return unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions), cmocka_unit_test(test_half_patterns),
        cmocka_unit_test(test_listing),     cmocka_unit_test(test_folder),
        cmocka_unit_test(test_shards),      cmocka_unit_test(test_wrong_shards),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
