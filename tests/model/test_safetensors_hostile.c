/* SPDX-License-Identifier: MIT */
/* Invalid safetensors files: each gives a precise error, none does harm. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/containers/safetensors.h"
#include "model/containers/tensors.h"

#define PATH "hostile.safetensors"
#define DATA_SIZE 16

/* A tensor entry of the header, 4 floats by default. */
#define ENTRY(dtype, shape, offsets) \
    "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define GOOD "{\"a\":" ENTRY("\"F32\"", "[2,2]", "[0,16]") "}"

/* Writes a file with this header and DATA_SIZE bytes of data. */
static void put(const char *header, uint64_t length)
{
    static const unsigned char data[DATA_SIZE];
    unsigned char bytes[4096];
    size_t size = strlen(header);
    assert_true(sizeof(length) + size + DATA_SIZE <= sizeof(bytes));
    memcpy(bytes, &length, sizeof(length));
    memcpy(bytes + sizeof(length), header, size);
    memcpy(bytes + sizeof(length) + size, data, DATA_SIZE);
    assert_ok(mgk_write_file(PATH, true, bytes, sizeof(length) + size + DATA_SIZE));
}

static void assert_refused(const char *header, mgk_status expected, const char *words)
{
    mgk_safetensors *file;
    mgk_status status = mgk_safetensors_open(PATH, &file);
    if (status != expected)
        fail_msg("%s: %s", header, mgk_status_text(status));
    assert_null(file);
    const char *message = mgk_fail_message();
    if (strncmp(message, PATH ": ", strlen(PATH ": ")) != 0 || !strstr(message, words))
        fail_msg("%s: \"%s\" does not say \"%s\"", header, message, words);
}

static void test_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        mgk_status expected;
        const char *words;
    } cases[] = {
        {"", STATUS_FORMAT, "JSON"},
        {"\x93NUMPY", STATUS_FORMAT, "JSON"},
        {"[]", STATUS_FORMAT, "JSON"},
        {"{", STATUS_FORMAT, "JSON"},
        {"{} {}", STATUS_FORMAT, "JSON"},
        {"{}", STATUS_FORMAT, "16 bytes"},
        {"{\"a\":1}", STATUS_FORMAT, "\"a\" has no dtype"},
        {"{\"a\":{}}", STATUS_FORMAT, "\"a\" has no dtype"},
        {"{\"a\":" ENTRY("7", "[4]", "[0,16]") "}", STATUS_FORMAT, "dtype"},
        {"{\"a\":" ENTRY("\"F8_E4M3\"", "[16]", "[0,16]") "}", STATUS_UNSUPPORTED, "F8_E4M3"},
        {"{\"a\":" ENTRY("\"f32\"", "[4]", "[0,16]") "}", STATUS_UNSUPPORTED, "f32"},
        {"{\"a\":" ENTRY("\"F32\"", "4", "[0,16]") "}", STATUS_FORMAT, "shape is not an array"},
        {"{\"a\":" ENTRY("\"F32\"", "[-4]", "[0,16]") "}", STATUS_FORMAT, "shape"},
        {"{\"a\":" ENTRY("\"F32\"", "[4.5]", "[0,16]") "}", STATUS_FORMAT, "shape"},
        {"{\"a\":" ENTRY("\"F32\"", "[\"4\"]", "[0,16]") "}", STATUS_FORMAT, "shape"},
        {"{\"a\":" ENTRY("\"F32\"", "[1e400]", "[0,16]") "}", STATUS_FORMAT, "shape"},
        {"{\"a\":" ENTRY("\"F32\"", "[18446744073709551616]", "[0,16]") "}", STATUS_FORMAT,
         "shape"},
        {"{\"a\":" ENTRY("\"F32\"", "[4294967296,4294967296]", "[0,16]") "}", STATUS_FORMAT,
         "too large"},
        {"{\"a\":" ENTRY("\"F32\"", "[4,4294967296,1073741824]", "[0,16]") "}", STATUS_FORMAT,
         "too large"},
        {"{\"a\":" ENTRY("\"F32\"", "[4611686018427387908]", "[0,16]") "}", STATUS_FORMAT, "shape"},
        {"{\"a\":" ENTRY("\"F32\"", "[1,1,1,1,1,1,1,1,4]", "[0,16]") "}", STATUS_UNSUPPORTED,
         "more than 8"},
        {"{\"a\":" ENTRY("\"F32\"", "[5]", "[0,16]") "}", STATUS_FORMAT, "expected 20"},
        {"{\"a\":" ENTRY("\"F64\"", "[4]", "[0,16]") "}", STATUS_FORMAT, "expected 32"},
        {"{\"a\":" ENTRY("\"F32\"", "[5]", "[0,20]") "}", STATUS_FORMAT, "within the 16 bytes"},
        {"{\"a\":" ENTRY("\"F32\"", "[4]", "[16,0]") "}", STATUS_FORMAT, "data_offsets"},
        {"{\"a\":" ENTRY("\"F32\"", "[4]", "[-16,0]") "}", STATUS_FORMAT, "data_offsets"},
        {"{\"a\":" ENTRY("\"F32\"", "[4]", "[0]") "}", STATUS_FORMAT, "data_offsets"},
        {"{\"a\":" ENTRY("\"F32\"", "[4]", "[0,16,16]") "}", STATUS_UNSUPPORTED, "data_offsets"},
        {"{\"a\":" ENTRY("\"F32\"", "[4]", "[9007199254740992,16]") "}", STATUS_FORMAT,
         "data_offsets"},
        {"{\"a\":" ENTRY("\"F32\"", "[4]", "null") "}", STATUS_FORMAT, "data_offsets"},
        {"{\"a\":" ENTRY("\"F32\"", "[3]", "[0,12]") "}", STATUS_FORMAT, "4 bytes at the end"},
        {"{\"a\":" ENTRY("\"F32\"", "[3]", "[4,16]") "}", STATUS_FORMAT, "4 bytes before"},
        {"{\"a\":" ENTRY("\"F32\"", "[4]", "[0,16]") ",\"b\":" ENTRY("\"F32\"", "[1]",
                                                                     "[8,12]") "}",
         STATUS_FORMAT, "overlap"},
        {"{\"a\":" ENTRY("\"F32\"", "[4]", "[0,16]") ",\"b\":" ENTRY("\"F32\"", "[0]", "[8,8]") "}",
         STATUS_FORMAT, "overlap"},
        {"{\"a\":" ENTRY("\"F32\"", "[2]", "[0,8]") ",\"b\":" ENTRY("\"F32\"", "[1]",
                                                                    "[12,16]") "}",
         STATUS_FORMAT, "4 bytes before"},
        {"{\"a\":" ENTRY("\"F32\"", "[2]", "[0,8]") ",\"a\":" ENTRY("\"F32\"", "[2]", "[8,16]") "}",
         STATUS_FORMAT, "twice"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}",
         STATUS_FORMAT, "twice"},
        {"{\"\\u001b[2J\":" ENTRY("\"F32\"", "[4]", "[0,16]") "}", STATUS_FORMAT, "control"},
        {"{\"__metadata__\":1,\"a\":" ENTRY("\"F32\"", "[4]", "[0,16]") "}", STATUS_FORMAT,
         "metadata"},
        {"{\"__metadata__\":{\"k\":1},\"a\":" ENTRY("\"F32\"", "[4]", "[0,16]") "}", STATUS_FORMAT,
         "metadata"},
        {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"},\"a\":" ENTRY("\"F32\"", "[4]", "[0,16]") "}",
         STATUS_FORMAT, "twice"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put(cases[i].header, strlen(cases[i].header));
        assert_refused(cases[i].header, cases[i].expected, cases[i].words);
    }
}

