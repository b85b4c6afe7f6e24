/* SPDX-License-Identifier: MIT */
/* The journal of a run of ranks: resumed rows are unchanged, and the file is not trusted. */
#include "test.h"

#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/matrices.h"
#include "analysis/run/rank_journal.h"
#include "analysis/run/run.h"
#include "analysis/source.h"
#include "analysis/table/rank_columns.h"
#include "base/file.h"
#include "base/memory.h"
#include "table/files.h"

enum { LARGEST = 7, HEADS = 3, COUNT = 24, LINE = 4096 };

static const char *const path = "journal.part", *const output = "journal.csv";
static const char *const settings = "{\"seed\":\"1\",\"matrices\":5}";
static const double thresholds[] = {1e-2, 1e-6};

/* Softmax matrices of layer 5; sample 1 is empty. */
static size_t order_of(const void *context, size_t i)
{
    (void)context;
    return i / HEADS == 1 ? 0 : LARGEST - i / HEADS % 3;
}

static void fill(const void *context, size_t i, size_t n, double *data)
{
    (void)context;
    test_matrix_softmax(i, n, 2, i % HEADS == 1, data);
}

static test_source synthetic(void)
{
    static const int32_t layers[] = {5};
    return (test_source){.count = COUNT,
                         .heads = HEADS,
                         .layers = 1,
                         .n_max = LARGEST,
                         .order = order_of,
                         .fill = fill,
                         .layer_numbers = layers,
                         .failing = SIZE_MAX};
}

static mgk_status run(test_source *s, const mgk_rank_run_options *options, mgk_rank_table *table)
{
    mgk_source source = test_source_of(s);
    mgk_rank_run_options here = *options;
    here.threshold_count = 2;
    here.thresholds = thresholds;
    here.keep_spectra = true;
    mgk_status status = mgk_rank_run(&source, &here, table);
    assert_false(s->misused);
    return status;
}

static char *read_all(const char *name)
{
    mgk_mapping mapping;
    char *content;
    assert_ok(mgk_map_file(name, &mapping));
    assert_ok(mgk_alloc(mapping.size + 1, 1, &content));
    memcpy(content, mapping.data, mapping.size);
    mgk_unmap_file(&mapping);
    return content;
}

static mgk_journal *open_journal(mgk_journal_start start)
{
    mgk_journal *journal;
    assert_ok(mgk_journal_open(path, start, settings, MGK_RANK_LINE_BYTES, &journal));
    return journal;
}

/* Does not wait for the disk, unlike the library's whole files. */
static void write_journal(const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Leaves a journal file of all matrices as input `input`. */
static void leave_journal(size_t input, mgk_rank_table *table)
{
    test_source s = synthetic();
    mgk_rank_run_options options = {.threads = 2, .input = input};
    options.journal = open_journal(MGK_JOURNAL_REPLACE);
    assert_int_equal(mgk_journal_resumed(options.journal), 0);
    assert_ok(run(&s, &options, table));
    assert_true(mgk_journal_close(options.journal, true));
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Compares all columns and the spectra. */
static void assert_same(const mgk_rank_table *a, const mgk_rank_table *b)
{
    const mgk_rank_table *const tables[] = {a, b};
    char *text[2];
    for (int i = 0; i < 2; i++) {
        mgk_table columns;
        assert_ok(mgk_rank_table_columns(tables[i], &columns));
        assert_ok(mgk_table_write_csv(&columns, output, true));
        mgk_table_free(&columns);
        text[i] = read_all(output);
    }
    assert_string_equal(text[0], text[1]);
    mgk_free(text[0]);
    mgk_free(text[1]);
    assert_int_equal(a->n_max, b->n_max);
    for (size_t i = 0; i < COUNT * LARGEST; i++)
        assert_true(same(a->spectra[i], b->spectra[i]));
}

/* Keeps the settings and the lines whose bit is set in `pattern`; returns the number of lines. */
static size_t thin_out(unsigned pattern)
{
    char *text = read_all(path);
    FILE *file = fopen(path, "w");
    size_t kept = 0, number = 0;
    assert_non_null(file);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), number++) {
        bool keep = number > 0 && (pattern >> (number - 1) & 1);
        kept += keep;
        if (number == 0 || keep)
            fprintf(file, "%s\n", line);
    }
    fclose(file);
    mgk_free(text);
    return kept;
}

