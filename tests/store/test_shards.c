/* SPDX-License-Identifier: MIT */
/* Stores in shards: what is written is read, and what else claims to be one is refused. */
#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cluster/threads.h"
#include "failing_sync.h"
#include "store/fixture.h"
#include "store/foreign/list.h"
#include "store/schema/reader.h"
#include "store/schema/shard_files.h"
#include "store/schema/shards.h"
#include "store/schema/store_file.h"
#include "test.h"

#define PATH "joined.h5"

enum { TOKENS = 5, FIRST = 2, OBJECTS = 31 }; /* samples of the first shard; all but whole ones */

static const char *const names[] = {"joined.shard-0.h5", "joined.shard-1.h5"};
static const char other_name[] = "joined.shard-0.1.h5"; /* where names[0] is taken */

static void remove_all(void)
{
    unlink(PATH);
    unlink(names[0]);
    unlink(names[1]);
    unlink(other_name);
}

/* The value i of a sample, whose numbers begin anew in each shard. */
static void check_values(const char *path, int first)
{
    mgk_store_reader *reader;
    assert_ok(mgk_store_open(path, NULL, &reader));
    const mgk_store_description *d = mgk_store_describe(reader);
    assert_int_equal(d->samples, FIXTURE_SAMPLES);
    assert_int_equal(d->objects & OBJECTS, OBJECTS);
    for (int object = 0; object <= STORE_VALUES; object++)
        for (int s = 0; s < d->samples; s++)
            for (int l = 0; l < d->layers; l++)
                for (int h = 0; h < d->heads; h++) {
                    double values[FIXTURE_MIXTURES * TOKENS * FIXTURE_HEAD_DIM];
                    const int own = s < first ? s : s - first;
                    assert_ok(mgk_store_read(reader, object, s, l, h, STORE_F64, values));
                    for (size_t i = 0; i < fixture_count(d, object); i++)
                        assert_close(values[i], fixture_value(object, own, l, h, i), 0, 0);
                }
    for (int s = 0; s < d->samples; s++) {
        double matrix[TOKENS * TOKENS];
        int32_t tokens[TOKENS], length;
        assert_ok(mgk_store_read_matrix(reader, s, 1, 1, STORE_F64, matrix, &length));
        assert_close(matrix[3], fixture_value(STORE_ATTENTION, s < first ? s : s - first, 1, 1, 3),
                     0, 0);
        assert_int_equal(length, fixture_length(s, TOKENS));
        assert_ok(mgk_store_read_tokens(reader, s, tokens, &length));
        assert_int_equal(tokens[0], fixture_token(s, TOKENS, 0));
    }
    mgk_store_close(reader);
}

static void one_process(void **state)
{
    (void)state;
    const int32_t shards[] = {0, FIXTURE_SAMPLES};
    const mgk_store_description description = fixture_description(TOKENS, STORE_F32, FIXTURE_ALL);
    mgk_store_options options = {.incoming = STORE_F32, .shards = shards};
    mgk_store_writer *writer;
    remove_all();
    assert_ok(fixture_store_as(PATH, &description, &options));
    check_values(PATH, FIXTURE_SAMPLES);
    assert_false(mgk_exists(names[1]));
    unlink(PATH);
    assert_fails(mgk_store_create(PATH, &description, &options, &writer), STATUS_EXISTS);
    assert_non_null(strstr(mgk_fail_message(), names[0]));
    options.force = true;
    options.compress = 1;
    assert_ok(fixture_store_as(PATH, &description, &options));
    check_values(PATH, FIXTURE_SAMPLES);
    remove_all();
    assert_ok(mgk_store_create(PATH, &description, &options, &writer));
    mgk_store_discard(writer);
    assert_false(mgk_exists(PATH) || mgk_exists(names[0]));
}

/* Until the new file has its name, the old store is whole; then its shards go. A store that cannot
 * be synced does not take its name; a folder that cannot be is no reason to undo. */
static void replaced_at_once(void **state)
{
    (void)state;
    const int32_t shards[] = {0, FIXTURE_SAMPLES};
    const mgk_store_description description = fixture_description(TOKENS, STORE_F32, FIXTURE_ALL);
    const mgk_store_options options = {.force = true, .incoming = STORE_F32, .shards = shards};
    int replaced = 0;
    remove_all();
    assert_ok(fixture_store_as(PATH, &description, &options));
    for (int syncs = 0; syncs < 4; syncs++) { /* of the shard, its folder, the file, its folder */
        syncs_left = syncs;
        const mgk_status status = fixture_store_as(PATH, &description, &options);
        assert_int_equal(status, syncs % 2 == 0 ? STATUS_IO : STATUS_OK);
        assert_int_equal(syncs_left, -1);
        replaced += status == STATUS_OK;
        check_values(PATH, FIXTURE_SAMPLES);
        assert_int_equal(mgk_exists(names[0]), replaced % 2 == 0);
        assert_int_equal(mgk_exists(other_name), replaced % 2 == 1);
    }
    remove_all();
}

