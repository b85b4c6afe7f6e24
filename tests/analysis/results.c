#include "test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/table/results.h"
#include "base/file.h"
#include "base/memory.h"

static const char path[] = "results_test.out";

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

/* Two matrices (the second one empty) at `thresholds` thresholds. */
static mgk_rank_table example(size_t thresholds)
{
    const double tau[] = {0.1, 1e-6, 1e-7};
    mgk_rank_table table;
    assert_ok(mgk_rank_table_make(thresholds, tau, 0, &table));
    assert_ok(mgk_rank_table_append(&table));
    assert_ok(mgk_rank_table_append(&table));
    table.rows[0] = (mgk_rank_row){.sample = 3,
                                   .layer = 1,
                                   .head = 2,
                                   .n = 256,
                                   .sigma_max = 1.5,
                                   .sigma_min = 0.1,
                                   .effective_rank = 10.25,
                                   .stable_rank = 2,
                                   .sigma_ratio = 0.75,
                                   .energy = {0.25, 0.5, 0.875, 1},
                                   .noise_floor = 1e-9,
                                   .row_sum_error = 0,
                                   .column_sum_max = 7,
                                   .format = MGK_FLOAT_F32,
                                   .method = MGK_METHOD_GRAM};
    table.rows[1] = (mgk_rank_row){.sample = 4,
                                   .noise_floor = (double)NAN,
                                   .row_sum_error = (double)NAN,
                                   .column_sum_max = (double)NAN};
    mgk_rank_forget_spectrum(&table.rows[1]);
    for (size_t t = 0; t < thresholds; t++) {
        table.counts[t] = (mgk_rank_count){.rank = 100 + t,
                                           .rank_low = 99,
                                           .rank_high = 120,
                                           .undecided = true,
                                           .nearest = 1e-6,
                                           .certificate = MGK_CERTIFICATE_STATISTICAL};
        table.counts[thresholds + t].nearest = (double)NAN;
    }
    assert_ok(mgk_alloc(2, sizeof(*table.settings.origins), &table.settings.origins));
    table.settings.origin_count = 2;
    assert_ok(mgk_copy_string("a \"b\"\\\xc3\xa9.h5", &table.settings.origins[0].path));
    assert_ok(mgk_copy_string("b.h5", &table.settings.origins[1].path));
    memset(table.settings.origins[1].sha256, 'a', MGK_SHA256_HEX_SIZE - 1);
    assert_ok(mgk_copy_string("{\"device\":\"cpu\"}", &table.settings.run));
    snprintf(table.settings.method, sizeof(table.settings.method), "svd");
    table.settings.relative = true;
    table.settings.seed = UINT64_MAX;
    table.settings.matrices_per_layer = 1000;
    return table;
}

static void assert_file_is(const char *expected)
{
    mgk_mapping mapping;
    assert_ok(mgk_map_file(path, &mapping));
    assert_int_equal(mapping.size, strlen(expected));
    assert_memory_equal(mapping.data, expected, mapping.size);
    mgk_unmap_file(&mapping);
}

static mgk_status read_text(const char *text, size_t size, mgk_rank_table *table)
{
    assert_ok(mgk_write_file(path, true, text, size));
    return mgk_rank_table_read(path, table);
}

#define HEADER "sample,layer,head,n,rank,undecided,sigma_max,sigma_min,effective_rank,stable_rank"

static void csv_is_exactly_this(void **state)
{
    (void)state;
    mgk_rank_table table = example(1);
    table.settings.relative = false;
    table.thresholds[0] = 1e-6;
    assert_ok(mgk_rank_table_write_csv(&table, path, false));
    assert_file_is(HEADER "\n"
                          "3,1,2,256,100,1,1.5,0.1,10.25,2\n"
                          "4,0,0,0,0,0,,,,\n");
    assert_fails(mgk_rank_table_write_csv(&table, path, false), STATUS_EXISTS);
    mgk_rank_table_free(&table);
}

