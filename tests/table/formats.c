/* SPDX-License-Identifier: MIT */
/* Tables of any columns: every format keeps every value, and files are not trusted. */
#include "test.h"

#include <float.h>
#include <hdf5.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "table/content.h"
#include "table/files.h"

/* A row of the tables in this file. */
typedef struct record {
    size_t integer, other;
    bool flag;
    enum { RED, GREEN, BLUE } word;
    double real, second;
} record;

static const char *const colours[] = {"red", "green", "blue-ish"};

static const mgk_column columns[] = {
    {"integer", MGK_COLUMN_INTEGER, MGK_LEVEL_MATRIX, "tokens", "N", "", NULL, 0,
     offsetof(record, integer), false},
    {"real", MGK_COLUMN_REAL, MGK_LEVEL_PAIR, "", "x", "Somebody 2001", NULL, 0,
     offsetof(record, real), false},
    {"flag", MGK_COLUMN_FLAG, MGK_LEVEL_LAYER, "", "x > 0", "", NULL, 0, offsetof(record, flag),
     false},
    {"word", MGK_COLUMN_WORD, MGK_LEVEL_MODEL, "", "a colour", "", colours, 3,
     offsetof(record, word), true},
    {"other", MGK_COLUMN_INTEGER, MGK_LEVEL_MATRIX, "", "k", "", NULL, 0, offsetof(record, other),
     true},
    {"second", MGK_COLUMN_REAL, MGK_LEVEL_MATRIX, "", "y", "", NULL, 0, offsetof(record, second),
     true},
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static const mgk_schema schema = {"test-table", 3, "test table", "things", columns, COLUMNS};

static const char *const csv = "table.csv", *const json = "table.json", *const h5 = "table.h5";

typedef struct dice {
    uint64_t seed, drawn;
} dice;

static uint64_t draw(dice *random)
{
    const uint64_t at = random->drawn;
    random->drawn += 2;
    return (uint64_t)mgk_random_u32(random->seed, 0, at) << 32 |
           mgk_random_u32(random->seed, 0, at + 1);
}

/* Numbers that are hard to print, and random ones. */
static double random_real(dice *random)
{
    static const double hard[] = {0,
                                  -0.0,
                                  DBL_MAX,
                                  -DBL_MAX,
                                  DBL_MIN,
                                  0x1p-1074,
                                  0.1,
                                  1.0 / 3,
                                  1e-6,
                                  1e22,
                                  123456789012345678.0,
                                  (double)NAN};
    const size_t count = sizeof(hard) / sizeof(*hard);
    uint64_t bits = draw(random);
    double value;
    if (bits % 3 == 0)
        return hard[bits / 3 % count];
    bits = draw(random);
    memcpy(&value, &bits, sizeof(value));
    return isfinite(value) ? value : 1;
}

static record random_record(dice *random)
{
    const uint64_t bits = draw(random);
    return (record){.integer = bits % 5 ? bits % 1000 : INT32_MAX,
                    .other = draw(random) >> 33,
                    .flag = bits >> 20 & 1,
                    .word = (int)(bits >> 21 & 1023) % 3,
                    .real = random_real(random),
                    .second = random_real(random)};
}

/* Makes random rows, and copies them to records [rows]. */
static mgk_table random_table(dice *random, size_t rows, record *records)
{
    mgk_table table;
    assert_ok(mgk_table_make(&schema, rows, &table));
    for (size_t r = 0; r < rows; r++) {
        records[r] = random_record(random);
        assert_ok(mgk_table_put(&table, r, &records[r]));
    }
    return table;
}

static void write_all(const mgk_table *table)
{
    assert_ok(mgk_table_write_csv(table, csv, true));
    assert_ok(mgk_table_write_json(table, json, true, NULL, NULL));
    assert_ok(mgk_table_write_h5(table, h5, true, NULL, NULL));
}

static mgk_table read_back(int format)
{
    mgk_table table;
    if (format == 2)
        assert_ok(mgk_table_read_h5(&schema, h5, NULL, NULL, &table));
    else
        assert_ok(mgk_table_read_text(&schema, format == 0 ? csv : json, &table));
    return table;
}

/* Equal to the last bit; all NaN are equal. */
static bool same_real(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof(a)) == 0;
}

