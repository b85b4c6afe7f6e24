/* SPDX-License-Identifier: MIT */
/* A store that cannot be finished reports why and leaves nothing behind. */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/fixture.h"
#include "store/schema/reader.h"
#include "test.h"

#define FOLDER "failures.d"
#define PATH FOLDER "/store.h5"

static const mgk_store_options plain = {.incoming = STORE_F32};
static const mgk_store_options with_thread = {.incoming = STORE_F32, .own_thread = true};

static int make_folder(void **state)
{
    (void)state;
    return mkdir(FOLDER, 0777);
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(PATH);
    return rmdir(FOLDER);
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void fill_disk(const mgk_store_options *options)
{
    const rlim_t limits[] = {100, 5000, 300000};
    mgk_store_description description = fixture_description(200, STORE_F32, FIXTURE_ALL);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 3; i++) {
        struct rlimit limit = {limits[i], before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        mgk_status status = fixture_store_as(PATH, &description, options);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_fails(status, STATUS_IO);
        assert_string_equal(mgk_fail_message(), PATH ": the file may not grow further (ulimit -f)");
        assert_int_equal(files_in_folder(), 0);
    }
    assert_ok(fixture_store_as(PATH, &description, options));
    unlink(PATH);
}

static void full_disk(void **state)
{
    (void)state;
    fill_disk(&plain);
    fill_disk(&with_thread);
}

static void existing_file(void **state)
{
    (void)state;
    mgk_store_writer *writer;
    mgk_store_reader *reader;
    mgk_store_description description = fixture_description(5, STORE_F32, FIXTURE_ALL);
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    assert_fails(mgk_store_create(PATH, &description, &plain, &writer), STATUS_EXISTS);
    assert_null(writer);

    mgk_store_options forced = plain;
    forced.force = true;
    description.tokens = 9;
    assert_ok(mgk_store_create(PATH, &description, &forced, &writer));
    mgk_store_discard(writer);
    assert_int_equal(files_in_folder(), 1);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_int_equal(mgk_store_describe(reader)->tokens, 5);
    mgk_store_close(reader);
}

static void incomplete_store(void **state)
{
    (void)state;
    mgk_store_writer *writer;
    mgk_store_block *block;
    mgk_store_description description =
        fixture_description(5, STORE_F32, MGK_STORE_BIT(STORE_ATTENTION));
    assert_ok(mgk_store_create(PATH, &description, &plain, &writer));
    assert_ok(mgk_store_next_block(writer, &block));
    fixture_fill(&description, STORE_F32, 0, 0, block);
    assert_ok(mgk_store_submit(writer, block));
    assert_fails(mgk_store_finish(writer, NULL), STATUS_USAGE);
    assert_string_equal(mgk_fail_message(), PATH ": 1 of 6 blocks were written");
    assert_int_equal(files_in_folder(), 0);
}

static void missing_parameter(void **state)
{
    (void)state;
    mgk_store_writer *writer;
    mgk_store_description description =
        fixture_description(5, STORE_F32, MGK_STORE_BIT(STORE_ATTENTION));
    assert_ok(mgk_store_create(PATH, &description, &plain, &writer));
    assert_fails(mgk_store_write_whole(writer, STORE_PRIORS, &(float){1}), STATUS_USAGE);
    assert_fails(mgk_store_write_whole(writer, STORE_ATTENTION, &(float){1}), STATUS_USAGE);
    mgk_store_discard(writer);

    description.objects |= MGK_STORE_BIT(STORE_VARIANCES);
    assert_ok(mgk_store_create(PATH, &description, &plain, &writer));
    mgk_store_description blocks_only = description;
    blocks_only.objects = MGK_STORE_BIT(STORE_ATTENTION);
    assert_ok(fixture_write(writer, &blocks_only, STORE_F32));
    assert_fails(mgk_store_finish(writer, NULL), STATUS_USAGE);
    assert_string_equal(mgk_fail_message(), PATH ": \"variances\" was not written");
    assert_int_equal(files_in_folder(), 0);
}

static void bad_blocks(void **state)
{
    (void)state;
    const int32_t bad[][3] = {{-1, 0, 5}, {3, 0, 5}, {0, -1, 5}, {0, 2, 5}, {0, 0, -1}, {0, 0, 6}};
    mgk_store_writer *writer;
    mgk_store_block *block;
    mgk_store_description description = fixture_description(5, STORE_F32, FIXTURE_ALL);
    assert_ok(mgk_store_create(PATH, &description, &plain, &writer));
    assert_ok(mgk_store_next_block(writer, &block));
    for (int i = 0; i < 6; i++) {
        fixture_fill(&description, STORE_F32, 0, 0, block);
        block->sample = bad[i][0];
        block->layer = bad[i][1];
        block->length = bad[i][2];
        assert_fails(mgk_store_submit(writer, block), STATUS_USAGE);
    }
    mgk_store_discard(writer);
    mgk_store_discard(NULL);
    assert_int_equal(files_in_folder(), 0);
}

/* All blocks but one are lent at a time; they are returned in any order. */
static void take_turns(mgk_store_options options, int count)
{
    mgk_store_writer *writer;
    mgk_store_block *lent[64] = {0}, *block;
    mgk_store_reader *reader;
    float matrix[25], mine[6][2 * 25]; /* 2 heads of 5 tokens */
    mgk_store_description description =
        fixture_description(5, STORE_F32, MGK_STORE_BIT(STORE_ATTENTION));
    options.brought = MGK_STORE_BIT(STORE_ATTENTION);
    assert_int_equal(description.heads, 2);
    assert_ok(mgk_store_create(PATH, &description, &options, &writer));
    int blocks = mgk_store_blocks(writer);
    assert_int_equal(blocks, count);
    assert_fails(mgk_store_submit(writer, NULL), STATUS_USAGE);
    for (int n = 0; n < blocks - 1; n++) {
        assert_ok(mgk_store_next_block(writer, &block));
        assert_null(block->arrays[STORE_ATTENTION]);
        assert_in_range(block->number, 0, blocks - 1);
        assert_null(lent[block->number]);
        lent[block->number] = block;
    }
    assert_fails(mgk_store_next_block(writer, &block), STATUS_USAGE);
    assert_null(block);
    for (int n = 5, next = 0; n >= 0; n--, next++) {
        while (!lent[next])
            next++;
        block = lent[next];
        for (int i = 0; i < 2 * 25; i++)
            mine[n][i] = (float)(100 * n + i);
        block->arrays[STORE_ATTENTION] = mine[n];
        block->sample = n / 2;
        block->layer = n % 2;
        block->length = 5;
        memset(block->tokens, 0, 5 * sizeof(*block->tokens));
        assert_ok(mgk_store_submit(writer, block));
    }
    assert_ok(mgk_store_next_block(writer, &block));
    assert_ok(mgk_store_finish(writer, NULL));
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    for (int n = 0; n < 6; n++) {
        assert_ok(mgk_store_read_matrix(reader, n / 2, n % 2, 1, STORE_F32, matrix, NULL));
        for (int i = 0; i < 25; i++)
            assert_true(matrix[i] == (float)(100 * n + 25 + i));
    }
    mgk_store_close(reader);
    unlink(PATH);
}

static void blocks_in_turns(void **state)
{
    (void)state;
    mgk_store_options several = plain, compressed = plain;
    several.callers = 3;
    compressed.callers = 6;
    compressed.compress = 1;
    take_turns(with_thread, 64);
    take_turns(several, 64);
    take_turns(compressed, 64);
}

/* Two more blocks than callers: of large blocks there are no more. */
static void blocks_of_callers(void **state)
{
    (void)state;
    mgk_store_writer *writer;
    mgk_store_description description =
        fixture_description(5000, STORE_F32, MGK_STORE_BIT(STORE_ATTENTION));
    mgk_store_options options = plain;
    options.brought = MGK_STORE_BIT(STORE_ATTENTION);
    for (int callers = 0; callers < 5; callers++) {
        options.callers = callers;
        assert_ok(mgk_store_create(PATH, &description, &options, &writer));
        assert_int_equal(mgk_store_blocks(writer), callers == 0 ? 3 : callers + 2);
        mgk_store_discard(writer);
    }
    description.tokens = 5;
    options.callers = 1;
    assert_ok(mgk_store_create(PATH, &description, &options, &writer));
    /* nor of small ones, if there is no writing thread */
    assert_int_equal(mgk_store_blocks(writer), 3);
    mgk_store_discard(writer);
}

static void bad_arguments(void **state)
{
    (void)state;
    mgk_store_writer *writer;
    const mgk_store_description good = fixture_description(5, STORE_F32, FIXTURE_ALL);
    mgk_store_description bad[] = {good, good, good, good, good, good};
    bad[0].samples = 0;
    bad[1].tokens = -4;
    bad[2].head_dim = 0;
    bad[3].layer_index = NULL;
    bad[4].config = NULL;
    bad[5].objects = 1u << STORE_OBJECTS;
    for (int i = 0; i < 6; i++)
        assert_fails(mgk_store_create(PATH, &bad[i], &plain, &writer), STATUS_USAGE);
    mgk_store_options options[] = {plain, plain, plain, plain};
    options[0].compress = 10;
    options[1].incoming = STORE_F16;
    options[2].threads = -1;
    options[3].callers = -1;
    for (int i = 0; i < 4; i++)
        assert_fails(mgk_store_create(PATH, &good, &options[i], &writer), STATUS_USAGE);
    assert_int_not_equal(mgk_store_create("missing/store.h5", &good, &plain, &writer), STATUS_OK);
    assert_int_equal(files_in_folder(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(full_disk, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(existing_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(incomplete_store, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(missing_parameter, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(bad_blocks, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(blocks_in_turns, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(blocks_of_callers, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(bad_arguments, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