/* A threshold that is not the usual one is named, also if it is the only one. */
static void csv_of_another_threshold(void **state)
{
    (void)state;
    mgk_rank_table table = example(1), back;
    table.settings.relative = false;
    assert_ok(mgk_rank_table_write_csv(&table, path, true));
    assert_file_is(HEADER ",threshold\n"
                          "3,1,2,256,100,1,1.5,0.1,10.25,2,0.1\n"
                          "4,0,0,0,0,0,,,,,0.1\n");
    assert_ok(mgk_rank_table_read(path, &back));
    assert_int_equal(back.row_count, 2);
    assert_int_equal(back.threshold_count, 1);
    assert_true(back.thresholds[0] == 0.1);
    mgk_rank_table_free(&back);
    mgk_rank_table_free(&table);
}

static void csv_of_several_thresholds(void **state)
{
    (void)state;
    mgk_rank_table table = example(2), back;
    table.settings.relative = false;
    assert_ok(mgk_rank_table_write_csv(&table, path, true));
    assert_file_is(HEADER ",threshold\n"
                          "3,1,2,256,100,1,1.5,0.1,10.25,2,0.1\n"
                          "3,1,2,256,101,1,1.5,0.1,10.25,2,1e-06\n"
                          "4,0,0,0,0,0,,,,,0.1\n"
                          "4,0,0,0,0,0,,,,,1e-06\n");
    assert_ok(mgk_rank_table_read(path, &back));
    assert_int_equal(back.row_count, 2);
    assert_int_equal(back.threshold_count, 2);
    assert_true(back.thresholds[0] == 0.1 && back.thresholds[1] == 1e-6);
    assert_int_equal(back.counts[1].rank, 101);
    assert_true(back.counts[1].undecided);
    assert_int_equal(back.counts[1].rank_low, 0);
    assert_int_equal(back.counts[1].rank_high, 256);
    assert_true(back.rows[0].effective_rank == 10.25);
    assert_true(isnan(back.rows[0].noise_floor) && isnan(back.rows[1].sigma_max));
    assert_true(isnan(back.rows[0].sigma_ratio) && isnan(back.rows[0].energy[0]));
    mgk_rank_table_free(&back);
    mgk_rank_table_free(&table);
}

static void csv_of_relative_thresholds(void **state)
{
    (void)state;
    mgk_rank_table table = example(1), back;
    table.thresholds[0] = 1e-6;
    assert_ok(mgk_rank_table_write_csv(&table, path, true));
    assert_file_is(HEADER ",relative\n"
                          "3,1,2,256,100,1,1.5,0.1,10.25,2,1\n"
                          "4,0,0,0,0,0,,,,,1\n");
    assert_ok(mgk_rank_table_read(path, &back));
    assert_true(back.settings.relative);
    mgk_rank_table_free(&back);
    mgk_rank_table_free(&table);
    const char mixed[] = HEADER ",relative\n3,1,2,9,1,1,1,1,1,1,0\n";
    assert_fails(read_text(mixed, sizeof(mixed) - 1, &back), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "line 2: relative is 0, expected 1"));
}