static void assert_same_record(const record *a, const record *b)
{
    assert_int_equal(a->integer, b->integer);
    assert_int_equal(a->other, b->other);
    assert_int_equal(a->flag, b->flag);
    assert_int_equal(a->word, b->word);
    if (!same_real(a->real, b->real) || !same_real(a->second, b->second))
        fail_msg("%.17g %.17g became %.17g %.17g", a->real, a->second, b->real, b->second);
}

static void every_format_holds_everything(void **state)
{
    (void)state;
    enum { MOST = 40, TABLES = 60 };
    record records[MOST], back;
    dice random = {.seed = 7};
    for (int i = 0; i < TABLES; i++) {
        const size_t rows = 1 + draw(&random) % MOST;
        mgk_table table = random_table(&random, rows, records);
        write_all(&table);
        for (int format = 0; format < 3; format++) {
            mgk_table found = read_back(format);
            assert_int_equal(found.row_count, rows);
            for (size_t r = 0; r < rows; r++) {
                memset(&back, 0x55, sizeof(back));
                mgk_table_get(&found, r, &back);
                assert_same_record(&records[r], &back);
            }
            mgk_table_free(&found);
        }
        mgk_table_free(&table);
    }
}

/* The build makes a locale with a decimal comma. */
static void in_any_locale(void **state)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        skip();
    every_format_holds_everything(state);
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
}

static void text_is_exactly_this(void **state)
{
    (void)state;
    const record rows[] = {{7, 0, true, BLUE, 0.5, (double)NAN}, {8, 9, false, RED, 1e-6, -2}};
    mgk_table table;
    assert_ok(mgk_table_make(&schema, 2, &table));
    for (size_t r = 0; r < 2; r++)
        assert_ok(mgk_table_put(&table, r, &rows[r]));
    write_all(&table);
    assert_file_is(csv, "integer,real,flag,word,other,second\n"
                        "7,0.5,1,blue-ish,0,\n"
                        "8,1e-06,0,red,9,-2\n");
    assert_file_is(json, "{\"settings\": {},\n\"things\": [\n"
                         "{\"integer\": 7, \"real\": 0.5, \"flag\": 1, \"word\": \"blue-ish\", "
                         "\"other\": 0, \"second\": null},\n"
                         "{\"integer\": 8, \"real\": 1e-06, \"flag\": 0, \"word\": \"red\", "
                         "\"other\": 9, \"second\": -2}]}\n");
    assert_fails(mgk_table_write_csv(&table, csv, false), STATUS_EXISTS);
    assert_fails(mgk_table_write_json(&table, json, false, NULL, NULL), STATUS_EXISTS);
    assert_fails(mgk_table_write_h5(&table, h5, false, NULL, NULL), STATUS_EXISTS);
    assert_fails(mgk_table_write_csv(&table, "no/such/folder.csv", false), STATUS_IO);
    mgk_table_free(&table);
}

static char *read_attribute(hid_t file, const char *object, const char *name)
{
    char *text = NULL;
    hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    assert_true(H5Aread(attribute, type, &text) >= 0);
    H5Tclose(type);
    H5Aclose(attribute);
    return text;
}

static void h5_says_what_columns_are(void **state)
{
    (void)state;
    static const struct {
        const char *column, *attribute, *value;
    } expected[] = {{"integer", "unit", "tokens"},       {"real", "formula", "x"},
                    {"real", "source", "Somebody 2001"}, {"real", "level", "pair"},
                    {"flag", "level", "layer"},          {"word", "codes", "red, green, blue-ish"}};
    dice random = {.seed = 1};
    record one;
    mgk_table table = random_table(&random, 1, &one);
    write_all(&table);
    mgk_table_free(&table);
    hid_t file = H5Fopen(h5, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        char *text = read_attribute(file, expected[i].column, expected[i].attribute);
        assert_string_equal(text, expected[i].value);
        H5free_memory(text);
    }
    H5Fclose(file);
}