static void resume(const mgk_rank_run_options *how, size_t known, const mgk_rank_table *whole)
{
    test_source s = synthetic();
    mgk_rank_table table;
    mgk_rank_run_options options = *how;
    size_t computed = 0;
    options.journal = open_journal(MGK_JOURNAL_RESUME);
    assert_int_equal(mgk_journal_resumed(options.journal), known);
    assert_ok(run(&s, &options, &table));
    for (size_t i = 0; i < COUNT; i++)
        computed += (size_t)s.taken[i];
    assert_int_equal(computed, COUNT - known);
    assert_int_equal(table.row_count, COUNT);
    assert_same(whole, &table);
    mgk_rank_table_free(&table);
    assert_false(mgk_journal_close(options.journal, false));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void any_matrices_may_be_missing(void **state)
{
    (void)state;
    static const unsigned patterns[] = {0xffffff, 0, 0x5a5a5a, 0x000fff, 0xfff000, 0x7ffffe};
    mgk_rank_table whole;
    for (size_t p = 0; p < 6; p++)
        for (int threads = 1; threads <= 3; threads++) {
            const mgk_rank_run_options options = {.threads = threads};
            leave_journal(0, &whole);
            resume(&options, thin_out(patterns[p]), &whole);
            mgk_rank_table_free(&whole);
        }
}

/* Uses the CPU as a device that takes batches. */
static void batches_go_on(void **state)
{
    (void)state;
    mgk_rank_table whole;
    mgk_rank_run_options options = {.threads = 2};
    test_source s = synthetic();
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 2, &options.device));
    options.device->accelerator = true;
    options.journal = open_journal(MGK_JOURNAL_REPLACE);
    assert_ok(run(&s, &options, &whole));
    assert_true(mgk_journal_close(options.journal, true));
    resume(&options, thin_out(0x9c3a51), &whole);
    mgk_rank_table_free(&whole);
    mgk_device_close(options.device);
}

static void other_inputs_are_left_alone(void **state)
{
    (void)state;
    const mgk_rank_run_options second = {.threads = 1, .input = 1};
    mgk_rank_table whole;
    test_source s = synthetic();
    bool *known;
    leave_journal(1, &whole);
    mgk_journal *journal = open_journal(MGK_JOURNAL_RESUME);
    mgk_source source = test_source_of(&s);
    mgk_rank_table first;
    assert_ok(mgk_rank_table_make(2, thresholds, 0, &first));
    assert_ok(mgk_rank_journal_read(journal, 0, &source, &first, &known));
    for (size_t i = 0; i < COUNT; i++)
        assert_false(known[i]);
    mgk_free(known);
    mgk_rank_table_free(&first);
    assert_true(mgk_journal_close(journal, true));
    resume(&second, COUNT, &whole);
    mgk_rank_table_free(&whole);
}

static void cut_at_every_byte(void **state)
{
    (void)state;
    const mgk_rank_run_options options = {.threads = 1};
    mgk_rank_table whole;
    leave_journal(0, &whole);
    thin_out(3);
    char *text = read_all(path);
    size_t lines = 0, length = strlen(text);
    for (size_t cut = 0; cut <= length; cut++) {
        lines += cut > 0 && text[cut - 1] == '\n';
        write_journal(text, cut);
        mgk_journal *journal = open_journal(MGK_JOURNAL_RESUME);
        assert_int_equal(mgk_journal_resumed(journal), lines > 0 ? lines - 1 : 0);
        assert_int_equal(mgk_journal_close(journal, true), lines > 1);
    }
    assert_int_equal(lines, 3);
    /* New lines must not follow a cut-off line; the journal is read once more. */
    write_journal(text, length - 5);
    mgk_rank_run_options again = options;
    mgk_rank_table table;
    test_source s = synthetic();
    again.journal = open_journal(MGK_JOURNAL_RESUME);
    assert_int_equal(mgk_journal_resumed(again.journal), 1);
    assert_ok(run(&s, &again, &table));
    mgk_rank_table_free(&table);
    assert_true(mgk_journal_close(again.journal, true));
    resume(&options, COUNT, &whole);
    mgk_free(text);
    mgk_rank_table_free(&whole);
}

