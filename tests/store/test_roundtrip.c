/* SPDX-License-Identifier: MIT */
/* Written data are read back: every object, element type, compression and chunk shape. */
#include <hdf5_hl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/fixture.h"
#include "store/schema/reader.h"
#include "test.h"

#define PATH "roundtrip.h5"

static void check_description(const mgk_store_description *found,
                              const mgk_store_description *expected)
{
    assert_int_equal(found->samples, expected->samples);
    assert_int_equal(found->layers, expected->layers);
    assert_int_equal(found->heads, expected->heads);
    assert_int_equal(found->tokens, expected->tokens);
    assert_int_equal(found->mixtures, expected->mixtures);
    assert_int_equal(found->head_dim, expected->head_dim);
    assert_int_equal(found->model_dim, expected->model_dim);
    assert_int_equal(found->objects, expected->objects);
    assert_int_equal(found->storage, expected->storage);
    assert_int_equal(found->priors_per_key, expected->priors_per_key);
    assert_true(found->causal && found->row_normalized);
    assert_memory_equal(found->sample_index, expected->sample_index, FIXTURE_SAMPLES * 4);
    assert_memory_equal(found->layer_index, expected->layer_index, FIXTURE_LAYERS * 4);
    assert_memory_equal(found->head_index, expected->head_index, FIXTURE_HEADS * 4);
    assert_int_equal(found->training_step, expected->training_step);
    assert_string_equal(found->software, expected->software);
    assert_string_equal(found->config, expected->config);
    assert_string_equal(found->device, expected->device);
    assert_int_equal(strlen(found->created), strlen("2000-01-01T00:00:00Z"));
}

static void check_object(mgk_store_reader *reader, int object, int sample, int layer, int head)
{
    size_t count = fixture_count(mgk_store_describe(reader), object);
    bool parameter = object >= STORE_KEY_WEIGHTS && object <= STORE_VARIANCES;
    double *wide;
    float *single;
    assert_ok(mgk_alloc(count, sizeof(*wide), &wide));
    assert_ok(mgk_alloc(count, sizeof(*single), &single));
    mgk_store_object which = (mgk_store_object)object;
    assert_ok(mgk_store_read(reader, which, sample, layer, head, STORE_F64, wide));
    assert_ok(mgk_store_read(reader, which, sample, layer, head, STORE_F32, single));
    for (size_t i = 0; i < count; i++) {
        double expected = fixture_value(object, parameter ? 0 : sample, layer, head, i);
        if (!(wide[i] == expected) || !((double)single[i] == expected))
            fail_msg("object %d, sample %d, layer %d, head %d, value %zu: %g and %g, expected %g",
                     object, sample, layer, head, i, wide[i], (double)single[i], expected);
    }
    mgk_free(single);
    mgk_free(wide);
}

static void check_tokens(mgk_store_reader *reader, int sample)
{
    int32_t n = mgk_store_describe(reader)->tokens, length;
    int32_t *tokens;
    assert_ok(mgk_alloc((size_t)n, sizeof(*tokens), &tokens));
    assert_ok(mgk_store_read_tokens(reader, sample, tokens, &length));
    assert_int_equal(length, fixture_length(sample, n));
    for (int32_t i = 0; i < n; i++)
        assert_int_equal(tokens[i], fixture_token(sample, n, i));
    mgk_free(tokens);
}

static void check_store(const char *path, const mgk_store_description *expected)
{
    mgk_store_reader *reader;
    assert_ok(mgk_store_open(path, NULL, &reader));
    check_description(mgk_store_describe(reader), expected);
    for (int sample = 0; sample < expected->samples; sample++) {
        assert_true(mgk_store_has_tokens(reader));
        check_tokens(reader, sample);
        for (int layer = 0; layer < expected->layers; layer++)
            for (int head = 0; head < expected->heads; head++)
                for (int object = 0; object < STORE_OBJECTS; object++)
                    if (expected->objects & MGK_STORE_BIT(object))
                        check_object(reader, object, sample, layer, head);
    }
    mgk_store_close(reader);
}