/* The entries of the table above are accepted if nothing is wrong with them. */
static void test_good_headers(void **state)
{
    (void)state;
    static const char *const headers[] = {
        GOOD,
        " " GOOD "  \n",
        "{\"b\":" ENTRY("\"F32\"", "[2]", "[8,16]") ",\"a\":" ENTRY("\"F32\"", "[2]", "[0,8]") "}",
        "{\"b\":" ENTRY("\"BOOL\"", "[16]", "[0,16]") ",\"a\":" ENTRY("\"I64\"", "[0]",
                                                                      "[0,0]") "}",
        "{\"a\":" ENTRY("\"U8\"", "[1,1,1,2,2,2,2,1]", "[0,16]") ",\"__metadata__\":{}}",
    };
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        mgk_safetensors *file;
        put(headers[i], strlen(headers[i]));
        assert_ok(mgk_safetensors_open(PATH, &file));
        assert_in_range(mgk_safetensors_count(file), 1, 2);
        assert_ok(mgk_safetensors_read_bytes(file, mgk_safetensors_at(file, 0), 0, 0, NULL));
        mgk_safetensors_close(file);
    }
}

static void test_header_length(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0,         1,         sizeof(GOOD), sizeof(GOOD) + DATA_SIZE,
                                       100000000, 100000001, UINT64_MAX,   UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        mgk_safetensors *file;
        put(GOOD, lengths[i]);
        assert_fails(mgk_safetensors_open(PATH, &file), STATUS_FORMAT);
    }
}

