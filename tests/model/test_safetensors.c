/* SPDX-License-Identifier: MIT */
/* Valid safetensors files: written, read back and compared. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/containers/safetensors.h"
#include "model/containers/tensors.h"

#define PATH "round_trip.safetensors"

static mgk_status read_all(const mgk_tensors *file, const mgk_tensor_info *tensor, double *values)
{
    return mgk_tensors_read(file, tensor, 0, tensor->count, MGK_DTYPE_F64, values);
}

static void test_round_trip(void **state)
{
    (void)state;
    float weights[3 * 5];
    double exact[7];
    for (int i = 0; i < 15; i++)
        weights[i] = (float)(i - 7) / 3;
    for (int i = 0; i < 7; i++)
        exact[i] = 1.0 / (i + 1);
    const mgk_tensor_view views[] = {
        {.name = "z.weight", MGK_DTYPE_F32, 2, {3, 5}, MGK_DTYPE_F32, weights},
        {.name = "a.exact", MGK_DTYPE_F64, 1, {7}, MGK_DTYPE_F64, exact},
        {.name = "empty", MGK_DTYPE_F32, 2, {0, 5}, MGK_DTYPE_F32, NULL},
        {.name = "scalar \"q\" \xc3\xa9", MGK_DTYPE_F64, 0, {0}, MGK_DTYPE_F32, weights},
        {.name = "wide", MGK_DTYPE_F64, 3, {1, 15, 1}, MGK_DTYPE_F32, weights},
        {.name = "narrow", MGK_DTYPE_F32, 1, {7}, MGK_DTYPE_F64, exact},
    };
    const mgk_metadata metadata[] = {{"format", "mgk"}, {"config", "{\"family\":\"lm\"}"}};
    mgk_tensors *file;
    double values[15];
    assert_ok(mgk_safetensors_write(PATH, true, views, 6, metadata, 2));
    assert_ok(mgk_tensors_open(PATH, &file));
    assert_int_equal(mgk_tensors_count(file), 6);
    assert_string_equal(mgk_tensors_text(file, "format"), "mgk");
    assert_string_equal(mgk_tensors_text(file, "config"), "{\"family\":\"lm\"}");
    assert_null(mgk_tensors_text(file, "Format"));
    assert_null(mgk_tensors_find(file, "__metadata__"));
    assert_null(mgk_tensors_find(file, "z"));
    assert_string_equal(mgk_tensors_at(file, 0)->name, "z.weight");
    for (size_t i = 0; i < 6; i++) {
        const mgk_tensor_info *tensor = mgk_tensors_find(file, views[i].name);
        assert_non_null(tensor);
        assert_int_equal(tensor->dtype, views[i].storage);
        assert_int_equal(tensor->axes, views[i].axes);
        assert_memory_equal(tensor->shape, views[i].shape, sizeof(tensor->shape));
        assert_ok(read_all(file, tensor, values));
        for (size_t j = 0; j < tensor->count; j++) {
            double given = views[i].source == MGK_DTYPE_F32 ? (double)weights[j] : exact[j];
            double stored = views[i].storage == MGK_DTYPE_F32 ? (double)(float)given : given;
            assert_true(values[j] == stored);
        }
    }
    mgk_tensors_close(file);
}

static void test_no_tensors(void **state)
{
    (void)state;
    mgk_tensors *file;
    mgk_mapping mapping;
    assert_ok(mgk_safetensors_write(PATH, true, NULL, 0, NULL, 0));
    assert_ok(mgk_map_file(PATH, &mapping));
    assert_int_equal(mapping.size, 16);
    assert_memory_equal(mapping.data, "\x08\0\0\0\0\0\0\0{}      ", 16);
    mgk_unmap_file(&mapping);
    assert_ok(mgk_tensors_open(PATH, &file));
    assert_int_equal(mgk_tensors_count(file), 0);
    assert_null(mgk_tensors_find(file, "a"));
    assert_null(mgk_tensors_text(file, "a"));
    mgk_tensors_close(file);
}

/* The bytes follow the format, and every call writes the same. */
static void test_bytes(void **state)
{
    (void)state;
    const float values[] = {1, -2};
    const mgk_tensor_view view = {"a", MGK_DTYPE_BF16, 1, {2}, MGK_DTYPE_F32, values};
    const char header[] = "{\"__metadata__\":{\"k\":\"v\"},"
                          "\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}";
    size_t length = (sizeof(header) - 1 + 7) / 8 * 8;
    for (int repeat = 0; repeat < 2; repeat++) {
        mgk_mapping mapping;
        assert_ok(mgk_safetensors_write(PATH, true, &view, 1, &(mgk_metadata){"k", "v"}, 1));
        assert_ok(mgk_map_file(PATH, &mapping));
        assert_int_equal(mapping.size, 8 + length + 4);
        assert_int_equal(mapping.data[0], length);
        assert_memory_equal(mapping.data + 8, header, sizeof(header) - 1);
        assert_memory_equal(mapping.data + 8 + length, "\x80\x3f\x00\xc0", 4);
        mgk_unmap_file(&mapping);
    }
}