static void every_type_and_size(void **state)
{
    (void)state;
    const int32_t sizes[] = {1, 2, 31, 33};
    for (size_t size = 0; size < 4; size++)
        for (int storage = STORE_F16; storage <= STORE_F64; storage++)
            for (int incoming = STORE_F32; incoming <= STORE_F64; incoming++)
                for (int compress = 0; compress <= 4; compress += 4) {
                    mgk_store_description description =
                        fixture_description(sizes[size], (mgk_store_real)storage, FIXTURE_ALL);
                    description.priors_per_key = compress > 0;
                    assert_ok(
                        fixture_store(PATH, &description, (mgk_store_real)incoming, compress));
                    check_store(PATH, &description);
                }
    unlink(PATH);
}

/* 500 rows of 500 values of 8 bytes: a matrix is divided into 262 and 238 rows. */
static void matrices_larger_than_a_chunk(void **state)
{
    (void)state;
    for (int compress = 0; compress <= 1; compress++) {
        mgk_store_description description =
            fixture_description(500, STORE_F64, MGK_STORE_BIT(STORE_ATTENTION));
        assert_ok(fixture_store(PATH, &description, STORE_F64, compress));
        description.mixtures = 1;
        description.head_dim = description.model_dim = 0;
        check_store(PATH, &description);
    }
    unlink(PATH);
}

static void without_matrices(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    double value;
    mgk_store_description description = fixture_description(
        4, STORE_F32, MGK_STORE_BIT(STORE_KEYS) | MGK_STORE_BIT(STORE_KEY_WEIGHTS));
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_fails(mgk_store_read_matrix(reader, 0, 0, 0, STORE_F64, &value, NULL), STATUS_USAGE);
    assert_fails(mgk_store_read(reader, STORE_QUERIES, 0, 0, 0, STORE_F64, &value), STATUS_USAGE);
    check_object(reader, STORE_KEYS, 2, 1, 1);
    mgk_store_close(reader);
    assert_fails(mgk_store_open(PATH, "attention", &reader), STATUS_FORMAT);
    unlink(PATH);
}

static void matrices_with_their_lengths(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    double matrix[9];
    int32_t length;
    mgk_store_description description = fixture_description(3, STORE_F16, FIXTURE_ALL);
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    assert_ok(mgk_store_open(PATH, "/scores", &reader));
    assert_ok(mgk_store_read_matrix(reader, 2, 1, 1, STORE_F64, matrix, &length));
    assert_int_equal(length, 1);
    for (size_t i = 0; i < 9; i++)
        assert_true(matrix[i] == fixture_value(STORE_SCORES, 2, 1, 1, i));
    assert_fails(mgk_store_read_matrix(reader, 3, 0, 0, STORE_F64, matrix, NULL), STATUS_USAGE);
    assert_fails(mgk_store_read_matrix(reader, 0, -1, 0, STORE_F64, matrix, NULL), STATUS_USAGE);
    assert_fails(mgk_store_read_matrix(reader, 0, 0, 2, STORE_F64, matrix, NULL), STATUS_USAGE);
    mgk_store_close(reader);
    unlink(PATH);
}

/* The threads of two writers and the reader of a third store share one HDF5 library. */
static void several_at_once(void **state)
{
    (void)state;
    const char *paths[] = {"first.h5", "second.h5"};
    mgk_store_options options = {
        .force = true, .incoming = STORE_F32, .compress = 1, .own_thread = true};
    mgk_store_description description = fixture_description(65, STORE_F32, FIXTURE_ALL);
    mgk_store_writer *writers[2];
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    for (int i = 0; i < 2; i++) {
        assert_ok(mgk_store_create(paths[i], &description, &options, &writers[i]));
        assert_ok(fixture_write(writers[i], &description, STORE_F32));
    }
    check_store(PATH, &description);
    for (int i = 0; i < 2; i++) {
        double seconds = -1;
        assert_ok(mgk_store_finish(writers[i], &seconds));
        assert_true(seconds > 0);
        check_store(paths[i], &description);
        unlink(paths[i]);
    }
    unlink(PATH);
}

