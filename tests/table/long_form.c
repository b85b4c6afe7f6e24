/* SPDX-License-Identifier: MIT */
/* Tables in long form: texts that are known only at run time, integers that may be missing, and
 * files that are written in pieces. */
#include "test.h"

#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "mgk.h"
#include "table/content.h"
#include "table/files.h"

typedef struct record {
    enum { HEAD, LAYER } level;
    int32_t input, measure, layer;
    double value;
} record;

static const char *const levels[] = {"head", "layer"};

static const mgk_column columns[] = {
    {"input", MGK_COLUMN_NAME, MGK_LEVEL_MODEL, "", "a file", "", NULL, 0, offsetof(record, input),
     false},
    {"level", MGK_COLUMN_WORD, MGK_LEVEL_MODEL, "", "what is measured", "", levels, 2,
     offsetof(record, level), false},
    {"measure", MGK_COLUMN_NAME, MGK_LEVEL_MODEL, "", "a name", "", NULL, 0,
     offsetof(record, measure), false},
    {"layer", MGK_COLUMN_INTEGER_OR_NONE, MGK_LEVEL_LAYER, "", "l", "", NULL, 0,
     offsetof(record, layer), false},
    {"value", MGK_COLUMN_REAL, MGK_LEVEL_MODEL, "", "x", "", NULL, 0, offsetof(record, value),
     false},
};

enum { INPUT, LEVEL, MEASURE, LAYER_COLUMN, VALUE, COLUMNS };

static const mgk_schema schema = {"long-table", 1, "long table", "rows", columns, COLUMNS};

static const char *const csv = "long.csv", *const json = "long.json", *const h5 = "long.h5";

/* Texts that are hard to write, and one after another make more of them. */
static const char *const pieces[] = {
    "",  "a",  ",",  "\"", "\"\"",     "\n",      "\r",           "\r\n",
    " ", "\\", "/",  "{",  "\x01\x1f", "\x7f",    "\xc3\xa9",     "#",
    "'", ", ", "-1", "7",  "null",     "\\u0041", "\xe6\x97\xa5", "\xf4\x8f\xbf\xbf",
    "[", "\t", ";"};

enum { PIECES = sizeof(pieces) / sizeof(*pieces), LONGEST = 64 };

static uint64_t draw(mgk_random *random)
{
    return mgk_random_u64(random->seed, random->stream, random->index++);
}

static void random_text(mgk_random *random, char text[LONGEST])
{
    text[0] = '\0';
    for (uint64_t count = draw(random) % 6; count > 0; count--)
        strcat(text, pieces[draw(random) % PIECES]);
}

static int32_t name_of(mgk_table *table, const char *text)
{
    int32_t index;
    assert_ok(mgk_table_name(table, text, &index));
    assert_string_equal(table->names.texts[index], text);
    return index;
}

/* A random table, with few names or many. */
static mgk_table random_table(mgk_random *random, size_t rows)
{
    mgk_table table;
    char text[LONGEST];
    const bool many = draw(random) % 2;
    assert_ok(mgk_table_make(&schema, rows, &table));
    random_text(random, text);
    name_of(&table, text);
    for (size_t r = 0; r < rows; r++) {
        if (many) {
            random_text(random, text);
            snprintf(text + strlen(text), 24, "%zu", r);
        }
        const record row = {.level = (int)(draw(random) % 2),
                            .input = (int32_t)(draw(random) % table.names.count),
                            .measure = many ? name_of(&table, text) : 0,
                            .layer = draw(random) % 3 ? (int32_t)(draw(random) >> 33) : -1,
                            .value = draw(random) % 4 ? mgk_random_uniform(1, 2, r) : (double)NAN};
        assert_ok(mgk_table_put(&table, r, &row));
    }
    return table;
}