/* More elements than one chunk of the writer. */
static void test_long_tensor(void **state)
{
    (void)state;
    enum { COUNT = 3 * 4096 + 1 };
    float *values;
    double *read;
    mgk_tensors *file;
    assert_ok(mgk_alloc(COUNT, sizeof(*values), &values));
    assert_ok(mgk_alloc(COUNT, sizeof(*read), &read));
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i / 7;
    const mgk_tensor_view view = {"long", MGK_DTYPE_F32, 1, {COUNT}, MGK_DTYPE_F32, values};
    assert_ok(mgk_safetensors_write(PATH, true, &view, 1, NULL, 0));
    assert_ok(mgk_tensors_open(PATH, &file));
    assert_ok(read_all(file, mgk_tensors_at(file, 0), read));
    for (int i = 0; i < COUNT; i++)
        assert_true(read[i] == (double)values[i]);
    mgk_tensors_close(file);
    mgk_free(values);
    mgk_free(read);
}

static void test_half_rounding(void **state)
{
    (void)state;
    static const struct {
        mgk_dtype dtype;
        double value;
        uint16_t bits;
    } cases[] = {
        {MGK_DTYPE_F16, 0, 0},
        {MGK_DTYPE_F16, -0.0, 0x8000},
        {MGK_DTYPE_F16, 1, 0x3c00},
        {MGK_DTYPE_F16, -2, 0xc000},
        {MGK_DTYPE_F16, 65504, 0x7bff},
        {MGK_DTYPE_F16, 65519.99, 0x7bff},
        {MGK_DTYPE_F16, 2049, 0x6800},           /* tie, down to even */
        {MGK_DTYPE_F16, 2051, 0x6802},           /* tie, up to even */
        {MGK_DTYPE_F16, 2049 + 0x1p-40, 0x6801}, /* not a tie, although it is one in float32 */
        {MGK_DTYPE_F16, 4095.5, 0x6c00},         /* carries into the exponent */
        {MGK_DTYPE_F16, 0x1p-14, 0x0400},        /* smallest normal number */
        {MGK_DTYPE_F16, 0x1.ff8p-15, 0x03ff},    /* largest subnormal number */
        {MGK_DTYPE_F16, 0x1.ffcp-15, 0x0400},    /* rounds up to the smallest normal one */
        {MGK_DTYPE_F16, 0x1p-24, 0x0001},
        {MGK_DTYPE_F16, 0x1p-25, 0x0000},
        {MGK_DTYPE_F16, 0x1.8p-25, 0x0001},
        {MGK_DTYPE_F16, 1e-300, 0x0000},
        {MGK_DTYPE_BF16, 1, 0x3f80},
        {MGK_DTYPE_BF16, 257, 0x4380},
        {MGK_DTYPE_BF16, 259, 0x4382},
        {MGK_DTYPE_BF16, -0x1p-133, 0x8001},
        {MGK_DTYPE_BF16, 0x1.fep127, 0x7f7f},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint16_t bits = 0xffff;
        assert_true(mgk_dtype_encode(cases[i].dtype, cases[i].value, (unsigned char *)&bits));
        if (bits != cases[i].bits)
            fail_msg("%.17g: %04x, expected %04x", cases[i].value, bits, cases[i].bits);
    }
    unsigned char bytes[8] = {1, 2, 3, 4};
    assert_false(mgk_dtype_encode(MGK_DTYPE_F16, 65520, bytes));
    assert_false(mgk_dtype_encode(MGK_DTYPE_F16, -1e300, bytes));
    assert_false(mgk_dtype_encode(MGK_DTYPE_BF16, 0x1.ffp127, bytes));
    assert_false(mgk_dtype_encode(MGK_DTYPE_F32, 1e39, bytes));
    assert_false(mgk_dtype_encode(MGK_DTYPE_F64, (double)INFINITY, bytes));
    assert_false(mgk_dtype_encode(MGK_DTYPE_I32, 1, bytes));
    assert_memory_equal(bytes, "\1\2\3\4\0\0\0\0", 8);
}