/* Millions of values in a short text are refused before they are parsed. */
static void test_many_values(void **state)
{
    (void)state;
    enum { LENGTH = 9 << 20 };
    unsigned char *bytes;
    mgk_safetensors *file;
    assert_ok(mgk_alloc(LENGTH + 8, 1, &bytes));
    memcpy(bytes, &(uint64_t){LENGTH}, 8);
    memcpy(bytes + 8, "{\"a\":[1", 7);
    for (size_t i = 15; i + 4 < LENGTH + 8; i += 2)
        memcpy(bytes + i, ",1", 2);
    memcpy(bytes + LENGTH + 8 - 3, "] }", 3);
    assert_ok(mgk_write_file(PATH, true, bytes, LENGTH + 8));
    assert_fails(mgk_safetensors_open(PATH, &file), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "values"));
    mgk_free(bytes);
}

static void test_not_a_file(void **state)
{
    (void)state;
    mgk_safetensors *file;
    assert_fails(mgk_safetensors_open("missing.safetensors", &file), STATUS_IO);
    assert_fails(mgk_safetensors_open(".", &file), STATUS_IO);
    assert_ok(mgk_write_file(PATH, true, "", 0));
    assert_refused("empty file", STATUS_FORMAT, "too short");
    mgk_safetensors_close(NULL);
}

/* The bytes of a small valid file with two tensors and metadata. */
static mgk_status valid_file(unsigned char **bytes, size_t *size)
{
    const float values[] = {1, 2, 3, 4};
    const mgk_tensor_view views[] = {
        {"a", MGK_DTYPE_F32, 2, {2, 2}, MGK_DTYPE_F32, values},
        {"b", MGK_DTYPE_F16, 1, {3}, MGK_DTYPE_F32, values},
    };
    mgk_mapping mapping;
    TRY(mgk_safetensors_write(PATH, true, views, 2, &(mgk_metadata){"format", "mgk"}, 1));
    TRY(mgk_map_file(PATH, &mapping));
    *size = mapping.size;
    TRY(mgk_alloc(*size, 1, bytes));
    memcpy(*bytes, mapping.data, *size);
    mgk_unmap_file(&mapping);
    return STATUS_OK;
}

static void test_truncated(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t size;
    mgk_safetensors *file;
    assert_ok(valid_file(&bytes, &size));
    for (size_t cut = 0; cut < size; cut++) {
        assert_ok(mgk_write_file(PATH, true, bytes, cut));
        assert_refused("truncated", STATUS_FORMAT, "");
    }
    assert_ok(mgk_write_file(PATH, true, bytes, size));
    assert_ok(mgk_safetensors_open(PATH, &file));
    mgk_safetensors_close(file);
    mgk_free(bytes);
}

