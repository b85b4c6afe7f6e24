/* SPDX-License-Identifier: MIT */
/* Chunks of any shape with all known filters, and malformed chunks. */
#include <hdf5.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "store/schema/reader.h"
#include "test.h"

#define PATH "chunks.h5"

enum { SAMPLES = 3, HEADS = 2, TOKENS = 5, RANK = 4, CHUNK = TOKENS * TOKENS * (int)sizeof(float) };

typedef struct packing {
    hsize_t chunk[RANK];
    bool shuffle, deflate, checksum;
} packing;

static float value_of(int sample, int head, int place)
{
    return (float)(sample * 1000 + head * 100 + place) + 0.5f;
}

static hid_t properties_of(const packing *p)
{
    const float missing = -2.5f;
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, RANK, p->chunk);
    H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &missing);
    if (p->shuffle)
        H5Pset_shuffle(properties);
    if (p->checksum)
        H5Pset_fletcher32(properties);
    if (p->deflate)
        H5Pset_deflate(properties, 6);
    return properties;
}

/* Creates a dataset without values; the caller closes the file. */
static hid_t create(hid_t properties, hid_t type, hid_t *file)
{
    const hsize_t shape[RANK] = {SAMPLES, HEADS, TOKENS, TOKENS};
    hid_t space = H5Screate_simple(RANK, shape, NULL);
    *file = H5Fcreate(PATH, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dataset = H5Dcreate2(*file, "a", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Sclose(space);
    H5Pclose(properties);
    return dataset;
}

static void close_file(hid_t dataset, hid_t file)
{
    H5Dclose(dataset);
    assert_true(H5Fclose(file) >= 0);
}

static void any_packing(void **state)
{
    (void)state;
    static const packing packings[] = {
        {.chunk = {1, 1, TOKENS, TOKENS}},
        {.chunk = {2, 1, 3, 2}, .deflate = true},
        {.chunk = {3, 2, 5, 5}, .shuffle = true, .deflate = true},
        {.chunk = {1, 2, 2, 4}, .shuffle = true, .checksum = true, .deflate = true},
        {.chunk = {1, 1, 4, 1}, .checksum = true},
    };
    static float all[SAMPLES][HEADS][TOKENS * TOKENS];
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64BE};
    for (int s = 0; s < SAMPLES; s++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < TOKENS * TOKENS; i++)
                all[s][h][i] = value_of(s, h, i);
    for (size_t p = 0; p < 2 * sizeof(packings) / sizeof(packings[0]); p++) {
        hid_t file, dataset = create(properties_of(&packings[p / 2]), types[p % 2], &file);
        mgk_store_reader *reader;
        float matrix[TOKENS * TOKENS];
        H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
        close_file(dataset, file);
        assert_ok(mgk_store_open(PATH, NULL, &reader));
        for (int s = 0; s < SAMPLES; s++)
            for (int h = 0; h < HEADS; h++) {
                assert_ok(mgk_store_read_matrix(reader, s, 0, h, STORE_F32, matrix, NULL));
                assert_memory_equal(matrix, all[s][h], sizeof(matrix));
            }
        mgk_store_close(reader);
    }
}

/* Stores bytes as the chunk of matrix (1, 1) and reads that matrix. */
static mgk_status read_stored(const packing *p, const void *bytes, size_t size, uint32_t mask,
                              float matrix[TOKENS * TOKENS])
{
    const hsize_t place[RANK] = {1, 1, 0, 0};
    mgk_store_reader *reader;
    hid_t file, dataset = create(properties_of(p), H5T_NATIVE_FLOAT, &file);
    if (size > 0)
        assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, place, size, bytes) >= 0);
    close_file(dataset, file);
    assert_ok(mgk_store_open(PATH, "a", &reader));
    mgk_status status = mgk_store_read_matrix(reader, 1, 0, 1, STORE_F32, matrix, NULL);
    mgk_store_close(reader);
    return status;
}

static void expect_damage(const packing *p, const void *bytes, size_t size, uint32_t mask,
                          const char *says)
{
    float matrix[TOKENS * TOKENS];
    assert_fails(read_stored(p, bytes, size, mask, matrix), STATUS_FORMAT);
    if (!strstr(mgk_fail_message(), says))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), says);
}

/* HDF5 would return memory after a chunk that is too short. */
static void wrong_sizes(void **state)
{
    (void)state;
    const packing deflated = {.chunk = {1, 1, TOKENS, TOKENS}, .deflate = true};
    const packing checked = {.chunk = {1, 1, TOKENS, TOKENS}, .checksum = true};
    const packing plain = {.chunk = {1, 1, TOKENS, TOKENS}};
    unsigned char raw[2 * CHUNK] = {1, 2, 3}, packed[2 * CHUNK];
    float matrix[TOKENS * TOKENS];
    for (size_t size = 0; size <= CHUNK; size += CHUNK / 4) {
        uLongf length = sizeof(packed);
        assert_int_equal(compress(packed, &length, raw, size), Z_OK);
        if (size == CHUNK)
            assert_ok(read_stored(&deflated, packed, length, 0, matrix));
        else
            expect_damage(&deflated, packed, length, 0, "another size than it should");
        if (size > 0 && size < CHUNK)
            expect_damage(&deflated, raw, size, 1, "another size than it should");
    }
    uLongf length = sizeof(packed);
    assert_int_equal(compress(packed, &length, raw, sizeof(raw)), Z_OK);
    expect_damage(&deflated, packed, length, 0, "a chunk is damaged");
    expect_damage(&deflated, packed, length - 1, 0, "a chunk is damaged");
    expect_damage(&deflated, raw, sizeof(raw), 0, "larger packed than unpacked");
    expect_damage(&checked, raw, CHUNK + 4, 0, "a chunk is damaged");
    expect_damage(&checked, raw, 3, 0, "a chunk is damaged");
    /* Without filters the shape says how much is read, whatever the file says of the chunk. */
    assert_fails(read_stored(&plain, raw, CHUNK / 2, 0, matrix),
                 STATUS_FORMAT); /* the file's end */
    for (size_t size = CHUNK; size <= sizeof(raw); size *= 2) {
        assert_ok(read_stored(&plain, raw, size, 0, matrix));
        assert_memory_equal(matrix, raw, CHUNK);
    }
    assert_ok(read_stored(&plain, raw, 0, 0, matrix));
    assert_close((double)matrix[7], -2.5, 0, 0);
}

static void other_filters(void **state)
{
    (void)state;
    const packing p = {.chunk = {1, 1, TOKENS, TOKENS}};
    mgk_store_reader *reader;
    hid_t properties = properties_of(&p);
    H5Pset_scaleoffset(properties, H5Z_SO_FLOAT_DSCALE, 2);
    hid_t file, dataset = create(properties, H5T_NATIVE_FLOAT, &file);
    close_file(dataset, file);
    assert_fails(mgk_store_open(PATH, "a", &reader), STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "is packed by filter 6"));
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_packing),
        cmocka_unit_test(wrong_sizes),
        cmocka_unit_test(other_filters),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