/* Only shards that the replaced store has named go: these are of a store that was given another
 * name. */
static void shards_of_another(void **state)
{
    (void)state;
    static const char other[] = "other.h5";
    const int32_t shards[] = {0, FIXTURE_SAMPLES};
    const mgk_store_description description = fixture_description(TOKENS, STORE_F32, FIXTURE_ALL);
    mgk_store_options options = {.force = true, .incoming = STORE_F32, .shards = shards};
    remove_all();
    assert_ok(fixture_store_as(PATH, &description, &options));
    assert_int_equal(rename(PATH, other), 0);
    for (int i = 0; i < 3; i++) { /* in place of none, of one in shards, of one without */
        options.shards = i == 1 ? NULL : shards;
        assert_ok(fixture_store_as(PATH, &description, &options));
        check_values(PATH, FIXTURE_SAMPLES);
        check_values(other, FIXTURE_SAMPLES);
        assert_int_equal(mgk_exists(other_name), i != 1);
    }
    unlink(other);
    remove_all();
}

/* The new shards take the names of those that the replaced store lacks. */
static void missing_shard_replaced(void **state)
{
    (void)state;
    const int32_t shards[] = {0, FIXTURE_SAMPLES};
    const mgk_store_description description = fixture_description(TOKENS, STORE_F32, FIXTURE_ALL);
    const mgk_store_options options = {.force = true, .incoming = STORE_F32, .shards = shards};
    remove_all();
    for (int i = 0; i < 2; i++) {
        assert_ok(fixture_store_as(PATH, &description, &options));
        check_values(PATH, FIXTURE_SAMPLES);
        unlink(names[0]);
    }
    remove_all();
}

/* Without `force` no shard may be there, of whichever set; where the folder is none, nobody knows.
 */
static void choice_of_names(void **state)
{
    (void)state;
    int set;
    assert_ok(mgk_shards_choose(PATH, false, &set));
    assert_int_equal(set, 0);
    assert_ok(mgk_write_file("joined.shard-7.2.h5", false, NULL, 0));
    assert_fails(mgk_shards_choose(PATH, false, &set), STATUS_EXISTS);
    assert_non_null(strstr(mgk_fail_message(), "joined.shard-7.2.h5"));
    assert_ok(mgk_shards_choose(PATH, true, &set));
    assert_int_equal(set, 0);
    unlink("joined.shard-7.2.h5");
    assert_fails(mgk_shards_choose("no-folder/joined.h5", true, &set), STATUS_IO);
    assert_non_null(strstr(mgk_fail_message(), "No such file"));
}

static _Thread_local bool no_memory;
static _Thread_local int arrays; /* allocated and not released */

mgk_status __real_mgk_alloc(size_t count, size_t size, void *out);
mgk_status __wrap_mgk_alloc(size_t count, size_t size, void *out);
void __real_mgk_free(void *array);
void __wrap_mgk_free(void *array);

mgk_status __wrap_mgk_alloc(size_t count, size_t size, void *out)
{
    if (no_memory)
        return mgk_fail(STATUS_MEMORY, "not enough memory");
    TRY(__real_mgk_alloc(count, size, out));
    arrays += count > 0 && size > 0;
    return STATUS_OK;
}

void __wrap_mgk_free(void *array)
{
    arrays -= array != NULL;
    __real_mgk_free(array);
}

/* What a process has after it could not create a store. */
typedef struct remains {
    mgk_status status[2];
    int arrays[2];
} remains;

static void create_without_memory(mgk_cluster *cluster, void *context)
{
    remains *out = context;
    const int rank = mgk_cluster_rank_of(cluster);
    const mgk_store_description description = fixture_description(TOKENS, STORE_F32, FIXTURE_ALL);
    const mgk_store_options options = {.incoming = STORE_F32, .cluster = cluster};
    mgk_store_writer *writer;
    no_memory = rank == 1;
    arrays = 0;
    out->status[rank] = mgk_store_create(PATH, &description, &options, &writer);
    out->arrays[rank] = arrays;
    no_memory = false;
}

/* A process whose fellow has no memory for its part releases its own. */
static void released_by_all(void **state)
{
    (void)state;
    remains left;
    test_run_cluster(2, create_without_memory, &left);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(left.status[rank], STATUS_MEMORY);
        assert_int_equal(left.arrays[rank], 0);
    }
}

static mgk_store_description part_of(const mgk_store_description *whole, int first, int count)
{
    mgk_store_description part = *whole;
    part.samples = count;
    part.sample_index += first;
    return part;
}