static void json_comes_back_whole(void **state)
{
    (void)state;
    for (size_t thresholds = 1; thresholds <= 3; thresholds++) {
        mgk_rank_table table = example(thresholds), back;
        assert_ok(mgk_rank_table_write_json(&table, path, true));
        assert_ok(mgk_rank_table_read(path, &back));
        assert_int_equal(back.row_count, 2);
        assert_int_equal(back.threshold_count, thresholds);
        assert_int_equal(back.settings.origin_count, 2);
        for (size_t i = 0; i < 2; i++) {
            const mgk_rank_origin *origin = &table.settings.origins[i];
            assert_string_equal(back.settings.origins[i].path, origin->path);
            assert_string_equal(back.settings.origins[i].sha256, origin->sha256);
        }
        assert_string_equal(back.settings.method, "svd");
        assert_string_equal(back.settings.run, "{\"device\":\"cpu\"}");
        assert_true(back.settings.relative);
        assert_true(back.settings.seed == UINT64_MAX);
        assert_int_equal(back.settings.matrices_per_layer, 1000);
        assert_memory_equal(&back.rows[0], &table.rows[0], sizeof(mgk_rank_row));
        assert_true(isnan(back.rows[1].column_sum_max) && isnan(back.rows[1].energy[2]));
        for (size_t t = 0; t < thresholds; t++) {
            assert_true(back.thresholds[t] == table.thresholds[t]);
            assert_int_equal(back.counts[t].rank, 100 + t);
            assert_int_equal(back.counts[t].rank_low, 99);
            assert_int_equal(back.counts[t].rank_high, 120);
            assert_true(back.counts[t].nearest == 1e-6);
            assert_int_equal(back.counts[t].certificate, MGK_CERTIFICATE_STATISTICAL);
        }
        mgk_rank_table_free(&back);
        mgk_rank_table_free(&table);
    }
}

static void json_names_the_measures(void **state)
{
    (void)state;
    mgk_rank_table table = example(1);
    char text[4000] = "";
    assert_ok(mgk_rank_table_write_json(&table, path, true));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "\"stable_rank\": 2, \"sigma_ratio\": 0.75, \"energy_1\": 0.25, "
                                 "\"energy_4\": 0.5, \"energy_16\": 0.875, \"energy_64\": 1,"));
    assert_non_null(strstr(text, "\"method\": \"gram\", \"certificate\": \"statistical\"}"));
    assert_non_null(strstr(text, "\"stable_rank\": null, \"sigma_ratio\": null"));
    mgk_rank_table_free(&table);
}

static void json_holds_the_histograms(void **state)
{
    (void)state;
    mgk_rank_table table = example(1);
    mgk_mapping mapping;
    assert_ok(mgk_rank_table_write_json(&table, path, true));
    assert_ok(mgk_map_file(path, &mapping));
    const char expected[] =
        "\"layers\": [\n"
        "{\"input\": 0, \"layer\": 0, \"threshold\": 0.1, \"histogram\": "
        "{\"bin_left\": [0], "
        "\"count\": [1], \"bin_width\": 1}, \"mean\": 0, \"median\": 0, \"quartiles\": [0, 0, "
        "0]},\n"
        "{\"input\": 0, \"layer\": 1, \"threshold\": 0.1, \"histogram\": "
        "{\"bin_left\": [100], "
        "\"count\": [1], \"bin_width\": 1}, \"mean\": 100, \"median\": 100, "
        "\"quartiles\": [100, 100, 100]}]}\n";
    assert_true(mapping.size > strlen(expected));
    assert_memory_equal(mapping.data + mapping.size - strlen(expected), expected, strlen(expected));
    mgk_unmap_file(&mapping);
    mgk_rank_table_free(&table);
}

/* Two inputs of two rows each, apart again, and back from both formats. */
static void inputs_are_joined(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++) {
        mgk_rank_table table = example(2), next = example(2), back;
        assert_ok(mgk_rank_table_join(&table, &next));
        assert_int_equal(mgk_rank_table_inputs(&table), 2);
        assert_ok(json ? mgk_rank_table_write_json(&table, path, true)
                       : mgk_rank_table_write_csv(&table, path, true));
        assert_ok(mgk_rank_table_read(path, &back));
        assert_int_equal(back.row_count, 4);
        assert_int_equal(mgk_rank_table_inputs(&back), 2);
        for (size_t input = 0; input < 3; input++) {
            mgk_rank_table part = mgk_rank_table_input(&back, input);
            assert_int_equal(part.row_count, input < 2 ? 2 : 0);
            for (size_t r = 0; r < part.row_count; r++) {
                assert_int_equal(part.rows[r].input, input);
                assert_int_equal(part.rows[r].sample, next.rows[r].sample);
                assert_int_equal(part.counts[2 * r + 1].rank, next.counts[2 * r + 1].rank);
            }
        }
        mgk_rank_table_free(&back);
        mgk_rank_table_free(&next);
        mgk_rank_table_free(&table);
    }
    mgk_rank_table one = example(1), two = example(2);
    assert_fails(mgk_rank_table_join(&one, &two), STATUS_USAGE);
    mgk_rank_table_free(&one);
    mgk_rank_table_free(&two);
}

