/* SPDX-License-Identifier: MIT */
/* Chunks written at places that HDF5 has reserved, by whoever knows them, without HDF5. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/fixture.h"
#include "store/schema/places.h"
#include "store/schema/reader.h"
#include "test.h"

#define PATH "places.h5"

enum {
    TOKENS = 3,
    SAMPLES = 12000
}; /* so many chunks that HDF5 writes parts of its cache meanwhile */

/* Value number i of a chunk. */
static float value_of(int sample, int layer, size_t number, size_t i)
{
    return (float)(sample * 64 + layer * 32) + (float)(number * 16 + i) / 64;
}

static void put_tokens(mgk_store_file *file, int sample)
{
    int32_t tokens[TOKENS] = {sample, 1, -1};
    const mgk_store_block block = {.sample = sample, .length = 2, .tokens = tokens};
    assert_ok(mgk_store_file_put_tokens(file, &block));
}

static void put_chunks(mgk_store_places *places, int sample)
{
    for (int layer = 0; layer < FIXTURE_LAYERS; layer++)
        for (size_t head = 0; head < FIXTURE_HEADS; head++) {
            float values[TOKENS * TOKENS];
            for (size_t i = 0; i < TOKENS * TOKENS; i++)
                values[i] = value_of(sample, layer, head, i);
            const mgk_store_chunk chunk = {.object = STORE_ATTENTION,
                                           .sample = sample,
                                           .layer = layer,
                                           .number = head,
                                           .bytes = values,
                                           .size = sizeof(values)};
            assert_ok(mgk_places_put_chunk(places, &chunk));
        }
}

static void check_sample(mgk_store_reader *reader, int sample)
{
    float values[TOKENS * TOKENS];
    int32_t tokens[TOKENS], length;
    for (int layer = 0; layer < FIXTURE_LAYERS; layer++)
        for (int head = 0; head < FIXTURE_HEADS; head++) {
            assert_ok(mgk_store_read_matrix(reader, sample, layer, head, STORE_F32, values, NULL));
            for (size_t i = 0; i < TOKENS * TOKENS; i++)
                assert_close(values[i], value_of(sample, layer, (size_t)head, i), 0, 0);
        }
    assert_ok(mgk_store_read_tokens(reader, sample, tokens, &length));
    assert_int_equal(tokens[0], sample);
    assert_int_equal(length, 2);
}

static const char *token_text(const void *context, int32_t id)
{
    (void)context;
    return id == 1 ? "one" : "another";
}

/* The tokens are written while others write chunks. */
static void many_chunks(void **state)
{
    (void)state;
    static mgk_store_file file; /* must not move */
    static int32_t index[SAMPLES];
    char actual[PATH_MAX] = PATH;
    mgk_store_reader *reader;
    mgk_store_places places;
    mgk_store_description d =
        fixture_description(TOKENS, STORE_F32, MGK_STORE_BIT(STORE_ATTENTION));
    d.samples = SAMPLES;
    d.sample_index = index;
    d.token_text = (mgk_token_text){token_text, NULL, ""};
    for (int i = 0; i < SAMPLES; i++)
        index[i] = i;
    assert_ok(mgk_store_file_create(PATH, PATH, &d, STORE_F32, &(mgk_store_storage){0}, &file));
    assert_ok(mgk_places_open(PATH, &d, &places));
    assert_ok(mgk_places_reserve(&places, &file));
    assert_ok(mgk_places_share(&places, NULL, &d, actual));
    for (int i = 0; i < SAMPLES; i++) {
        put_tokens(&file, SAMPLES - 1 - i);
        put_chunks(&places, i);
    }
    assert_ok(mgk_places_finish(&places));
    assert_ok(mgk_store_file_finish(&file));
    mgk_places_close(&places);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    for (int i = 0; i < SAMPLES; i += 7)
        check_sample(reader, i);
    check_sample(reader, SAMPLES - 1);
    mgk_store_close(reader);
    unlink(PATH);
}

/* A process that does not see the folder of rank 0. */
static void another_folder(void **state)
{
    (void)state;
    char actual[PATH_MAX] = "places-that-are-nowhere.h5";
    const mgk_store_description d =
        fixture_description(TOKENS, STORE_F32, MGK_STORE_BIT(STORE_ATTENTION));
    mgk_store_places places;
    assert_ok(mgk_places_open(PATH, &d, &places));
    assert_fails(mgk_places_share(&places, NULL, &d, actual), STATUS_IO);
    assert_string_equal(mgk_fail_message(), PATH ": in another folder than that of rank 0: all "
                                                 "processes write one file");
    mgk_places_close(&places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_chunks),
        cmocka_unit_test(another_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
