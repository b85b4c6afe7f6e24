/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/table/rank_columns.h"
#include "base/file.h"
#include "base/memory.h"
#include "run/rank_file.h"
#include "table/content.h"

static const char csv[] = "ranks.csv", json[] = "ranks.json";

static int remove_files(void **state)
{
    (void)state;
    unlink(csv);
    unlink(json);
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
                                   .position = 7,
                                   .layer = 1,
                                   .head = 2,
                                   .n = 256,
                                   .sigma_max = 1.5,
                                   .sigma_min = 0.1,
                                   .effective_rank = 10.25,
                                   .stable_rank = 2,
                                   .sigma_ratio = 0.75,
                                   .energy = {0.25, 0.5, 0.875, 1},
                                   .frobenius = 16.5,
                                   .noise_floor = 1e-9,
                                   .row_sum_error = 0,
                                   .column_sum_max = 7,
                                   .zero_rows = 5,
                                   .format = MGK_FLOAT_F32,
                                   .method = MGK_METHOD_GRAM};
    table.rows[1] = (mgk_rank_row){.sample = 4,
                                   .frobenius = (double)NAN,
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

static mgk_status read_text(const char *text, size_t size, mgk_rank_table *table)
{
    assert_ok(mgk_write_file(csv, true, text, size));
    return mgk_rank_file_read(csv, false, table);
}

#define HEADER "sample,layer,head,n,rank,undecided,sigma_max,sigma_min,effective_rank,stable_rank"

static void csv_is_exactly_this(void **state)
{
    (void)state;
    mgk_rank_table table = example(1);
    table.settings.relative = false;
    table.thresholds[0] = 1e-6;
    assert_ok(mgk_rank_file_write(&table, csv, false));
    assert_file_is(
        csv,
        HEADER ",threshold,relative,input,position,rank_low,rank_high,nearest,certificate,method,"
               "storage,sigma_ratio,energy_1,energy_4,energy_16,energy_64,frobenius,noise_floor,"
               "row_sum_error,column_sum_max,zero_rows\n"
               "3,1,2,256,100,1,1.5,0.1,10.25,2,1e-06,0,0,7,99,120,1e-06,statistical,gram,f32,"
               "0.75,0.25,0.5,0.875,1,16.5,1e-09,0,7,5\n"
               "4,0,0,0,0,0,,,,,1e-06,0,0,0,0,0,,none,svd,f64,,,,,,,,,,0\n");
    assert_fails(mgk_rank_file_write(&table, csv, false), STATUS_EXISTS);
    assert_fails(mgk_rank_file_write(&table, "ranks.txt", false), STATUS_USAGE);
    mgk_rank_table_free(&table);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void assert_same_table(const mgk_rank_table *a, const mgk_rank_table *b)
{
    assert_int_equal(a->row_count, b->row_count);
    assert_int_equal(a->threshold_count, b->threshold_count);
    assert_int_equal(a->settings.relative, b->settings.relative);
    assert_memory_equal(&a->rows[0], &b->rows[0], sizeof(mgk_rank_row));
    for (size_t i = 0; i < a->row_count * a->threshold_count; i++) {
        const mgk_rank_record x = mgk_rank_table_record(a, i), y = mgk_rank_table_record(b, i);
        assert_true(x.threshold == y.threshold && x.row.position == y.row.position);
        assert_true(same(x.row.column_sum_max, y.row.column_sum_max));
        assert_true(same(x.row.energy[2], y.row.energy[2]));
        assert_int_equal(x.count.rank, y.count.rank);
        assert_int_equal(x.count.rank_low, y.count.rank_low);
        assert_int_equal(x.count.rank_high, y.count.rank_high);
        assert_int_equal(x.count.undecided, y.count.undecided);
        assert_int_equal(x.count.certificate, y.count.certificate);
        assert_true(same(x.count.nearest, y.count.nearest));
    }
}

static void assert_same_settings(const mgk_rank_settings *a, const mgk_rank_settings *b)
{
    assert_int_equal(a->origin_count, b->origin_count);
    for (size_t i = 0; i < b->origin_count; i++) {
        assert_string_equal(a->origins[i].path, b->origins[i].path);
        assert_string_equal(a->origins[i].sha256, b->origins[i].sha256);
    }
    assert_string_equal(a->method, b->method);
    assert_string_equal(a->run, b->run);
    assert_true(a->seed == b->seed);
    assert_int_equal(a->matrices_per_layer, b->matrices_per_layer);
}

static void every_format_comes_back_whole(void **state)
{
    (void)state;
    const char *const paths[] = {csv, json, "ranks.h5"};
    for (size_t i = 0; i < 9; i++) {
        const char *path = paths[i % 3];
        mgk_rank_table table = example(1 + i / 3), back;
        table.settings.relative = i % 2;
        assert_ok(mgk_rank_file_write(&table, path, true));
        assert_ok(mgk_rank_file_read(path, true, &back));
        assert_same_table(&back, &table);
        if (path != csv)
            assert_same_settings(&back.settings, &table.settings);
        assert_null(back.spectra);
        mgk_rank_table_free(&back);
        mgk_rank_table_free(&table);
    }
}

/* Files of earlier versions had ten columns, and further ones only where values were unusual. */
static void csv_of_earlier_versions(void **state)
{
    (void)state;
    static const char usual[] = HEADER "\n3,1,2,256,100,1,1.5,0.1,10.25,2\n4,0,0,0,0,0,,,,\n";
    static const char swept[] = HEADER ",threshold,input,relative\n"
                                       "3,1,2,9,7,0,,,,,0.1,0,1\n3,1,2,9,8,0,,,,,1e-06,0,1\n";
    mgk_rank_table table;
    assert_ok(read_text(usual, sizeof(usual) - 1, &table));
    assert_int_equal(table.row_count, 2);
    assert_true(table.threshold_count == 1 && table.thresholds[0] == 1e-6);
    assert_true(!table.settings.relative && table.counts[0].undecided);
    assert_true(table.counts[0].rank_low == 0 && table.counts[0].rank_high == 256);
    assert_true(table.rows[0].effective_rank == 10.25 && isnan(table.rows[1].sigma_max));
    assert_true(isnan(table.rows[0].noise_floor) && isnan(table.rows[0].sigma_ratio));
    assert_true(isnan(table.rows[0].frobenius) && isnan(table.counts[0].nearest));
    mgk_rank_table_free(&table);
    assert_ok(read_text(swept, sizeof(swept) - 1, &table));
    assert_int_equal(table.row_count, 1);
    assert_true(table.settings.relative && table.thresholds[1] == 1e-6);
    assert_int_equal(table.counts[1].rank, 8);
    assert_int_equal(table.counts[1].rank_low, 8);
    mgk_rank_table_free(&table);
}

/* In JSON `relative` was only among the settings. */
static void json_of_earlier_versions(void **state)
{
    (void)state;
    static const char text[] =
        "{\"settings\": {\"method\": \"svd\", \"relative\": true, \"seed\": \"1\", "
        "\"matrices_per_layer\": 0}, \"matrices\": [{\"sample\": 0, \"layer\": 1, \"head\": 2, "
        "\"n\": 9, \"rank\": 8, \"rank_low\": 7, \"rank_high\": 9, \"undecided\": 1, "
        "\"sigma_max\": "
        "1, \"sigma_min\": null, \"effective_rank\": null, \"stable_rank\": null, \"threshold\": "
        "0.25}], \"layers\": []}";
    mgk_rank_table table;
    assert_ok(read_text(text, sizeof(text) - 1, &table));
    assert_true(table.settings.relative && table.thresholds[0] == 0.25);
    assert_true(table.counts[0].rank_low == 7 && table.rows[0].layer == 1);
    mgk_rank_table_free(&table);
}

static void json_holds_the_histograms(void **state)
{
    (void)state;
    mgk_rank_table table = example(1);
    mgk_mapping mapping;
    assert_ok(mgk_rank_file_write(&table, json, true));
    assert_ok(mgk_map_file(json, &mapping));
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

/* Two inputs of two rows each: joined, separated, and read back from both text formats. */
static void inputs_are_joined(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *path = i ? json : csv;
        mgk_rank_table table = example(2), next = example(2), back;
        assert_ok(mgk_rank_table_join(&table, &next));
        assert_int_equal(mgk_rank_table_inputs(&table), 2);
        assert_ok(mgk_rank_file_write(&table, path, true));
        assert_ok(mgk_rank_file_read(path, false, &back));
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

static void bad_csv_is_refused(void **state)
{
    (void)state;
    const char *files[] = {
        "",
        "rank\n1\n",
        HEADER "\n",
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
        assert_non_null(strstr(mgk_fail_message(), csv));
    }
}

#define SETTINGS "\"settings\": {\"seed\": \"1\", \"matrices_per_layer\": 0}"
#define MATRIX(rank, low, storage)                                                                \
    "{\"sample\": 0, \"layer\": 0, \"head\": 0, \"n\": 9, \"rank\": " rank ", \"rank_low\": " low \
    ", \"rank_high\": 9, \"undecided\": 1, \"sigma_max\": 1, \"sigma_min\": 1, "                  \
    "\"effective_rank\": 1, \"stable_rank\": 1, \"storage\": \"" storage "\"}"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(csv_is_exactly_this, remove_files),
        cmocka_unit_test_teardown(every_format_comes_back_whole, remove_files),
        cmocka_unit_test_teardown(csv_of_earlier_versions, remove_files),
        cmocka_unit_test_teardown(json_of_earlier_versions, remove_files),
        cmocka_unit_test_teardown(json_holds_the_histograms, remove_files),
        cmocka_unit_test_teardown(inputs_are_joined, remove_files),
        cmocka_unit_test_teardown(inputs_out_of_order, remove_files),
        cmocka_unit_test(layers_and_their_ranks),
        cmocka_unit_test(tables_grow),
        cmocka_unit_test_teardown(bad_csv_is_refused, remove_files),
        cmocka_unit_test_teardown(bad_json_is_refused, remove_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