static mgk_status read_text(const char *text, mgk_table *table)
{
    assert_ok(mgk_write_file(csv, true, text, strlen(text)));
    return mgk_table_read_text(&schema, csv, table);
}

/* Columns of other versions, in another order, and unknown ones. */
static void other_columns(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "mine,flag,real,integer\r\nx,1,2.5,3\r\n,0,,4",
        "\xEF\xBB\xBF"
        "flag,real,integer\n1,2.5,3\n0,,4\n\r\n\n", /* as spreadsheets save it */
        "{\"settings\": {}, \"things\": [{\"real\": 2.5, \"mine\": [1], \"integer\": 3, \"flag\": "
        "1},"
        "{\"integer\": 4, \"flag\": 0, \"real\": null}], \"mine\": 0}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        mgk_table table;
        record back = {.second = 77, .other = 5, .word = GREEN};
        assert_ok(read_text(texts[i], &table));
        assert_int_equal(table.row_count, 2);
        assert_null(table.values[mgk_schema_find(&schema, "word")].integers);
        mgk_table_get(&table, 0, &back);
        assert_true(back.integer == 3 && back.flag && back.real == 2.5);
        assert_true(back.second == 77 && back.other == 5 && back.word == GREEN);
        mgk_table_get(&table, 1, &back);
        assert_true(back.integer == 4 && !back.flag && isnan(back.real));
        mgk_table_free(&table);
    }
}

#define ROW(integer, real, flag) \
    "{\"integer\": " integer ", \"real\": " real ", \"flag\": " flag "}"
#define FILE_OF(rows) "{\"settings\": {}, \"things\": [" rows "]}"

static void bad_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "table.csv: an empty file"},
        {"integer,real\n1,2\n", "table.csv: not a test table: no column \"flag\""},
        {"integer,real,flag,real\n1,2,1,3\n", "two columns \"real\""},
        {"integer,real,flag\n1,2,1\n1,2\n", "line 3: too few columns"},
        {"integer,real,flag\n1,2,1,4\n", "line 2: too many columns"},
        {"integer,real,flag\n\n", "line 2: \"integer\" is \"\", expected a whole number"},
        {"integer,real,flag\n1.5,2,1\n", "\"integer\" is 1.5, expected a whole number from 0"},
        {"integer,real,flag\n-1,2,1\n", "\"integer\" is -1"},
        {"integer,real,flag\n2147483648,2,1\n", "\"integer\" is 2.14748e+09"},
        {"integer,real,flag\n1,2,2\n", "\"flag\" is 2, expected a whole number from 0 to 1"},
        {"integer,real,flag\n1,nan,1\n", "\"real\" is \"nan\", expected a finite number"},
        {"integer,real,flag\n1,1e999,1\n", "\"real\" is \"1e999\""},
        {"integer,real,flag,word\n1,1,1,yellow\n", "\"word\" is \"yellow\", which is not known"},
        {"{", "not valid JSON"},
        {"{\"settings\": {}}", "no array \"things\""},
        {"{\"things\": []}", "no object \"settings\""},
        {FILE_OF("5"), "\"things\"[0]: not an object"},
        {FILE_OF(ROW("1", "2", "1") ", {}"), "\"things\"[1]: no \"integer\""},
        {FILE_OF(ROW("1", "2", "true")), "\"flag\" is not a number"},
        {FILE_OF(ROW("null", "2", "1")), "\"integer\" is not a number"},
        {FILE_OF(ROW("1", "\"2\"", "1")), "\"real\" is not a number"},
        {FILE_OF(ROW("1", "1e999", "1")), "\"real\" is infinite"},
        {FILE_OF("{\"integer\": 1, \"integer\": 1, \"real\": 1, \"flag\": 1}"), "there twice"},
        {FILE_OF("{\"integer\": 1, \"real\": 1}"), "no column \"flag\""},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        mgk_table table;
        if (read_text(bad[i].text, &table) != STATUS_FORMAT)
            fail_msg("%s was accepted", bad[i].text);
        assert_null(table.values);
        if (!strstr(mgk_fail_message(), bad[i].message))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), bad[i].message);
    }
}