static mgk_status read_all(const mgk_tensors *file, const mgk_tensor_info *tensor, double *values)
{
    return mgk_tensors_read(file, tensor, 0, tensor->count, MGK_DTYPE_F64, values);
}

/* Opens PATH and reads everything in it into arrays of exactly the promised size. */
static void read_everything(void)
{
    mgk_tensors *file;
    if (mgk_tensors_open(PATH, &file) != STATUS_OK) {
        assert_null(file);
        return;
    }
    for (size_t i = 0; i < mgk_tensors_count(file); i++) {
        const mgk_tensor_info *tensor = mgk_tensors_at(file, i);
        double *values;
        assert_ptr_equal(mgk_tensors_find(file, tensor->name), tensor);
        assert_ok(mgk_alloc(tensor->count, sizeof(*values), &values));
        if (read_all(file, tensor, values) == STATUS_OK) {
            for (size_t j = 0; j < tensor->count; j++)
                assert_true(isfinite(values[j]));
        }
        mgk_free(values);
    }
    mgk_tensors_close(file);
}

/* Every byte takes several values in turn; the reader accepts or refuses the file but does
 * no harm. */
static void test_mutations(void **state)
{
    (void)state;
    static const unsigned char changes[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff};
    unsigned char *bytes;
    size_t size;
    assert_ok(valid_file(&bytes, &size));
    for (size_t place = 0; place < size; place++) {
        for (size_t i = 0; i < sizeof(changes); i++) {
            bytes[place] ^= changes[i];
            FILE *stream = fopen(PATH, "wb"); /* without the fsync of mgk_write_file */
            assert_non_null(stream);
            assert_int_equal(fwrite(bytes, 1, size, stream), size);
            assert_int_equal(fclose(stream), 0);
            read_everything();
            bytes[place] ^= changes[i];
        }
    }
    mgk_free(bytes);
}

static void test_not_finite(void **state)
{
    (void)state;
    static const unsigned char values[][2] = {
        {0x00, 0x7c}, {0x00, 0xfc}, {0x01, 0x7c}, {0xff, 0xff}};
    unsigned char *bytes;
    size_t size;
    assert_ok(valid_file(&bytes, &size));
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        mgk_tensors *file;
        double read[3];
        memcpy(bytes + size - 2, values[i], 2); /* the last element of "b" */
        assert_ok(mgk_write_file(PATH, true, bytes, size));
        assert_ok(mgk_tensors_open(PATH, &file));
        const mgk_tensor_info *tensor = mgk_tensors_find(file, "b");
        assert_fails(read_all(file, tensor, read), STATUS_NUMERIC);
        assert_non_null(strstr(mgk_fail_message(), PATH ": tensor \"b\": element 2"));
        mgk_tensors_close(file);
    }
    mgk_free(bytes);
}

/* A double beyond float32's range is a number; integers are refused. */
static void test_wrong_reads(void **state)
{
    (void)state;
    const double large[] = {1, -1e39};
    const mgk_tensor_view view = {"a", MGK_DTYPE_F64, 1, {2}, MGK_DTYPE_F64, large};
    mgk_tensors *file;
    double read[4];
    assert_ok(mgk_safetensors_write(PATH, true, &view, 1, NULL, 0));
    assert_ok(mgk_tensors_open(PATH, &file));
    assert_ok(read_all(file, mgk_tensors_at(file, 0), read));
    assert_true(read[1] == -1e39);
    mgk_tensors_close(file);
    const char *integers = "{\"a\":" ENTRY("\"I32\"", "[4]", "[0,16]") "}";
    put(integers, strlen(integers));
    assert_ok(mgk_tensors_open(PATH, &file));
    assert_fails(read_all(file, mgk_tensors_at(file, 0), read), STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "I32"));
    mgk_tensors_close(file);
}

static int remove_file(void **state)
{
    (void)state;
    unlink(PATH);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),       cmocka_unit_test(test_good_headers),
        cmocka_unit_test(test_header_length), cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_not_a_file),    cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_mutations),     cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_wrong_reads),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