static void assert_same(const mgk_table *a, const mgk_table *b)
{
    assert_int_equal(a->row_count, b->row_count);
    for (size_t r = 0; r < a->row_count; r++) {
        record x, y;
        mgk_table_get(a, r, &x);
        mgk_table_get(b, r, &y);
        assert_int_equal(x.level, y.level);
        assert_int_equal(x.layer, y.layer);
        assert_true(isnan(x.value) ? isnan(y.value) : x.value == y.value);
        assert_string_equal(mgk_table_text(a, INPUT, r), mgk_table_text(b, INPUT, r));
        assert_string_equal(mgk_table_text(a, MEASURE, r), mgk_table_text(b, MEASURE, r));
    }
}

static void every_format_holds_everything(void **state)
{
    (void)state;
    mgk_random random = {.seed = 11};
    for (int i = 0; i < 60; i++) {
        mgk_table table = random_table(&random, 1 + draw(&random) % (i < 3 ? 3000 : 50)), back;
        assert_ok(mgk_table_write_csv(&table, csv, true));
        assert_ok(mgk_table_write_json(&table, json, true, NULL, NULL));
        assert_ok(mgk_table_write_h5(&table, h5, true, NULL, NULL));
        for (int format = 0; format < 3; format++) {
            assert_ok(format < 2 ? mgk_table_read_text(&schema, format ? json : csv, &back)
                                 : mgk_table_read_h5(&schema, h5, NULL, NULL, &back));
            assert_same(&table, &back);
            mgk_table_free(&back);
        }
        mgk_table_free(&table);
    }
}

/* Two rows, whose texts are written with quotes and escapes. */
static mgk_table example(void)
{
    mgk_table table;
    assert_ok(mgk_table_make(&schema, 2, &table));
    const int32_t path = name_of(&table, "a \"b\",\r\n\\c"), cr = name_of(&table, "d'\re");
    const record rows[] = {{HEAD, path, cr, -1, 0.25}, {LAYER, cr, path, 3, (double)NAN}};
    for (size_t r = 0; r < 2; r++)
        assert_ok(mgk_table_put(&table, r, &rows[r]));
    return table;
}

static void text_is_exactly_this(void **state)
{
    (void)state;
    mgk_table table = example();
    assert_ok(mgk_table_write_csv(&table, csv, true));
    assert_file_is(csv, "input,level,measure,layer,value\n"
                        "\"a \"\"b\"\",\r\n\\c\",head,\"d'\re\",,0.25\n"
                        "\"d'\re\",layer,\"a \"\"b\"\",\r\n\\c\",3,\n");
    assert_ok(mgk_table_write_json(&table, json, true, NULL, NULL));
    assert_file_is(json, "{\"settings\": {},\n\"rows\": [\n"
                         "{\"input\": \"a \\\"b\\\",\\u000d\\u000a\\\\c\", \"level\": \"head\", "
                         "\"measure\": \"d'\\u000de\", \"layer\": null, \"value\": 0.25},\n"
                         "{\"input\": \"d'\\u000de\", \"level\": \"layer\", "
                         "\"measure\": \"a \\\"b\\\",\\u000d\\u000a\\\\c\", \"layer\": 3, "
                         "\"value\": null}]}\n");
    mgk_table_free(&table);
}

/* Chunks of random tables, as a writer asks for them. */
typedef struct pieces_left {
    mgk_table *tables; /* [count] */
    size_t given, count;
    size_t fail_at; /* the chunk whose making fails; count: the end */
} pieces_left;

static mgk_status next_piece(void *state, const mgk_table **chunk)
{
    pieces_left *left = state;
    if (left->given == left->fail_at)
        return mgk_fail(STATUS_NUMERIC, "no more of it");
    *chunk = left->given < left->count ? &left->tables[left->given] : NULL;
    left->given++;
    return STATUS_OK;
}

enum { CHUNKS = 4 };

/* Makes chunks, of which the second has no rows, and one table of all their rows. */
static mgk_table make_chunks(mgk_table chunks[CHUNKS])
{
    static const size_t rows[CHUNKS] = {3, 0, 17, 5};
    mgk_random random = {.seed = 5};
    mgk_table all;
    size_t at = 0;
    assert_ok(mgk_table_make(&schema, 25, &all));
    for (size_t i = 0; i < CHUNKS; i++) {
        chunks[i] = random_table(&random, rows[i]);
        for (size_t r = 0; r < rows[i]; r++) {
            record row;
            mgk_table_get(&chunks[i], r, &row);
            row.input = name_of(&all, mgk_table_text(&chunks[i], INPUT, r));
            row.measure = name_of(&all, mgk_table_text(&chunks[i], MEASURE, r));
            assert_ok(mgk_table_put(&all, at++, &row));
        }
    }
    return all;
}

