/* SPDX-License-Identifier: MIT */
/* PyTorch's files, made by tests/golden/containers.py: every container gives the same tensors. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/containers/tensors.h"

#define GOLDEN MGK_TEST_DATA "/../golden/containers/"

static mgk_tensors *open_golden(const char *name)
{
    char path[1024];
    mgk_tensors *tensors;
    snprintf(path, sizeof(path), "%s%s", GOLDEN, name);
    assert_ok(mgk_tensors_open(path, &tensors));
    return tensors;
}

static const mgk_tensor_info *find(const mgk_tensors *tensors, const char *prefix, const char *name)
{
    char full[256];
    snprintf(full, sizeof(full), "%s%s", prefix, name);
    const mgk_tensor_info *tensor = mgk_tensors_find(tensors, full);
    if (!tensor)
        fail_msg("no tensor \"%s\"", full);
    return tensor;
}

/* Element i of a tensor of n elements in storage order, as in the script. */
static double ramp(long i, long n)
{
    return (double)(i - n / 3) / 8;
}

/* The tensor has this shape and the elements `index` of a ramp of n, read whole and one by one. */
static void assert_tensor(const mgk_tensors *tensors, const mgk_tensor_info *tensor,
                          mgk_dtype dtype, int axes, const size_t *shape, const long *index, long n)
{
    float floats[64];
    double doubles[64], one;
    assert_int_equal(tensor->dtype, dtype);
    assert_int_equal(tensor->axes, axes);
    for (int axis = 0; axis < axes; axis++)
        assert_int_equal(tensor->shape[axis], shape[axis]);
    assert_true(tensor->count <= 64);
    assert_ok(mgk_tensors_read(tensors, tensor, 0, tensor->count, MGK_DTYPE_F32, floats));
    assert_ok(mgk_tensors_read(tensors, tensor, 0, tensor->count, MGK_DTYPE_F64, doubles));
    for (size_t i = 0; i < tensor->count; i++) {
        double expected = ramp(index ? index[i] : (long)i, n);
        assert_ok(mgk_tensors_read(tensors, tensor, i, 1, MGK_DTYPE_F64, &one));
        if (doubles[i] != expected || (double)floats[i] != expected || one != expected)
            fail_msg("%s: element %zu is %g, expected %g", tensor->name, i, doubles[i], expected);
    }
}

#define STATE "model_state_dict."

static void check_types(const mgk_tensors *tensors)
{
    const size_t shape[] = {3, 5};
    double values[8];
    assert_tensor(tensors, find(tensors, STATE, "a.weight"), MGK_DTYPE_F32, 2, shape, NULL, 15);
    assert_tensor(tensors, find(tensors, STATE, "a.f64"), MGK_DTYPE_F64, 2, shape, NULL, 15);
    assert_tensor(tensors, find(tensors, STATE, "a.f16"), MGK_DTYPE_F16, 2, shape, NULL, 15);
    assert_tensor(tensors, find(tensors, STATE, "a.bf16"), MGK_DTYPE_BF16, 2, shape, NULL, 15);
    assert_tensor(tensors, find(tensors, STATE, "scalar"), MGK_DTYPE_F32, 0, NULL, NULL, 1);
    assert_tensor(tensors, find(tensors, STATE, "empty"), MGK_DTYPE_F32, 2, (size_t[]){0, 5}, NULL,
                  0);
    assert_tensor(tensors, find(tensors, "parameter", ""), MGK_DTYPE_F32, 1, (size_t[]){5}, NULL,
                  5);
    assert_tensor(tensors, find(tensors, "more.0.exp_avg", ""), MGK_DTYPE_F32, 1, (size_t[]){5},
                  NULL, 5);
    const mgk_tensor_info *ids = find(tensors, STATE, "a.ids");
    assert_int_equal(ids->dtype, MGK_DTYPE_I64);
    assert_int_equal(ids->count, 7);
    assert_fails(mgk_tensors_read(tensors, ids, 0, 7, MGK_DTYPE_F64, values), STATUS_UNSUPPORTED);
}

/* base is [4, 6]; the others are views of it, except swapped, a view of a ramp [2, 3, 4]. */
static void check_views(const mgk_tensors *tensors)
{
    long turned[24], wide[18], swapped[24];
    const long column[] = {1, 7, 13, 19}, row[] = {12, 13, 14, 15, 16, 17};
    for (long i = 0; i < 24; i++) {
        turned[i] = i % 4 * 6 + i / 4;
        swapped[i] = i % 2 * 12 + i / 2 % 3 * 4 + i / 6;
    }
    for (long i = 0; i < 18; i++)
        wide[i] = 6 + i % 6;
    assert_tensor(tensors, find(tensors, STATE, "base"), MGK_DTYPE_F32, 2, (size_t[]){4, 6}, NULL,
                  24);
    assert_tensor(tensors, find(tensors, STATE, "turned"), MGK_DTYPE_F32, 2, (size_t[]){6, 4},
                  turned, 24);
    assert_tensor(tensors, find(tensors, STATE, "row"), MGK_DTYPE_F32, 1, (size_t[]){6}, row, 24);
    assert_tensor(tensors, find(tensors, STATE, "column"), MGK_DTYPE_F32, 1, (size_t[]){4}, column,
                  24);
    assert_tensor(tensors, find(tensors, STATE, "wide"), MGK_DTYPE_F32, 2, (size_t[]){3, 6}, wide,
                  24);
    assert_tensor(tensors, find(tensors, STATE, "swapped"), MGK_DTYPE_F32, 3, (size_t[]){4, 3, 2},
                  swapped, 24);
}