/* Expects an error from a journal with these bytes. */
static void expect_failure(const char *content, const char *message)
{
    test_source s = synthetic();
    mgk_rank_table table;
    mgk_rank_run_options options = {.threads = 1};
    write_journal(content, strlen(content));
    options.journal = open_journal(MGK_JOURNAL_RESUME);
    assert_fails(run(&s, &options, &table), STATUS_FORMAT);
    if (!strstr(mgk_fail_message(), message))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), message);
    assert_null(table.rows);
    mgk_journal_close(options.journal, true);
    char *after = read_all(path);
    assert_string_equal(after, content);
    mgk_free(after);
}

/* Expects an error from the journal with other lines of matrices, whose checksums are right. */
static void expect_damage(const char *settings_line, const char *lines, const char *message)
{
    char content[2 * LINE];
    int used = snprintf(content, sizeof(content), "%s\n", settings_line);
    for (const char *line = lines; line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const size_t length = strcspn(line, "\n");
        used += snprintf(content + used, sizeof(content) - (size_t)used, "%08x %.*s\n",
                         (unsigned)mgk_journal_checksum(line, length), (int)length, line);
    }
    expect_failure(content, message);
}

/* Any changed digit, and lines without checksum, as earlier versions wrote them. */
static void changed_bytes_are_reported(void **state)
{
    (void)state;
    mgk_rank_table whole;
    leave_journal(0, &whole);
    mgk_rank_table_free(&whole);
    thin_out(5);
    char *text = read_all(path);
    char *const first = strchr(text, '\n') + 1, *const second = strchr(first, '\n') + 1;
    for (char *at = first; *at; at++)
        if (*at >= '0' && *at <= '8' && (at - first) % 7 == 0) {
            ++*at;
            expect_failure(text, at < second ? "line 2 does not have the checksum of its content"
                                             : "line 3 does not have the checksum of its content");
            --*at;
        }
    memmove(first, first + 9, strlen(first + 9) + 1);
    expect_failure(text, "line 2 does not have the checksum of its content");
    mgk_free(text);
    unlink(path);
}

static void damage_is_reported(void **state)
{
    (void)state;
    /* Values of a matrix [7, 7], one per column of the schema. */
    static const char good[] = "0,5,0,7,7,0,1,1,1,1,0.1,0,0,0,7,7,0.01,\"bound\",\"svd\",\"f64\","
                               "1,1,1,1,1,1,1,0,1,0";
    static const char sigma[] = "[1,1,1,1,1,1,1]";
    static const struct {
        const char *place, *from, *to, *sigma, *message;
    } bad[] = {
        {"24", "", "", sigma, "journal.part: line 2: matrix 24, expected less"},
        {"-1", "", "", sigma, "whole number"},
        {"0.5", "", "", sigma, "whole number"},
        {"1e300", "", "", sigma, "whole number"},
        {"\"0\"", "", "", sigma, "whole number"},
        {"0", "0,5,0,7,7", "0,5,0,8,7", sigma, "8 rows, expected at most 7"},
        {"0", "0,5,0,7,7", "0,5,0,7,8", sigma, "rank is 8"},
        {"0", "0,5,0,7,7", "0,5,0,7,6", sigma, "rank is 6"},
        {"0", "0,5,0,7,7,0", "0,5,0,7,7,2", sigma, "\"undecided\" is 2"},
        {"0", "0,5,0,7,7", "null,5,0,7,7", sigma, "\"sample\" is not a number"},
        {"0", "0,5,0,7,7", "1,5,0,7,7", sigma, "matrix 0 of the interrupted run is another one"},
        {"0", "\"f64\"", "\"f63\"", sigma, "\"storage\" is \"f63\""},
        {"0", "\"bound\"", "1", sigma, "\"certificate\" is not a word"},
        {"0", "0.01", "1e999", sigma, "\"nearest\" is infinite"},
        {"0", "0.01", "0.01,1", sigma, "\"rows\" is not an array of"},
        {"0", "0.01,", "", sigma, "\"rows\" is not an array of"},
        {"0", "", "", "[1,1,1,1,1,1]", "\"sigma\" is not an array of 7"},
        {"0", "", "", "[1,1,1,1,1,1,1,1]", "\"sigma\" is not an array of 7"},
        {"0", "", "", "[1,1,1,1,1,1,\"1\"]", "finite numbers"},
        {"0", "", "", "[1,1,1,1,1,1,null]", "finite numbers"},
    };
    char line[LINE], twice[2 * LINE], values[LINE / 4];
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const char *at = strstr(good, bad[i].from);
        snprintf(values, sizeof(values), "%.*s%s%s", (int)(at - good), good, bad[i].to,
                 at + strlen(bad[i].from));
        snprintf(line, sizeof(line),
                 "{\"input\":0,\"matrix\":%s,\"rows\":[[%s],[%s]],\"sigma\":%s}", bad[i].place,
                 values, values, bad[i].sigma);
        expect_damage(settings, line, bad[i].message);
    }
    expect_damage(settings, "", "line 2: not a JSON object");
    expect_damage(settings, "{}", "line 2: ");
    expect_damage(settings, "\001\377", "line 2: not a JSON object");
    snprintf(line, sizeof(line), "{\"input\":0,\"matrix\":3,\"rows\":[[%s],[%s]],\"sigma\":%s}",
             good, good, sigma);
    snprintf(twice, sizeof(twice), "%s\n%s", line, line);
    expect_damage(settings, twice, "line 3: matrix 3 is there twice");
    snprintf(line, sizeof(line), "{\"input\":0,\"matrix\":3,\"rows\":[[%s]],\"sigma\":%s}", good,
             sigma);
    expect_damage(settings, line, "\"rows\" is not an array of 2");
    expect_damage(settings, "{\"input\":0,\"matrix\":3,\"rows\":[],\"sigma\":[]}",
                  "\"rows\" is not an array of 2");
}