static char *content_of(const char *path)
{
    mgk_mapping file;
    assert_ok(mgk_map_file(path, &file));
    char *text = calloc(file.size + 1, 1);
    memcpy(text, file.data, file.size);
    mgk_unmap_file(&file);
    return text;
}

static mgk_status write_chunks(pieces_left *left, bool of_json, const char *settings)
{
    const mgk_table_chunks chunks = {&schema, settings, next_piece, left};
    left->given = 0;
    return of_json ? mgk_table_write_json_chunks(&chunks, json, true, NULL, NULL)
                   : mgk_table_write_csv_chunks(&chunks, csv, true);
}

static void chunks_make_one_file(void **state)
{
    (void)state;
    mgk_table tables[CHUNKS], all = make_chunks(tables);
    all.settings = strdup("{\"a\": 1}");
    for (int of_json = 0; of_json < 2; of_json++) {
        pieces_left left = {tables, 0, CHUNKS, SIZE_MAX};
        assert_ok(of_json ? mgk_table_write_json(&all, json, true, NULL, NULL)
                          : mgk_table_write_csv(&all, csv, true));
        char *expected = content_of(of_json ? json : csv);
        assert_ok(write_chunks(&left, of_json, all.settings));
        assert_int_equal(left.given, CHUNKS + 1);
        assert_file_is(of_json ? json : csv, expected);
        free(expected);
    }
    for (size_t i = 0; i < CHUNKS; i++)
        mgk_table_free(&tables[i]);
    mgk_table_free(&all);
}

static void no_chunks(void **state)
{
    (void)state;
    pieces_left left = {NULL, 0, 0, SIZE_MAX};
    assert_ok(write_chunks(&left, false, NULL));
    assert_file_is(csv, "input,level,measure,layer,value\n");
    assert_ok(write_chunks(&left, true, NULL));
    assert_file_is(json, "{\"settings\": {},\n\"rows\": []}\n");
}

/* A failure keeps the file that was there, and leaves no other. */
static void chunks_that_fail(void **state)
{
    (void)state;
    mgk_table tables[CHUNKS], all = make_chunks(tables);
    for (int of_json = 0; of_json < 2; of_json++)
        for (size_t fail = 0; fail <= CHUNKS; fail++) {
            const char *const path = of_json ? json : csv;
            pieces_left left = {tables, 0, CHUNKS, fail};
            assert_ok(mgk_write_file(path, true, "kept", 4));
            assert_fails(write_chunks(&left, of_json, NULL), STATUS_NUMERIC);
            assert_string_equal(mgk_fail_message(), "no more of it");
            assert_file_is(path, "kept");
            unlink(path);
            assert_fails(write_chunks(&left, of_json, NULL), STATUS_NUMERIC);
            assert_false(mgk_exists(path));
        }
    for (size_t i = 0; i < CHUNKS; i++)
        mgk_table_free(&tables[i]);
    mgk_table_free(&all);
}

/* Gives the first table of the state `count` times, and then fails. */
static mgk_status next_of_many(void *state, const mgk_table **chunk)
{
    pieces_left *left = state;
    *chunk = left->tables;
    return left->given++ < left->count ? STATUS_OK : mgk_fail(STATUS_NUMERIC, "no end");
}

/* A file that cannot grow ends the work that makes its rows. */
static void full_disk(void **state)
{
    (void)state;
    mgk_table tables[CHUNKS], all = make_chunks(tables);
    pieces_left left = {&all, 0, 10000, SIZE_MAX};
    const mgk_table_chunks chunks = {&schema, NULL, next_of_many, &left};
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){10000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const mgk_status status = mgk_table_write_csv_chunks(&chunks, "full.csv", true);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, STATUS_IO);
    assert_true(left.given > 2 && left.given < 100);
    assert_false(mgk_exists("full.csv"));
    for (size_t i = 0; i < CHUNKS; i++)
        mgk_table_free(&tables[i]);
    mgk_table_free(&all);
}