static void inputs_out_of_order(void **state)
{
    (void)state;
    static const char *const numbers[][2] = {{"1", "1"}, {"0", "2"}, {"1", "0"}, {"0", "x"}};
    for (size_t i = 0; i < 4; i++) {
        char text[400];
        mgk_rank_table table;
        int size = snprintf(text, sizeof(text),
                            HEADER ",input\n1,0,0,2,2,0,1,1,2,2,%s\n"
                                   "2,0,0,2,2,0,1,1,2,2,%s\n",
                            numbers[i][0], numbers[i][1]);
        assert_fails(read_text(text, (size_t)size, &table), STATUS_FORMAT);
    }
}

static void layers_and_their_ranks(void **state)
{
    (void)state;
    mgk_rank_table table = example(2);
    size_t count, *layers, ranks[2];
    assert_ok(mgk_rank_table_layers(&table, &count, &layers));
    assert_int_equal(count, 2);
    assert_int_equal(layers[0], 0);
    assert_int_equal(layers[1], 1);
    assert_int_equal(mgk_rank_table_ranks(&table, 1, 1, ranks), 1);
    assert_int_equal(ranks[0], 101);
    assert_int_equal(mgk_rank_table_ranks(&table, 7, 0, ranks), 0);
    mgk_free(layers);
    mgk_rank_table_free(&table);
}

static void tables_grow(void **state)
{
    (void)state;
    const double tau[] = {1, 2};
    mgk_rank_table table;
    assert_ok(mgk_rank_table_make(2, tau, 3, &table));
    for (size_t r = 0; r < 1000; r++) {
        assert_ok(mgk_rank_table_append(&table));
        table.rows[r].sample = r;
        table.counts[r * 2 + 1].rank = r;
        table.spectra[r * 3] = (double)r;
    }
    for (size_t r = 0; r < 1000; r++) {
        assert_int_equal(table.rows[r].sample, r);
        assert_int_equal(table.counts[r * 2 + 1].rank, r);
        assert_true(table.spectra[r * 3] == (double)r && isnan(table.spectra[r * 3 + 2]));
    }
    mgk_rank_table_free(&table);
    assert_fails(mgk_rank_table_make(0, tau, 0, &table), STATUS_USAGE);
    assert_fails(mgk_rank_table_make(1001, tau, 0, &table), STATUS_USAGE);
}

/* A number is the same under a locale that writes commas, which the build makes. */
static void locale_does_not_matter(void **state)
{
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        skip();
    remove(path); /* of the test before */
    csv_is_exactly_this(state);
    json_comes_back_whole(state);
    csv_of_several_thresholds(state);
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
}