static void refuse(mgk_journal_start start, mgk_status expected, const char *message)
{
    mgk_journal *journal;
    assert_fails(mgk_journal_open(path, start, settings, MGK_RANK_LINE_BYTES, &journal), expected);
    assert_null(journal);
    if (!strstr(mgk_fail_message(), message))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), message);
    assert_null(strchr(mgk_fail_message(), '\n'));
}

static void other_files_are_refused(void **state)
{
    (void)state;
    static const char other[] = "{\"seed\":\"2\",\"matrices\":5}\n{}\n";
    mgk_rank_table whole;
    leave_journal(0, &whole);
    mgk_rank_table_free(&whole);
    refuse(MGK_JOURNAL_REFUSE, STATUS_EXISTS, "journal.part: an unfinished run has left it");
    mgk_journal *journal = open_journal(MGK_JOURNAL_RESUME);
    refuse(MGK_JOURNAL_REPLACE, STATUS_EXISTS, "another run is writing it");
    assert_true(mgk_journal_close(journal, true));
    write_journal(other, strlen(other));
    refuse(MGK_JOURNAL_RESUME, STATUS_USAGE, "\"seed\" \"2\", not \"1\"");
    write_journal("{\"seed\":\"1\"}\n", 13);
    refuse(MGK_JOURNAL_RESUME, STATUS_USAGE, "\"matrices\" missing, not 5");
    write_journal("text\n", 5);
    refuse(MGK_JOURNAL_RESUME, STATUS_FORMAT, "not the journal of an interrupted run");
    write_journal("\0\0\n\0\n", 5);
    refuse(MGK_JOURNAL_RESUME, STATUS_FORMAT, "zero byte");
    /* A line without an end. */
    char *line;
    const size_t size = 5000000;
    assert_ok(mgk_alloc(size, 1, &line));
    memset(line, '[', size);
    write_journal(line, size);
    refuse(MGK_JOURNAL_RESUME, STATUS_FORMAT, "too long");
    mgk_free(line);
    journal = open_journal(MGK_JOURNAL_REPLACE);
    assert_false(mgk_journal_close(journal, true)); /* no matrix, no file */
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    refuse(MGK_JOURNAL_REPLACE, STATUS_IO, "journal.part: ");
    rmdir(path);
    assert_int_equal(mkfifo(path, 0666), 0);
    refuse(MGK_JOURNAL_REPLACE, STATUS_IO, "not a regular file");
    unlink(path);
    /* Following a link would empty another file. */
    assert_int_equal(symlink("journal.target", path), 0);
    refuse(MGK_JOURNAL_REPLACE, STATUS_IO, "not a regular file");
    refuse(MGK_JOURNAL_REFUSE, STATUS_IO, "not a regular file");
    assert_int_not_equal(access("journal.target", F_OK), 0);
    unlink(path);
}

/* Appends a line of `size` bytes with its end. */
static void append_line(mgk_journal *journal, char letter, size_t size)
{
    char *line;
    assert_ok(mgk_alloc(size, 1, &line));
    memset(line, letter, size - 1);
    line[size - 1] = '\n';
    assert_ok(mgk_journal_append(journal, line, size));
    mgk_free(line);
}

