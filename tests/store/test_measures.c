/* SPDX-License-Identifier: MIT */
/* Measures in HDF5: names, shapes, attributes, scales and values, seen by libhdf5 alone. */
#include <hdf5.h>
#include <hdf5_hl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "store/schema/measures.h"
#include "test.h"

#define PATH "measures.h5"

enum { SAMPLES = 3, LAYERS = 2, HEADS = 4, COMPONENTS = 3, ARRAYS = 5 };

static const int32_t samples[SAMPLES] = {7, 8, 11}, layers[LAYERS] = {1, 3};

static const mgk_measure_array list[ARRAYS] = {
    {"one", "f(A)", "Author 2007", "layer", "nats", 2, false, false},
    {"two", "g(A)", "", "head", "", 3, false, false},
    {"three", "h(A, B)", "Other 2021", "pair", "tokens", 4, false, false},
    {"two_each", "g(A, r)", "", "head", "", 4, true, false},
    {"three", "h(A, B)", "Other 2021", "pair", "tokens", 5, false, true}};
static const size_t sizes[ARRAYS] = {LAYERS, LAYERS *HEADS, LAYERS *HEADS *HEADS,
                                     LAYERS *HEADS *COMPONENTS, LAYERS *HEADS *LAYERS *HEADS};

/* Value number i of a sample; one is not there. */
static double value_of(size_t input, size_t array, size_t sample, size_t i)
{
    const double value = (double)(1000 * input + 300 * array + 100 * sample + i) / 7;
    return array == 1 && sample == 1 && i == 3 ? (double)NAN : value;
}

static void write_values(mgk_measures_file *file, size_t input, size_t array)
{
    double values[LAYERS * HEADS * LAYERS * HEADS];
    for (size_t s = SAMPLES; s-- > 0;) { /* any order */
        for (size_t i = 0; i < sizes[array]; i++)
            values[i] = value_of(input, array, s, i);
        assert_ok(mgk_measures_write(file, array, s, values));
    }
}