static void bad_csv_is_refused(void **state)
{
    (void)state;
    const char *files[] = {
        "",
        "rank\n1\n",
        HEADER "\n1,2,3\n",
        HEADER "\n3,1,2,256,100,1,1.5,0.1,10,2,7\n",
        HEADER "\n-3,1,2,256,100,1,1.5,0.1,10,2\n",
        HEADER "\n3,1,2,256,257,1,1.5,0.1,10,2\n",
        HEADER "\n3,1,2,256,100,2,1.5,0.1,10,2\n",
        HEADER "\n3,1,2,256,100,1,nan,0.1,10,2\n",
        HEADER "\n3,1,2,256,100,1,1e999,0.1,10,2\n",
        HEADER "\n3,1,2,256,100,1,1.5x,0.1,10,2\n",
        HEADER "\n99999999999999999999,1,2,256,100,1,1.5,0.1,10,2\n",
        HEADER "\n9999999999,1,2,256,100,1,1.5,0.1,10,2\n",
        HEADER ",threshold\n3,1,2,256,9,0,,,,,1\n3,1,2,256,9,0,,,,,2\n3,1,2,256,9,0,,,,,1\n",
        HEADER ",threshold\n3,1,2,256,9,0,,,,,1\n4,1,2,256,9,0,,,,,2\n",
        HEADER ",threshold\n3,1,2,256,9,0,,,,,1\n3,1,2,256,9,0,,,,,2\n"
               "4,1,2,256,9,0,,,,,1\n4,1,2,256,9,0,,,,,3\n",
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        mgk_rank_table table;
        if (read_text(files[i], strlen(files[i]), &table) != STATUS_FORMAT)
            fail_msg("file %zu was accepted", i);
        assert_null(table.rows);
        assert_non_null(strstr(mgk_fail_message(), path));
    }
}

static void bad_csv_names_the_line(void **state)
{
    (void)state;
    const char text[] = HEADER "\n3,1,2,256,100,1,1.5,0.1,10,2\n3,1,x,256,100,1,1.5,0.1,10,2\n";
    mgk_rank_table table;
    assert_fails(read_text(text, sizeof(text) - 1, &table), STATUS_FORMAT);
    assert_string_equal(mgk_fail_message(),
                        "results_test.out: line 3: \"x\", expected a whole number");
}

static void csv_of_other_systems_is_read(void **state)
{
    (void)state;
    const char text[] = HEADER "\r\n3,1,2,256,100,0,1.5,0.1,10,2"; /* CR LF, no last newline */
    const char empty[] = HEADER "\n";
    mgk_rank_table table;
    assert_ok(read_text(text, sizeof(text) - 1, &table));
    assert_int_equal(table.row_count, 1);
    assert_true(table.rows[0].stable_rank == 2);
    assert_true(table.thresholds[0] == 1e-6);
    mgk_rank_table_free(&table);
    assert_ok(read_text(empty, sizeof(empty) - 1, &table));
    assert_int_equal(table.row_count, 0);
    mgk_rank_table_free(&table);
}

#define SETTINGS "\"settings\": {\"seed\": \"1\", \"matrices_per_layer\": 0}"
#define MATRIX(rank, low, storage)                                                                \
    "{\"sample\": 0, \"layer\": 0, \"head\": 0, \"n\": 9, \"rank\": " rank ", \"rank_low\": " low \
    ", \"rank_high\": 9, \"undecided\": 1, \"storage\": \"" storage "\"}"

static void bad_json_is_refused(void **state)
{
    (void)state;
    const char good[] = "{" SETTINGS ", \"matrices\": [" MATRIX("8", "7", "f32") "]}";
    const char *files[] = {
        "{",
        "{}",
        "{" SETTINGS "}",
        "{" SETTINGS ", \"matrices\": 5}",
        "{" SETTINGS ", \"matrices\": [5]}",
        "{" SETTINGS ", \"matrices\": [{}]}",
        "{" SETTINGS ", \"matrices\": [" MATRIX("10", "7", "f32") "]}",
        "{" SETTINGS ", \"matrices\": [" MATRIX("8", "9", "f32") "]}",
        "{" SETTINGS ", \"matrices\": [" MATRIX("8.5", "7", "f32") "]}",
        "{" SETTINGS ", \"matrices\": [" MATRIX("-8", "7", "f32") "]}",
        "{" SETTINGS ", \"matrices\": [" MATRIX("1e30", "7", "f32") "]}",
        "{" SETTINGS ", \"matrices\": [" MATRIX("null", "7", "f32") "]}",
        "{" SETTINGS ", \"matrices\": [" MATRIX("8", "7", "f8") "]}",
        "{\"settings\": {\"seed\": 1, \"matrices_per_layer\": 0}, \"matrices\": []}",
        "{\"settings\": {\"seed\": \"x\", \"matrices_per_layer\": 0}, \"matrices\": []}",
        "{\"settings\": {\"seed\": \"1\", \"matrices_per_layer\": 0, \"inputs\": 1}, "
        "\"matrices\": []}",
        "{\"settings\": {\"seed\": \"1\", \"matrices_per_layer\": 0, \"inputs\": [1]}, "
        "\"matrices\": []}",
        "{\"settings\": {\"method\": \"aaaaaaaaaaaaaaaa\", \"matrices_per_layer\": 0}, "
        "\"matrices\": []}",
    };
    mgk_rank_table table;
    assert_ok(read_text(good, sizeof(good) - 1, &table));
    assert_int_equal(table.counts[0].rank, 8);
    mgk_rank_table_free(&table);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        if (read_text(files[i], strlen(files[i]), &table) != STATUS_FORMAT)
            fail_msg("file %zu was accepted", i);
        assert_null(table.rows);
    }
}