/* Every finite 16-bit pattern decodes to the number that encodes to it; bfloat16 is a truncated
 * float32. */
static void test_half_patterns(void **state)
{
    (void)state;
    for (uint32_t pattern = 0; pattern <= 0xffff; pattern++) {
        uint16_t bits = (uint16_t)pattern, back = 0;
        double half = mgk_dtype_decode(MGK_DTYPE_F16, (unsigned char *)&bits);
        assert_int_equal(isfinite(half), (bits & 0x7c00) != 0x7c00);
        if (isfinite(half)) {
            assert_true(mgk_dtype_encode(MGK_DTYPE_F16, half, (unsigned char *)&back));
            assert_int_equal(back, bits);
        }
        uint32_t extended = pattern << 16;
        float single;
        memcpy(&single, &extended, sizeof(single));
        double brain = mgk_dtype_decode(MGK_DTYPE_BF16, (unsigned char *)&bits);
        assert_true(brain == (double)single || (isnan(brain) && isnan(single)));
        if (isfinite(brain)) {
            assert_true(mgk_dtype_encode(MGK_DTYPE_BF16, brain, (unsigned char *)&back));
            assert_int_equal(back, bits);
        }
    }
}

/* A failed write leaves the old file unchanged. */
static void test_write_refused(void **state)
{
    (void)state;
    const float values[] = {1, (float)NAN};
    const double large[] = {1e39, 1};
    mgk_tensor_view good = {"a", MGK_DTYPE_F32, 1, {1}, MGK_DTYPE_F32, values};
    mgk_tensor_view twice[] = {good, good};
    assert_ok(mgk_safetensors_write(PATH, true, &good, 1, NULL, 0));
    assert_fails(mgk_safetensors_write(PATH, false, &good, 1, NULL, 0), STATUS_EXISTS);
    assert_fails(mgk_safetensors_write(PATH, true, twice, 2, NULL, 0), STATUS_FORMAT);
    const mgk_metadata pairs[] = {{"k", "1"}, {"k", "2"}};
    assert_fails(mgk_safetensors_write(PATH, true, &good, 1, pairs, 2), STATUS_FORMAT);
    static const struct {
        const char *name;
        mgk_dtype storage, source;
        int axes;
        size_t shape[2];
        mgk_status expected;
    } cases[] = {
        {"a", MGK_DTYPE_F32, MGK_DTYPE_F32, 1, {2, 0}, STATUS_NUMERIC},
        {"a", MGK_DTYPE_F32, MGK_DTYPE_F64, 1, {2, 0}, STATUS_NUMERIC},
        {"a", MGK_DTYPE_I32, MGK_DTYPE_F32, 1, {1, 0}, STATUS_UNSUPPORTED},
        {"a", MGK_DTYPE_F32, MGK_DTYPE_F16, 1, {1, 0}, STATUS_UNSUPPORTED},
        {"a", MGK_DTYPE_F32, MGK_DTYPE_F32, 9, {1, 0}, STATUS_UNSUPPORTED},
        {"a", MGK_DTYPE_F32, MGK_DTYPE_F32, 2, {SIZE_MAX, 2}, STATUS_FORMAT},
        {"a\n", MGK_DTYPE_F32, MGK_DTYPE_F32, 1, {1, 0}, STATUS_FORMAT},
        {"__metadata__", MGK_DTYPE_F32, MGK_DTYPE_F32, 1, {1, 0}, STATUS_FORMAT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_tensor_view view = {
            cases[i].name,   cases[i].storage,
            cases[i].axes,   {0},
            cases[i].source, cases[i].source == MGK_DTYPE_F64 ? (const void *)large : values};
        memcpy(view.shape, cases[i].shape, sizeof(cases[i].shape));
        assert_fails(mgk_safetensors_write(PATH, true, &view, 1, NULL, 0), cases[i].expected);
        assert_non_null(strstr(mgk_fail_message(), PATH));
    }
    assert_fails(mgk_safetensors_write("no/such/folder", true, &good, 1, NULL, 0), STATUS_IO);
    mgk_safetensors *file;
    assert_ok(mgk_safetensors_open(PATH, &file));
    assert_int_equal(mgk_safetensors_count(file), 1);
    mgk_safetensors_close(file);
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
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_bytes),         cmocka_unit_test(test_long_tensor),
        cmocka_unit_test(test_half_rounding), cmocka_unit_test(test_half_patterns),
        cmocka_unit_test(test_write_refused),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