static mgk_status read_text(const char *text, mgk_table *table)
{
    assert_ok(mgk_write_file(csv, true, text, strlen(text)));
    return mgk_table_read_text(&schema, csv, table);
}

/* Quotes where none are needed, line ends of other systems, and columns that are not known. */
static void csv_of_others(void **state)
{
    (void)state;
    mgk_table table;
    record row;
    assert_ok(read_text("\"value\",\"input\",\"of\nothers\",\"level\",\"layer\",\"measure\"\r\n"
                        "\"0.5\",\"\",\"a\r\n\"\"b\",\"layer\",\"\",\"m\"\r\n"
                        ",\"\"\"\",c\rd,\"head\",\"2\",\"\n\"\r",
                        &table));
    assert_int_equal(table.row_count, 2);
    mgk_table_get(&table, 0, &row);
    assert_true(row.value == 0.5 && row.level == LAYER && row.layer == -1);
    assert_string_equal(mgk_table_text(&table, INPUT, 0), "");
    assert_string_equal(mgk_table_text(&table, MEASURE, 0), "m");
    mgk_table_get(&table, 1, &row);
    assert_true(isnan(row.value) && row.level == HEAD && row.layer == 2);
    assert_string_equal(mgk_table_text(&table, INPUT, 1), "\"");
    assert_string_equal(mgk_table_text(&table, MEASURE, 1), "\n");
    mgk_table_free(&table);
}

#define HEADER "input,level,measure,layer,value\n"
#define JSON(input, layer)                                                                    \
    "{\"settings\": {}, \"rows\": [{\"input\": " input ", \"level\": \"head\", \"measure\": " \
    "\"m\", \"layer\": " layer ", \"value\": 1}]}"

static void bad_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"input,\"level", "long.csv: line 1: a quote that does not end"},
        {HEADER "a,head,m,1,2\n\"b\n\n,head,m,1,2\n", "line 3: a quote that does not end"},
        {HEADER "\"a\n\n\",head,m,1,2\nb,head,m,x,2\n", "line 5: \"layer\" is \"x\", expected"},
        {HEADER "\"a\"b,head,m,1,2\n", "line 2: text after the quote"},
        {HEADER "\"a\" ,head,m,1,2\n", "line 2: text after the quote"},
        {HEADER "\"a\"\r,head,m,1,2\n", "line 2: text after the quote"},
        {HEADER "a\"b\",head,m,1,2\n", "line 2: a quote in a cell"},
        {HEADER "a,head,m,1,\"2\n", "line 2: a quote that does not end"},
        {HEADER "a,head,m,1,2\n\xff,head,m,1,2\n", "line 3: \"input\": a text that is not UTF-8"},
        {HEADER "a,head,m,-2,2\n", "\"layer\" is -2, expected a whole number from -1 to 21"},
        {HEADER "a,\"he\"\"ad\",m,1,2\n", "\"level\" is \"he\"ad\", which is not known"},
        {HEADER ",,m,1,2\n", "\"level\" is \"\", which is not known"},
        {JSON("5", "1"), "\"rows\"[0]: \"input\" is not a word"},
        {JSON("null", "1"), "\"input\" is not a word"},
        {JSON("\"\xc3\"", "1"), "\"rows\"[0]: \"input\": a text that is not UTF-8"},
        {JSON("\"a\"", "\"1\""), "\"layer\" is not a number"},
        {JSON("\"a\"", "-1.5"), "\"rows\"[0]: \"layer\" is -1.5"},
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