static void write_file(size_t inputs, bool commit)
{
    static const char *const names[] = {"a.h5", "b.h5"};
    mgk_measures_file *file;
    mgk_measure_arrays arrays[2];
    assert_ok(mgk_measures_create(PATH, true, "{\"x\":1}", inputs, &file));
    for (size_t i = 0; i < inputs; i++) {
        arrays[i] = (mgk_measure_arrays){.name = names[i],
                                         .sample_count = SAMPLES,
                                         .layer_count = LAYERS,
                                         .head_count = HEADS,
                                         .component_count = COMPONENTS,
                                         .samples = samples,
                                         .layers = layers,
                                         .arrays = list,
                                         .array_count = ARRAYS};
        assert_ok(mgk_measures_add_input(file, &arrays[i]));
        for (size_t a = 0; a < ARRAYS; a++)
            write_values(file, i, a);
    }
    if (commit)
        assert_ok(mgk_measures_commit(file));
    mgk_measures_discard(file);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void assert_text(hid_t object, const char *name, const char *expected)
{
    char *text = NULL;
    assert_true(H5LTget_attribute_string(object, ".", name, (char *)&text) >= 0);
    assert_string_equal(text, expected);
    H5free_memory(text);
}

static void check_scale(hid_t group, const char *name, hsize_t count, const int32_t *expected)
{
    int numbers[HEADS], axes;
    hsize_t shape[4];
    hid_t scale = H5Dopen2(group, name, H5P_DEFAULT);
    assert_true(scale >= 0 && H5DSis_scale(scale) > 0);
    assert_true(H5LTget_dataset_ndims(group, name, &axes) >= 0 && axes == 1);
    assert_true(H5LTget_dataset_info(group, name, shape, NULL, NULL) >= 0);
    assert_int_equal(shape[0], count);
    assert_true(H5LTread_dataset_int(group, name, numbers) >= 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(numbers[i], expected ? expected[i] : (int)i);
    H5Dclose(scale);
}

/* Axis number `axis` has the scale of its name, and is labelled by it. */
static void check_axis(hid_t group, hid_t dataset, unsigned axis, const char *name)
{
    char label[20];
    hid_t scale = H5Dopen2(group, name, H5P_DEFAULT);
    assert_int_equal(H5DSis_attached(dataset, scale, axis), 1);
    assert_int_equal(H5DSget_num_scales(dataset, axis), 1);
    assert_true(H5DSget_label(dataset, axis, label, sizeof(label)) > 0);
    assert_string_equal(label, name);
    H5Dclose(scale);
}

static void check_values(hid_t dataset, size_t input, size_t array)
{
    double values[SAMPLES * LAYERS * HEADS * LAYERS * HEADS];
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t i = 0; i < sizes[array]; i++) {
            const double found = values[s * sizes[array] + i];
            const double expected = value_of(input, array, s, i);
            assert_true(isnan(expected) ? isnan(found) : found == expected);
        }
}

static void check_array(hid_t group, size_t input, size_t array)
{
    const bool components = list[array].components, across = list[array].across;
    const hsize_t shape[] = {SAMPLES, LAYERS, HEADS,
                             components ? COMPONENTS
                             : across   ? LAYERS
                                        : HEADS,
                             HEADS};
    const char *const labels[] = {"sample", "layer", "head",
                                  components ? "component"
                                  : across   ? "other_layer"
                                             : "other",
                                  "other_head"};
    char name[40];
    hsize_t found[5];
    H5T_class_t class;
    size_t bytes;
    int axes;
    snprintf(name, sizeof(name), "%s/%s", across ? "across_layers" : "measures", list[array].name);
    assert_true(H5LTget_dataset_ndims(group, name, &axes) >= 0);
    assert_int_equal(axes, list[array].axes);
    assert_true(H5LTget_dataset_info(group, name, found, &class, &bytes) >= 0);
    assert_memory_equal(found, shape, (size_t)axes * sizeof(hsize_t));
    assert_true(class == H5T_FLOAT && bytes == 8);
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    for (int axis = 0; axis < axes; axis++)
        check_axis(group, dataset, (unsigned)axis, labels[axis]);
    assert_text(dataset, "formula", list[array].formula);
    assert_text(dataset, "source", list[array].source);
    assert_text(dataset, "level", list[array].level);
    assert_text(dataset, "unit", list[array].unit);
    assert_int_equal(H5Aexists(dataset, "components") > 0, components);
    check_values(dataset, input, array);
    H5Dclose(dataset);
}

static void check_input(hid_t group, size_t input)
{
    H5G_info_t measures;
    check_scale(group, "sample", SAMPLES, samples);
    check_scale(group, "layer", LAYERS, layers);
    check_scale(group, "head", HEADS, NULL);
    check_scale(group, "other", HEADS, NULL);
    check_scale(group, "component", COMPONENTS, NULL);
    check_scale(group, "other_layer", LAYERS, layers);
    check_scale(group, "other_head", HEADS, NULL);
    for (size_t a = 0; a < ARRAYS; a++)
        check_array(group, input, a);
    assert_true(H5Gget_info_by_name(group, "measures", &measures, H5P_DEFAULT) >= 0);
    assert_int_equal(measures.nlinks, ARRAYS - 1);
}

static hid_t open_file(void)
{
    int32_t version;
    hid_t file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_text(file, "format", "mgk-diversity");
    assert_text(file, "settings", "{\"x\":1}");
    assert_true(H5LTget_attribute_int(file, ".", "format_version", &version) >= 0);
    assert_int_equal(version, 1);
    return file;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void one_input_is_the_root(void **state)
{
    (void)state;
    write_file(1, true);
    hid_t file = open_file();
    check_input(file, 0);
    assert_int_equal(H5Lexists(file, "inputs", H5P_DEFAULT), 0);
    H5Fclose(file);
}

static void several_inputs_are_groups(void **state)
{
    (void)state;
    static const char *const groups[] = {"/inputs/0", "/inputs/1"};
    write_file(2, true);
    hid_t file = open_file();
    assert_int_equal(H5Lexists(file, "measures", H5P_DEFAULT), 0);
    for (size_t i = 0; i < 2; i++) {
        hid_t group = H5Gopen2(file, groups[i], H5P_DEFAULT);
        assert_true(group >= 0);
        assert_text(group, "name", i == 0 ? "a.h5" : "b.h5");
        check_input(group, i);
        H5Gclose(group);
    }
    H5Fclose(file);
}

/* A file holds no time, which has seconds in HDF5. */
static void the_same_values_are_the_same_bytes(void **state)
{
    (void)state;
    mgk_mapping first, second;
    const time_t before = time(NULL);
    write_file(2, true);
    assert_int_equal(rename(PATH, "first.h5"), 0);
    while (time(NULL) <= before + 1)
        usleep(10000);
    write_file(2, true);
    assert_ok(mgk_map_file("first.h5", &first));
    assert_ok(mgk_map_file(PATH, &second));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    mgk_unmap_file(&first);
    mgk_unmap_file(&second);
}

static void files_appear_when_they_are_complete(void **state)
{
    (void)state;
    mgk_measures_file *file;
    unlink(PATH);
    write_file(1, false);
    assert_int_not_equal(access(PATH, F_OK), 0);
    write_file(1, true);
    assert_fails(mgk_measures_create(PATH, false, "{}", 1, &file), STATUS_EXISTS);
    assert_null(file);
    assert_fails(mgk_measures_create("nowhere/" PATH, false, "{}", 1, &file), STATUS_IO);
    assert_null(file);
    mgk_measures_discard(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_input_is_the_root),
        cmocka_unit_test(several_inputs_are_groups),
        cmocka_unit_test(the_same_values_are_the_same_bytes),
        cmocka_unit_test(files_appear_when_they_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