/* Writes a store in two shards, which several processes would write. */
static void write_joined(void)
{
    const mgk_store_description whole = fixture_description(TOKENS, STORE_F32, OBJECTS);
    const mgk_store_shard shards[] = {{names[0], 0, FIRST},
                                      {names[1], FIRST, FIXTURE_SAMPLES - FIRST}};
    const mgk_store_storage storage = {.shards = shards, .shard_count = 2};
    const mgk_store_options options = {.force = true, .incoming = STORE_F32};
    static mgk_store_file file; /* must not move */
    for (int i = 0; i < 2; i++) {
        const mgk_store_description part = part_of(&whole, shards[i].first, shards[i].count);
        assert_ok(fixture_store_as(names[i], &part, &options));
    }
    assert_ok(mgk_store_file_create(PATH, PATH, &whole, STORE_F32, &storage, &file));
    for (int s = 0; s < FIXTURE_SAMPLES; s++) {
        int32_t tokens[TOKENS];
        const mgk_store_block block = {
            .sample = s, .length = fixture_length(s, TOKENS), .tokens = tokens};
        for (int i = 0; i < TOKENS; i++)
            tokens[i] = fixture_token(s, TOKENS, i);
        assert_ok(mgk_store_file_put_tokens(&file, &block));
    }
    assert_ok(mgk_store_file_finish(&file));
}

static void two_shards(void **state)
{
    (void)state;
    write_joined();
    check_values(PATH, FIRST);
}

static void expect_refusal(mgk_status expected, const char *said)
{
    mgk_store_reader *reader;
    assert_fails(mgk_store_open(PATH, NULL, &reader), expected);
    if (!strstr(mgk_fail_message(), said))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), said);
}

static void missing_shard(void **state)
{
    (void)state;
    write_joined();
    unlink(names[1]);
    expect_refusal(STATUS_IO, "joined.h5: one of its shards: ./joined.shard-1.h5: No such file");
    assert_int_equal(mkfifo(names[1], 0666), 0); /* opening it would hang */
    expect_refusal(STATUS_IO, "joined.shard-1.h5: not a regular file");
    unlink(names[1]);
}

/* A shard of another store, or of the same store but other samples. */
static void wrong_shard(void **state)
{
    (void)state;
    const mgk_store_description whole = fixture_description(TOKENS, STORE_F32, OBJECTS);
    const mgk_store_options options = {.force = true, .incoming = STORE_F32};
    for (int i = 0; i < 8; i++) {
        static const int32_t other[] = {5, 6};
        mgk_store_description part = part_of(&whole, FIRST, FIXTURE_SAMPLES - FIRST);
        write_joined();
        if (i == 0)
            part.sample_index--;
        else if (i == 1)
            part = part_of(&whole, 0, FIRST);
        else if (i == 2)
            part.objects &= ~MGK_STORE_BIT(STORE_SCORES);
        else if (i == 3)
            part.storage = STORE_F64;
        else if (i == 4)
            part.layer_index = other;
        else if (i == 5)
            part.model_sha256 = "another";
        else if (i == 6)
            part.head_dim++;
        else
            part.command = "another";
        assert_ok(fixture_store_as(names[1], &part, &options));
        expect_refusal(STATUS_FORMAT,
                       "\"joined.shard-1.h5\" is not the shard of this store with samples 2 to 2");
    }
}

/* A mapping of the whole of a dataset to samples of another one. */
typedef struct mapping {
    const char *file, *dataset;
    hsize_t first, count, heads;
} mapping;

/* Maps /attention of the joined store anew. */
static void map_attention(const mapping *mappings, size_t count)
{
    const hsize_t shape[] = {FIXTURE_SAMPLES, FIXTURE_LAYERS, FIXTURE_HEADS, TOKENS, TOKENS};
    write_joined();
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Ldelete(file, "attention", H5P_DEFAULT);
    H5Fset_libver_bounds(file, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);
    for (size_t i = 0; i < count; i++) {
        const mapping *m = &mappings[i];
        const hsize_t start[5] = {m->first}, origin[5] = {0};
        const hsize_t size[] = {m->count, FIXTURE_LAYERS, m->heads, TOKENS, TOKENS};
        hid_t all = H5Screate_simple(5, shape, NULL), own = H5Screate_simple(5, size, NULL);
        H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, size, NULL);
        H5Sselect_hyperslab(own, H5S_SELECT_SET, origin, NULL, size, NULL);
        assert_true(H5Pset_virtual(properties, all, m->file, m->dataset, own) >= 0);
        H5Sclose(own);
        H5Sclose(all);
    }
    hid_t space = H5Screate_simple(5, shape, NULL);
    hid_t dataset = H5Dcreate2(file, "attention", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties,
                               H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(file);
}