static void assert_number(const mgk_tensors *tensors, const char *name, double expected)
{
    double number;
    if (!mgk_tensors_number(tensors, name, &number) || number != expected)
        fail_msg("\"%s\" is not %g", name, expected);
}

static void check_values(const mgk_tensors *tensors)
{
    double number;
    assert_number(tensors, "epoch", 12);
    assert_number(tensors, "loss", 2.5);
    assert_number(tensors, "done", 1);
    assert_number(tensors, "sizes.1", 5);
    assert_string_equal(mgk_tensors_text(tensors, "name"), "tiny");
    assert_false(mgk_tensors_number(tensors, "nothing", &number));
    assert_null(mgk_tensors_text(tensors, "epoch"));
    assert_null(mgk_tensors_class(tensors, ""));
    assert_string_equal(mgk_tensors_class(tensors, "shape"), "torch.Size");
}

static void test_containers(void **state)
{
    (void)state;
    static const struct {
        const char *name, *container;
    } files[] = {
        {"zip.pt", "PyTorch zip"},       {"old_zip.pt", "PyTorch zip"},
        {"deflated.pt", "PyTorch zip"},  {"protocol5.pt", "PyTorch zip"},
        {"legacy.pt", "PyTorch legacy"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        mgk_tensors *tensors = open_golden(files[i].name);
        assert_string_equal(mgk_tensors_container(tensors), files[i].container);
        assert_int_equal(mgk_tensors_count(tensors), 15);
        assert_string_equal(mgk_tensors_at(tensors, 1)->name, "model_state_dict.a.f64");
        check_types(tensors);
        check_views(tensors);
        check_values(tensors);
        mgk_tensors_close(tensors);
    }
}

/* A pickled module gives the names of its state dict; it also contains attributes and a cycle. */
static void test_modules(void **state)
{
    (void)state;
    static const char *const files[] = {"module.pt", "module_legacy.pt"};
    for (size_t i = 0; i < 2; i++) {
        mgk_tensors *tensors = open_golden(files[i]);
        assert_string_equal(mgk_tensors_class(tensors, ""), "__main__.Model");
        assert_string_equal(mgk_tensors_class(tensors, "layers.1"), "__main__.Attention");
        assert_number(tensors, "layers.0.n_head", 4);
        assert_number(tensors, "layers.1.scale", 0.125);
        assert_number(tensors, "layers.1.cutoffs.1", 40);
        assert_number(tensors, "training", 1);
        assert_string_equal(mgk_tensors_text(tensors, "layers.0.kind"), "mgk");
        assert_int_equal(mgk_tensors_count(tensors), 7);
        static const char *const weights[] = {"layers.0.weight", "layers.1.weight", "tied",
                                              "out.weight"};
        for (size_t k = 0; k < 4; k++)
            assert_tensor(tensors, find(tensors, weights[k], ""), MGK_DTYPE_F32, 2,
                          (size_t[]){3, 5}, NULL, 15);
        assert_tensor(tensors, find(tensors, "out.bias", ""), MGK_DTYPE_F32, 1, (size_t[]){3}, NULL,
                      3);
        assert_int_equal(find(tensors, "layers.0.mask", "")->dtype, MGK_DTYPE_U8);
        mgk_tensors_close(tensors);
    }
}

static void test_shards(void **state)
{
    (void)state;
    mgk_tensors *tensors = open_golden("shards");
    assert_string_equal(mgk_tensors_container(tensors), "PyTorch zip, 2 files");
    assert_int_equal(mgk_tensors_count(tensors), 3);
    assert_tensor(tensors, find(tensors, "c", ""), MGK_DTYPE_F32, 1, (size_t[]){5}, NULL, 5);
    assert_tensor(tensors, find(tensors, "a", ""), MGK_DTYPE_F32, 2, (size_t[]){3, 5}, NULL, 15);
    mgk_tensors_close(tensors);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *words;
    } files[] = {
        {"harm.pt", "/harm.pt: its pickle calls posix.system; not read"},
        {"harm_legacy.pt", "/harm_legacy.pt: its pickle calls __builtin__.eval; not read"},
        {"big_endian.pt", "/big_endian.pt: numbers of byte order \"big\", expected little"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[1024];
        mgk_tensors *tensors;
        snprintf(path, sizeof(path), "%s%s", GOLDEN, files[i].name);
        assert_fails(mgk_tensors_open(path, &tensors), STATUS_UNSUPPORTED);
        assert_null(tensors);
        if (!strstr(mgk_fail_message(), files[i].words))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), files[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