/* Every truncation, and every single byte made odd, is refused or read, never a crash. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    mgk_rank_table table = example(2), back;
    for (int json = 0; json < 2; json++) {
        mgk_mapping mapping;
        assert_ok(json ? mgk_rank_table_write_json(&table, path, true)
                       : mgk_rank_table_write_csv(&table, path, true));
        assert_ok(mgk_map_file(path, &mapping));
        size_t size = mapping.size < 1200 ? mapping.size : 1200;
        char *text = malloc(mapping.size);
        memcpy(text, mapping.data, mapping.size);
        for (size_t i = 0; i < size; i += 7) {
            char kept = text[i];
            if (read_text(text, i, &back) == STATUS_OK)
                mgk_rank_table_free(&back);
            text[i] = (char)(kept ^ (int)(1 + i % 255));
            if (read_text(text, mapping.size, &back) == STATUS_OK)
                mgk_rank_table_free(&back);
            assert_null(back.rows);
            text[i] = kept;
        }
        free(text);
        mgk_unmap_file(&mapping);
    }
    mgk_rank_table_free(&table);
}

static void unwritable_places(void **state)
{
    (void)state;
    mgk_rank_table table = example(1);
    assert_fails(mgk_rank_table_write_csv(&table, "no/such/folder.csv", false), STATUS_IO);
    assert_fails(mgk_rank_table_write_json(&table, "no/such/folder.json", false), STATUS_IO);
    mgk_rank_table_free(&table);
    assert_fails(mgk_rank_table_read("no/such/file", &table), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(csv_is_exactly_this, remove_file),
        cmocka_unit_test_teardown(csv_of_another_threshold, remove_file),
        cmocka_unit_test_teardown(csv_of_several_thresholds, remove_file),
        cmocka_unit_test_teardown(csv_of_relative_thresholds, remove_file),
        cmocka_unit_test_teardown(json_comes_back_whole, remove_file),
        cmocka_unit_test_teardown(json_names_the_measures, remove_file),
        cmocka_unit_test_teardown(json_holds_the_histograms, remove_file),
        cmocka_unit_test(inputs_are_joined),
        cmocka_unit_test(inputs_out_of_order),
        cmocka_unit_test(layers_and_their_ranks),
        cmocka_unit_test(tables_grow),
        cmocka_unit_test_teardown(locale_does_not_matter, remove_file),
        cmocka_unit_test_teardown(bad_csv_is_refused, remove_file),
        cmocka_unit_test_teardown(bad_csv_names_the_line, remove_file),
        cmocka_unit_test_teardown(csv_of_other_systems_is_read, remove_file),
        cmocka_unit_test_teardown(bad_json_is_refused, remove_file),
        cmocka_unit_test_teardown(damaged_files_do_no_harm, remove_file),
        cmocka_unit_test(unwritable_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