/* Lines of another run than of ranks, longer than those; the longest has all bytes allowed. */
static void long_lines(void **state)
{
    (void)state;
    enum { MOST = 1 << 24 };
    static const size_t sizes[] = {2, MOST, 5000000, 1, MOST - 1};
    const size_t count = sizeof(sizes) / sizeof(*sizes);
    mgk_journal *journal;
    const char *line;
    assert_ok(mgk_journal_open(path, MGK_JOURNAL_REPLACE, settings, MOST, &journal));
    for (size_t i = 0; i < count; i++)
        append_line(journal, (char)('a' + i), sizes[i]);
    assert_true(mgk_journal_close(journal, true));
    assert_ok(mgk_journal_open(path, MGK_JOURNAL_RESUME, settings, MOST, &journal));
    assert_int_equal(mgk_journal_resumed(journal), count);
    for (int time = 0; time < 2; time++) {
        assert_ok(mgk_journal_begin(journal));
        for (size_t i = 0; i < count; i++) {
            const char letter[] = {(char)('a' + i), '\0'};
            assert_ok(mgk_journal_next(journal, &line));
            assert_int_equal(strlen(line), sizes[i] - 1);
            assert_int_equal(strspn(line, letter), sizes[i] - 1);
        }
        assert_int_equal(mgk_journal_fail_line(journal, STATUS_FORMAT), STATUS_FORMAT);
        assert_non_null(strstr(mgk_fail_message(), "journal.part: line 6: "));
        assert_ok(mgk_journal_next(journal, &line));
        assert_null(line);
        mgk_journal_end(journal);
    }
    append_line(journal, 'z', MOST + 1);
    assert_true(mgk_journal_close(journal, true));
    assert_fails(mgk_journal_open(path, MGK_JOURNAL_RESUME, settings, MOST, &journal),
                 STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "journal.part: line 7 is too long"));
    unlink(path);
}

/* An int counts the bytes of a line when it is read. */
static void lines_beyond_an_int_are_refused(void **state)
{
    (void)state;
    const size_t sizes[] = {(size_t)INT_MAX, SIZE_MAX};
    mgk_journal *journal;
    unlink(path);
    for (int i = 0; i < 2; i++) {
        assert_fails(mgk_journal_open(path, MGK_JOURNAL_REPLACE, settings, sizes[i], &journal),
                     STATUS_UNSUPPORTED);
        assert_null(journal);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_fails(mgk_journal_open_temporary(sizes[i], &journal), STATUS_UNSUPPORTED);
        assert_null(journal);
    }
    assert_ok(mgk_journal_open_temporary((size_t)INT_MAX - 10, &journal));
    assert_false(mgk_journal_close(journal, true));
}

/* The disk is full after some lines, and the last line is cut off; later there is space again. */
static void a_full_disk_ends_the_run(void **state)
{
    (void)state;
    const mgk_rank_run_options plain = {.threads = 1};
    mgk_rank_run_options options = plain;
    struct rlimit before, small;
    mgk_rank_table whole, table;
    test_source s = synthetic();
    leave_journal(0, &whole);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 2000;
    options.threads = 2;
    options.journal = open_journal(MGK_JOURNAL_REPLACE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    mgk_status status = run(&s, &options, &table);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, STATUS_IO);
    assert_non_null(strstr(mgk_fail_message(), "journal.part: "));
    assert_true(mgk_journal_close(options.journal, true));
    mgk_journal *journal = open_journal(MGK_JOURNAL_RESUME);
    size_t known = mgk_journal_resumed(journal);
    assert_in_range(known, 1, COUNT - 1);
    assert_true(mgk_journal_close(journal, true));
    resume(&plain, known, &whole);
    mgk_rank_table_free(&whole);
}

static void numbers_have_a_point_in_any_locale(void **state)
{
    (void)state;
    const mgk_rank_run_options options = {.threads = 1};
    mgk_rank_table whole;
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        skip();
    leave_journal(0, &whole);
    resume(&options, thin_out(0xf0f0f0), &whole);
    mgk_rank_table_free(&whole);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_matrices_may_be_missing),
        cmocka_unit_test(batches_go_on),
        cmocka_unit_test(other_inputs_are_left_alone),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(damage_is_reported),
        cmocka_unit_test(changed_bytes_are_reported),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(lines_beyond_an_int_are_refused),
        cmocka_unit_test(a_full_disk_ends_the_run),
        cmocka_unit_test(numbers_have_a_point_in_any_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