/* Replaces the codes of `measure`, and the second of its two values; codes NULL: removes them. */
static mgk_status read_with(const char *codes, int second, mgk_table *table)
{
    mgk_table made = example();
    assert_ok(mgk_table_write_h5(&made, h5, true, NULL, NULL));
    mgk_table_free(&made);
    hid_t file = H5Fopen(h5, H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    hid_t dataset = H5Dopen2(file, "measure", H5P_DEFAULT);
    const int values[] = {0, second};
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    if (codes) {
        hid_t attribute = H5Aopen(dataset, "codes", H5P_DEFAULT);
        assert_true(H5Awrite(attribute, type, &codes) >= 0);
        H5Aclose(attribute);
    } else {
        assert_true(H5Adelete(dataset, "codes") >= 0);
    }
    assert_true(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Tclose(type);
    H5Fclose(file);
    return mgk_table_read_h5(&schema, h5, NULL, NULL, table);
}

static void h5_of_others(void **state)
{
    (void)state;
    static const struct {
        const char *codes;
        int second;
        const char *message;
    } bad[] = {
        {"x, y", 2, "long.h5: row 2: \"measure\" is 2, but its codes list 2 texts"},
        {"x", -1, "long.h5: row 2: \"measure\" is -1, but its codes list 1 text"},
        {NULL, 0, "long.h5: row 1: \"measure\" is 0, but its codes list 0 texts"},
        {"x, \"y", 1, "long.h5: codes of \"measure\": a quote that does not end"},
        {"x, y\"", 1, "long.h5: codes of \"measure\": a quote in a cell that does not begin"},
        {"x, \xff", 1, "long.h5: codes of \"measure\": a text that is not UTF-8"},
    };
    mgk_table table;
    assert_ok(read_with("x, \"y, \"\"z\", x", 1, &table));
    assert_string_equal(mgk_table_text(&table, MEASURE, 0), "x");
    assert_string_equal(mgk_table_text(&table, MEASURE, 1), "y, \"z");
    mgk_table_free(&table);
    assert_ok(read_with("x, \"y, \"\"z\", x", 2, &table));
    assert_int_equal(table.values[MEASURE].integers[0], table.values[MEASURE].integers[1]);
    mgk_table_free(&table);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_fails(read_with(bad[i].codes, bad[i].second, &table), STATUS_FORMAT);
        if (!strstr(mgk_fail_message(), bad[i].message))
            fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), bad[i].message);
        assert_null(table.values);
    }
}

static void names_are_stored_once(void **state)
{
    (void)state;
    enum { NAMES = 5000 };
    mgk_table table;
    char text[16];
    int32_t index;
    assert_ok(mgk_table_make(&schema, 1, &table));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < NAMES; i++) {
            snprintf(text, sizeof(text), "n%d", i);
            assert_int_equal(name_of(&table, text), i);
        }
    assert_int_equal(table.names.count, NAMES);
    assert_fails(mgk_table_name(&table, "\xed\xa0\x80", &index), STATUS_FORMAT);
    assert_int_equal(table.names.count, NAMES);
    record row = {.measure = NAMES};
    assert_fails(mgk_table_put(&table, 0, &row), STATUS_FORMAT);
    row = (record){.input = -1};
    assert_fails(mgk_table_put(&table, 0, &row), STATUS_FORMAT);
    row = (record){.layer = -2};
    assert_fails(mgk_table_put(&table, 0, &row), STATUS_FORMAT);
    mgk_table_free(&table);
}

/* The public header shows texts as words, and integers that are missing as -1. */
static void library_shows_columns(void **state)
{
    (void)state;
    mgk_table table = example();
    mgk_table_column measure, layer;
    assert_int_equal(mgk_table_find_column(&table, "measure", &measure), MGK_OK);
    assert_int_equal(measure.word_count, 2);
    assert_string_equal(measure.words[measure.integers[0]], "d'\re");
    assert_string_equal(measure.words[measure.integers[1]], "a \"b\",\r\n\\c");
    assert_int_equal(mgk_table_find_column(&table, "layer", &layer), MGK_OK);
    assert_true(layer.integers[0] == -1 && layer.integers[1] == 3 && !layer.words);
    mgk_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_holds_everything),
        cmocka_unit_test(text_is_exactly_this),
        cmocka_unit_test(chunks_make_one_file),
        cmocka_unit_test(no_chunks),
        cmocka_unit_test(chunks_that_fail),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(csv_of_others),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(h5_of_others),
        cmocka_unit_test(names_are_stored_once),
        cmocka_unit_test(library_shows_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