/* The axes of the datasets as in the man page of mgk-dump, by the names of their scales. */
static void every_axis_has_its_scale(void **state)
{
    (void)state;
    static const struct {
        const char *dataset, *scales[6];
    } rows[] = {
        {"attention", {"sample", "layer", "head", "query", "key"}},
        {"scores", {"sample", "layer", "head", "query", "key"}},
        {"queries", {"sample", "layer", "head", "query", "dim"}},
        {"keys", {"sample", "layer", "head", "mixture", "key", "dim"}},
        {"values", {"sample", "layer", "head", "query", "dim"}},
        {"key_weights", {"layer", "head", "mixture", "model_dim", "dim"}},
        {"key_bias", {"layer", "head", "mixture", "dim"}},
        {"priors", {"layer", "head", "mixture", "key"}},
        {"variances", {"layer", "head", "mixture"}},
        {"tokens", {"sample", "query"}},
        {"lengths", {"sample"}},
    };
    mgk_store_description description = fixture_description(5, STORE_F32, FIXTURE_ALL);
    description.priors_per_key = true;
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    hid_t file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        hid_t dataset = H5Dopen2(file, rows[row].dataset, H5P_DEFAULT);
        assert_true(dataset >= 0);
        unsigned axis = 0;
        for (; axis < 6 && rows[row].scales[axis]; axis++) {
            hid_t scale = H5Dopen2(file, rows[row].scales[axis], H5P_DEFAULT);
            char label[32] = "";
            assert_int_equal(H5DSis_attached(dataset, scale, axis), 1);
            assert_int_equal(H5DSget_num_scales(dataset, axis), 1);
            assert_true(H5DSget_label(dataset, axis, label, sizeof(label)) > 0);
            assert_string_equal(label, rows[row].scales[axis]);
            H5Dclose(scale);
        }
        hid_t space = H5Dget_space(dataset);
        assert_int_equal(H5Sget_simple_extent_ndims(space), axis);
        H5Sclose(space);
        H5Dclose(dataset);
    }
    H5Fclose(file);
}

/* The scales of chosen numbers and their names in files of earlier builds. */
static const char *const scales[][2] = {
    {"sample", "samples"}, {"layer", "layers"}, {"head", "heads"}};

static void scales_keep_their_older_names(void **state)
{
    (void)state;
    const mgk_store_description description = fixture_description(5, STORE_F32, FIXTURE_ALL);
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    hid_t file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (int i = 0; i < 3; i++) {
        H5O_info_t now, older;
        assert_true(H5Oget_info_by_name(file, scales[i][0], &now, H5P_DEFAULT) >= 0);
        assert_true(H5Oget_info_by_name(file, scales[i][1], &older, H5P_DEFAULT) >= 0);
        assert_int_equal(now.addr, older.addr);
    }
    H5Fclose(file);
}

/* Files of earlier builds have the older names alone; other writers may leave these out. */
static void either_name_is_read(void **state)
{
    (void)state;
    for (int removed = 0; removed < 2; removed++) {
        mgk_store_reader *reader;
        const mgk_store_description description = fixture_description(5, STORE_F32, FIXTURE_ALL);
        assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
        hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
        for (int i = 0; i < 3; i++)
            assert_true(H5Ldelete(file, scales[i][removed], H5P_DEFAULT) >= 0);
        H5Fclose(file);
        assert_ok(mgk_store_open(PATH, NULL, &reader));
        const mgk_store_description *read = mgk_store_describe(reader);
        assert_memory_equal(read->layer_index, description.layer_index,
                            (size_t)description.layers * sizeof(int32_t));
        assert_memory_equal(read->sample_index, description.sample_index,
                            (size_t)description.samples * sizeof(int32_t));
        mgk_store_close(reader);
    }
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_axis_has_its_scale),      cmocka_unit_test(every_type_and_size),
        cmocka_unit_test(matrices_larger_than_a_chunk),  cmocka_unit_test(without_matrices),
        cmocka_unit_test(matrices_with_their_lengths),   cmocka_unit_test(several_at_once),
        cmocka_unit_test(scales_keep_their_older_names), cmocka_unit_test(either_name_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