static mgk_status ignore_entry(void *context, const mgk_store_entry *entry)
{
    (void)context;
    (void)entry;
    return STATUS_OK;
}

static void other_mappings(void **state)
{
    (void)state;
    static const struct {
        mapping mappings[2];
        mgk_status status;
        const char *said;
    } cases[] = {
        {{{"/tmp/joined.h5", "attention", 0, 2, 2}, {"joined.shard-1.h5", "attention", 2, 1, 2}},
         STATUS_UNSUPPORTED,
         "\"attention\" are in other files"},
        {{{"../joined.h5", "attention", 0, 2, 2}, {"joined.shard-1.h5", "attention", 2, 1, 2}},
         STATUS_UNSUPPORTED,
         "\"attention\" are in other files"},
        {{{".", "scores", 0, 2, 2}, {"joined.shard-1.h5", "attention", 2, 1, 2}},
         STATUS_UNSUPPORTED,
         "\"attention\" are in other files"},
        {{{"%%", "attention", 0, 2, 2}, {"joined.shard-1.h5", "attention", 2, 1, 2}},
         STATUS_UNSUPPORTED,
         "\"attention\" are in other files"},
        {{{"joined.shard-0.h5", "attention", 0, 2, 1}, {"joined.shard-1.h5", "attention", 2, 1, 1}},
         STATUS_UNSUPPORTED,
         "\"attention\" are in other files"},
        {{{"joined.shard-0.h5", "attention", 0, 1, 2}, {"joined.shard-1.h5", "attention", 2, 1, 2}},
         STATUS_UNSUPPORTED,
         "\"attention\" are in other files"},
        {{{"joined.shard-0.h5", "attention", 0, 1, 2}, {"joined.shard-1.h5", "attention", 1, 1, 2}},
         STATUS_UNSUPPORTED,
         "\"attention\" are in other files"},
        {{{"joined.shard-0.h5", "scores", 0, 2, 2}, {"joined.shard-1.h5", "attention", 2, 1, 2}},
         STATUS_UNSUPPORTED,
         "\"attention\" are in other files"},
        {{{"joined.shard-0.h5", "attention", 0, 1, 2}, {"joined.shard-1.h5", "attention", 1, 2, 2}},
         STATUS_UNSUPPORTED,
         "\"scores\" are in other files"},
        {{{"joined.h5", "attention", 0, 2, 2}, {"joined.shard-1.h5", "attention", 2, 1, 2}},
         STATUS_UNSUPPORTED,
         "\"scores\" are in other files"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        map_attention(cases[i].mappings, 2);
        expect_refusal(cases[i].status, cases[i].said);
        assert_ok(mgk_store_list(PATH, ignore_entry, NULL));
    }
    map_attention((mapping[]){{names[0], "attention", 0, 2, 2}, {names[1], "attention", 2, 1, 2}},
                  2);
    check_values(PATH, FIRST);
}

/* A store whose shard is the store itself. */
static void own_shard(void **state)
{
    (void)state;
    write_joined();
    unlink(names[0]);
    assert_int_equal(link(PATH, names[0]), 0);
    expect_refusal(STATUS_UNSUPPORTED, "joined.shard-0.h5: a shard that is in shards itself");
    unlink(names[0]);
}

static void partly_in_shards(void **state)
{
    (void)state;
    const hsize_t shape[] = {FIXTURE_SAMPLES, FIXTURE_LAYERS, FIXTURE_HEADS, TOKENS, TOKENS};
    write_joined();
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, "scores", H5P_DEFAULT);
    hid_t space = H5Screate_simple(5, shape, NULL);
    H5Dclose(
        H5Dcreate2(file, "scores", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(file);
    expect_refusal(STATUS_FORMAT, "\"scores\" is not in the shards of the other objects");
}

static void paths(void **state)
{
    (void)state;
    char *path;
    assert_ok(mgk_shard_path("a.b/c.h5", 0, 12, &path));
    assert_string_equal(path, "a.b/c.shard-12.h5");
    mgk_free(path);
    assert_ok(mgk_shard_path(".h5", 3, 0, &path));
    assert_string_equal(path, ".h5.shard-0.3.h5");
    mgk_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),
        cmocka_unit_test(one_process),
        cmocka_unit_test(replaced_at_once),
        cmocka_unit_test(shards_of_another),
        cmocka_unit_test(missing_shard_replaced),
        cmocka_unit_test(choice_of_names),
        cmocka_unit_test(released_by_all),
        cmocka_unit_test(two_shards),
        cmocka_unit_test(missing_shard),
        cmocka_unit_test(wrong_shard),
        cmocka_unit_test(other_mappings),
        cmocka_unit_test(own_shard),
        cmocka_unit_test(partly_in_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