static void out_of_range(void **state)
{
    (void)state;
    record bad = {.integer = (size_t)INT32_MAX + 1};
    mgk_table table;
    assert_ok(mgk_table_make(&schema, 1, &table));
    assert_fails(mgk_table_put(&table, 0, &bad), STATUS_FORMAT);
    bad = (record){.real = INFINITY};
    assert_fails(mgk_table_put(&table, 0, &bad), STATUS_FORMAT);
    mgk_table_free(&table);
    mgk_table_free(&table);
}

/* Replaces words and values in a file of one row. */
static mgk_status read_with(const char *codes, int word, double real, mgk_table *table)
{
    dice random = {.seed = 3};
    record one;
    mgk_table made = random_table(&random, 1, &one);
    write_all(&made);
    mgk_table_free(&made);
    hid_t file = H5Fopen(h5, H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    hid_t words = H5Dopen2(file, "word", H5P_DEFAULT), reals = H5Dopen2(file, "real", H5P_DEFAULT);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t attribute = H5Aopen(words, "codes", H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, &codes) >= 0);
    assert_true(H5Dwrite(words, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &word) >= 0);
    assert_true(H5Dwrite(reals, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &real) >= 0);
    H5Aclose(attribute);
    H5Dclose(words);
    H5Dclose(reals);
    H5Tclose(type);
    H5Fclose(file);
    return mgk_table_read_h5(&schema, h5, NULL, NULL, table);
}

static void h5_of_others(void **state)
{
    (void)state;
    mgk_table table;
    record back;
    assert_ok(read_with("none, blue-ish, red", 1, 0.25, &table));
    mgk_table_get(&table, 0, &back);
    assert_true(back.word == BLUE && back.real == 0.25);
    mgk_table_free(&table);
    assert_fails(read_with("none, blue-ish, red", 0, 1, &table), STATUS_FORMAT);
    assert_string_equal(mgk_fail_message(),
                        "table.h5: row 1: \"word\" is \"none\", which is not known");
    assert_fails(read_with("red", 7, 1, &table), STATUS_FORMAT);
    assert_fails(read_with("red", -1, 1, &table), STATUS_FORMAT);
    assert_fails(read_with("red", 0, INFINITY, &table), STATUS_FORMAT);
    assert_string_equal(mgk_fail_message(), "table.h5: row 1: \"real\" is infinite");
    assert_null(table.values);
}

/* A file cut off anywhere or with any byte changed is refused or read. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    dice random = {.seed = 5};
    record records[6];
    mgk_table table = random_table(&random, 6, records);
    for (int format = 0; format < 2; format++) {
        mgk_mapping mapping;
        write_all(&table);
        assert_ok(mgk_map_file(format ? json : csv, &mapping));
        for (size_t i = 0; i < mapping.size; i += 3) {
            mgk_table back;
            char *text = malloc(mapping.size);
            memcpy(text, mapping.data, mapping.size);
            text[i] = (char)(text[i] ^ (int)(1 + i % 255));
            assert_ok(mgk_write_file("damaged", true, text, i % 2 ? mapping.size : i));
            free(text);
            if (mgk_table_read_text(&schema, "damaged", &back) == STATUS_OK)
                mgk_table_free(&back);
            assert_null(back.values);
        }
        mgk_unmap_file(&mapping);
    }
    mgk_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_holds_everything),
        cmocka_unit_test(in_any_locale),
        cmocka_unit_test(other_columns),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(out_of_range),
        cmocka_unit_test(h5_says_what_columns_are),
        cmocka_unit_test(h5_of_others),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(text_is_exactly_this),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
