/* SPDX-License-Identifier: MIT */
/* Runs over parts of a source, as of several processes: together they have each matrix once, and
 * the table that is read from their lines is that of one run. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "analysis/run/rank_journal.h"
#include "analysis/run/run.h"
#include "analysis/source.h"
#include "analysis/table/rank_columns.h"
#include "base/file.h"
#include "base/memory.h"
#include "table/files.h"

enum { LARGEST = 9, HEADS = 3, SAMPLES = 10, COUNT = SAMPLES * HEADS, PARTS = 3 };

static const double thresholds[] = {1e-2, 1e-6};

static size_t order_of(const void *context, size_t i)
{
    (void)context;
    return LARGEST - i / HEADS % 3;
}

static void fill(const void *context, size_t i, size_t n, double *data)
{
    (void)context;
    test_matrix_softmax(i, n, 2, i % HEADS == 1, data);
}

static test_source synthetic(void)
{
    return (test_source){.count = COUNT,
                         .heads = HEADS,
                         .layers = 1,
                         .n_max = LARGEST,
                         .order = order_of,
                         .fill = fill,
                         .failing = SIZE_MAX};
}

/* Takes every PARTS-th sample, and none from `end` on. */
typedef struct every {
    size_t first, end, asked;
    bool descended;
} every;

static mgk_status takes(void *state, size_t sample, bool *taken, bool *over)
{
    every *e = state;
    e->descended |= sample < e->asked;
    e->asked = sample;
    *over = sample >= e->end;
    *taken = !*over && sample % PARTS == e->first;
    return STATUS_OK;
}

static mgk_status receive(void *receiver, const char *text, size_t size)
{
    return mgk_journal_append(receiver, text, size);
}

static mgk_rank_run_options options_of(mgk_journal *journal)
{
    return (mgk_rank_run_options){.threshold_count = 2,
                                  .thresholds = thresholds,
                                  .threads = 2,
                                  .keep_spectra = true,
                                  .journal = journal};
}

/* Runs one of the parts; its lines go to the journal. */
static void run_part(mgk_journal *journal, every *e, const bool *known)
{
    const mgk_run_part part = {.takes = takes, .state = e, .ahead = 4};
    test_source s = synthetic();
    const mgk_source source = test_source_of(&s);
    mgk_journal *sender;
    mgk_rank_table rows;
    assert_ok(mgk_journal_open_sender(receive, journal, &sender));
    mgk_rank_run_options options = options_of(sender);
    options.part = &part;
    options.known = known;
    assert_ok(mgk_rank_run(&source, &options, &rows));
    assert_false(s.misused || e->descended);
    mgk_rank_table_free(&rows);
    assert_false(mgk_journal_close(sender, true));
}

/* All columns, as the text of a CSV file. */
static char *text_of(const mgk_rank_table *table)
{
    static const char *const path = "parts.csv";
    mgk_table columns;
    mgk_mapping file;
    char *text;
    assert_ok(mgk_rank_table_columns(table, &columns));
    assert_ok(mgk_table_write_csv(&columns, path, true));
    mgk_table_free(&columns);
    assert_ok(mgk_map_file(path, &file));
    assert_ok(mgk_alloc(file.size + 1, 1, &text));
    memcpy(text, file.data, file.size);
    mgk_unmap_file(&file);
    return text;
}

static void check_table(mgk_journal *journal)
{
    test_source s = synthetic();
    const mgk_source source = test_source_of(&s);
    mgk_rank_run_options options = options_of(NULL);
    mgk_rank_table whole, read;
    assert_ok(mgk_rank_run(&source, &options, &whole));
    options.journal = journal;
    assert_ok(mgk_rank_read(&source, &options, &read));
    assert_int_equal(read.row_count, COUNT);
    assert_int_equal(whole.row_count, COUNT);
    char *expected = text_of(&whole), *found = text_of(&read);
    assert_string_equal(found, expected);
    mgk_free(expected);
    mgk_free(found);
    for (size_t i = 0; i < COUNT; i++)
        assert_memory_equal(read.spectra + i * read.n_max, whole.spectra + i * read.n_max,
                            whole.rows[i].n * sizeof(double));
    assert_string_equal(read.settings.method, whole.settings.method);
    mgk_rank_table_free(&whole);
    mgk_rank_table_free(&read);
}

static void parts_make_the_table(void **state)
{
    (void)state;
    mgk_journal *journal;
    assert_ok(mgk_journal_open_temporary(MGK_RANK_LINE_BYTES, &journal));
    for (size_t part = PARTS; part-- > 0;)
        run_part(journal, &(every){.first = part, .end = SAMPLES}, NULL);
    assert_int_equal(mgk_journal_lines(journal), COUNT);
    check_table(journal);
    assert_false(mgk_journal_close(journal, true));
}

/* A part that ends early leaves its matrices; the next runs compute what is not known. */
static void known_matrices_are_passed_over(void **state)
{
    (void)state;
    mgk_journal *journal;
    mgk_rank_table table;
    test_source s = synthetic();
    const mgk_source source = test_source_of(&s);

    bool *known, missing[COUNT] = {false};
    assert_ok(mgk_journal_open_temporary(MGK_RANK_LINE_BYTES, &journal));
    for (size_t i = 0; i < COUNT; i++)
        missing[i] = i == 4; /* one head of sample 1 */
    run_part(journal, &(every){.first = 1, .end = 5}, missing);
    assert_int_equal(mgk_journal_lines(journal), 2 * HEADS - 1);

    assert_ok(mgk_rank_table_make(2, thresholds, LARGEST, &table));
    assert_ok(mgk_rank_journal_read(journal, 0, &source, &table, &known));
    mgk_rank_table_free(&table);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(known[i], (i / HEADS == 1 || i / HEADS == 4) && i != 4);
    assert_fails(mgk_rank_read(&source,
                               &(mgk_rank_run_options){.threshold_count = 2,
                                                       .thresholds = thresholds,
                                                       .keep_spectra = true,
                                                       .journal = journal},
                               &table),
                 STATUS_FORMAT);
    for (size_t part = 0; part < PARTS; part++)
        run_part(journal, &(every){.first = part, .end = SAMPLES}, known);
    assert_int_equal(mgk_journal_lines(journal), COUNT);
    check_table(journal);
    mgk_free(known);
    mgk_journal_close(journal, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_make_the_table),
        cmocka_unit_test(known_matrices_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
