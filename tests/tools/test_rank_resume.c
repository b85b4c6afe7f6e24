/* SPDX-License-Identifier: MIT */
/* mgk_rank_attention: interrupted runs continue to the same files. */
#include "rank_case.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "rank/rank.h"
#include "test.h"
#include "tiny.h"

static const char *const journal = "rank.csv.part";

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void expect(const mgk_rank_options *o, mgk_result expected, const char *message)
{
    assert_int_equal(mgk_rank_attention(o, NULL), expected);
    if (!strstr(mgk_error(), message))
        fail_msg("\"%s\" does not say \"%s\"", mgk_error(), message);
    assert_null(strchr(mgk_error(), '\n'));
}

/* Ends the run by its watcher after so many matrices, which the journal keeps. */
static void interrupt(mgk_rank_options o, int matrices)
{
    case_log log;
    o.job.threads = 1; /* other threads would continue until this one asks the watcher */
    o.job.watcher = case_watch(&log);
    log.stop_at = matrices;
    expect(&o, MGK_INTERRUPTED, "continue with `resume`");
    assert_true(is_there(journal));
    assert_false(is_there(case_csv));
}

/* However often it is interrupted, a run ends with the same bytes as an uninterrupted one. */
static void compare_resumed(mgk_rank_options o)
{
    o.job.force = false;
    unlink(case_csv);
    assert_done(mgk_rank_attention(&o, NULL));
    assert_false(is_there(journal));
    char *whole = case_read_all(case_csv);
    for (int threads = 1; threads < 4; threads += 2) {
        unlink(case_csv);
        o.job.threads = threads;
        o.resume = false;
        interrupt(o, 2);
        expect(&o, MGK_EXISTS, "use `resume` to continue");
        o.resume = true;
        interrupt(o, 11);
        assert_done(mgk_rank_attention(&o, NULL));
        assert_false(is_there(journal));
        char *resumed = case_read_all(case_csv);
        assert_string_equal(resumed, whole);
        mgk_free(resumed);
    }
    mgk_free(whole);
}

static void models(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    mgk_rank_options o = case_from_model(7);
    o.double_precision = true;
    o.matrices = 20;
    compare_resumed(o);
}

/* The next matrix of a source; `data` NULL: skips it. */
static mgk_group next_matrix(const mgk_source *source, double *data)
{
    mgk_group group;
    size_t prepared;
    bool end;
    assert_ok(source->next(source->state, 1, &group, &end));
    assert_false(end);
    assert_int_equal(group.count, 1);
    if (data) {
        assert_ok(source->prepare(source->state, &group, 1, &prepared));
        assert_ok(source->take(source->state, &group, 0, data));
    }
    return group;
}

/* A batch holds 2048 tokens: the third batch is computed without the first two. */
static void batches_are_passed_over(void **state)
{
    (void)state;
    const char *const path = "rank_long.txt";
    double first[N * N], second[N * N];
    mgk_source_input all, late;
    tiny_text(path, 5000);
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    mgk_rank_options o = case_from_model(460);
    o.input.text = &path;
    o.double_precision = true;
    o.matrices = 0;
    const mgk_source_options sources = mgk_rank_source_options(&o);
    assert_ok(mgk_open_model_source(&sources, &all));
    assert_ok(mgk_open_model_source(&sources, &late));
    for (size_t i = 0; i < all.source.count; i++) {
        const bool both = i > 5510;
        const mgk_group one = next_matrix(&all.source, first);
        const mgk_group other = next_matrix(&late.source, both ? second : NULL);
        assert_int_equal(one.sample, other.sample);
        assert_int_equal(one.layer, other.layer);
        assert_int_equal(one.heads[0], other.heads[0]);
        if (both)
            assert_memory_equal(first, second, sizeof(first));
    }
    all.close(all.source.state);
    late.close(late.source.state);
}

enum { THREADS = 3, TOGETHER = 200 };

/* Names groups until the source prepares no more matrices at once; returns their number. */
static size_t name_groups(const mgk_source *source, mgk_group *groups)
{
    size_t count = 0;
    for (size_t left = source->ahead; left > 0; left -= groups[count++].count) {
        bool end;
        assert_ok(source->next(source->state, left, &groups[count], &end));
        if (end)
            break;
    }
    return count;
}

/* Groups that are prepared together give the same matrices as one by one. */
static void groups_are_prepared_together(void **state)
{
    (void)state;
    double first[N * N], second[N * N];
    mgk_source_input all, single;
    mgk_group groups[TOGETHER];
    size_t count, prepared, matrices = 0;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    mgk_rank_options o = case_from_model(7);
    o.job.threads = THREADS;
    o.double_precision = true;
    o.matrices = 20;
    const mgk_source_options sources = mgk_rank_source_options(&o);
    assert_ok(mgk_open_model_source(&sources, &all));
    assert_ok(mgk_open_model_source(&sources, &single));
    assert_in_range(all.source.ahead, 2, all.source.count);
    assert_true(all.source.ahead <= TOGETHER);
    while ((count = name_groups(&all.source, groups)) > 0) {
        assert_ok(all.source.prepare(all.source.state, groups, count, &prepared));
        assert_int_equal(prepared, count);
        for (size_t g = 0; g < count; g++)
            for (size_t which = 0; which < groups[g].count; which++, matrices++) {
                const mgk_group one = next_matrix(&single.source, second);
                assert_int_equal(one.sample, groups[g].sample);
                assert_int_equal(one.layer, groups[g].layer);
                assert_int_equal(one.heads[0], groups[g].heads[which]);
                assert_int_equal(one.n, groups[g].n);
                assert_ok(all.source.take(all.source.state, &groups[g], which, first));
                assert_memory_equal(first, second, one.n * one.n * sizeof(double));
            }
    }
    assert_int_equal(matrices, all.source.count);
    all.close(all.source.state);
    single.close(single.source.state);
}

static void stores(void **state)
{
    (void)state;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    compare_resumed(case_from_array());
}

static void two_inputs(void **state)
{
    (void)state;
    static const double thresholds[] = {1e-8, 0.1};
    const char *const inputs[] = {case_array, "rank_second.h5"};
    case_write_array(inputs[0], H5T_NATIVE_DOUBLE, case_known);
    case_write_array(inputs[1], H5T_NATIVE_FLOAT, case_known);
    mgk_rank_options o = case_from_array();
    o.inputs = inputs;
    o.input_count = 2;
    o.thresholds = thresholds;
    o.threshold_count = 2;
    compare_resumed(o);
    /* In the second batch. */
    char *whole = case_read_all(case_csv);
    unlink(case_csv);
    interrupt(o, 30);
    o.resume = true;
    assert_done(mgk_rank_attention(&o, NULL));
    char *resumed = case_read_all(case_csv);
    assert_string_equal(resumed, whole);
    mgk_free(resumed);
    mgk_free(whole);
}

static void spectra(void **state)
{
    (void)state;
    mgk_rank_table whole, resumed;
    case_log log;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    o.output = "rank_resumed.h5";
    o.spectrum = true;
    assert_done(mgk_rank_attention(&o, NULL));
    assert_ok(mgk_rank_file_read(o.output, true, &whole));
    o.job.threads = 1; /* as in interrupt */
    o.job.watcher = case_watch(&log);
    log.stop_at = 9;
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INTERRUPTED);
    log.stop_at = 0;
    o.resume = true;
    assert_done(mgk_rank_attention(&o, NULL));
    assert_non_null(strstr(log.lines, " of 24 matrices are finished already"));
    assert_false(is_there("rank_resumed.h5.part"));
    assert_ok(mgk_rank_file_read(o.output, true, &resumed));
    assert_int_equal(resumed.row_count, 24);
    assert_memory_equal(whole.spectra, resumed.spectra, 24 * N * sizeof(double));
    for (size_t r = 0; r < 24; r++)
        assert_true(whole.rows[r].effective_rank == resumed.rows[r].effective_rank);
    mgk_rank_table_free(&whole);
    mgk_rank_table_free(&resumed);
}

/* An interruption counts what the journal has, of all inputs; programs say what a journal is. */
static void matrices_of_all_inputs_are_counted(void **state)
{
    (void)state;
    case_log log;
    mgk_rank_table table;
    const char *const both[] = {case_array, case_array};
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    o.inputs = both;
    o.input_count = 2;
    o.job.threads = 1; /* as in interrupt */
    o.job.watcher = case_watch(&log);
    log.stop_at = 24 + 5;
    unlink(case_csv);
    expect(&o, MGK_INTERRUPTED, "interrupted after 29 matrices; continue with `resume`");
    assert_int_equal(mgk_rank_file_read(journal, false, &table), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "unfinished results of mgk-rank, whose option"));
    log.stop_at = 0;
    o.resume = true;
    assert_done(mgk_rank_attention(&o, NULL));
    assert_non_null(strstr(log.lines, ": 29 of 48 matrices are finished already"));
}

static void other_settings(void **state)
{
    (void)state;
    static const double threshold = 1e-3;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    unlink(case_csv);
    mgk_rank_options o = case_from_array(), other;
    o.job.force = false;
    interrupt(o, 5);
    o.resume = true;
    other = o;
    other.job.seed = 4;
    expect(&other, MGK_USAGE, "rank.csv.part: was left by a run with \"seed\" \"3\", not \"4\"");
    other = o;
    other.thresholds = &threshold;
    expect(&other, MGK_USAGE, "\"threshold\" [1e-06], not [0.001]");
    other = o;
    other.relative = true;
    expect(&other, MGK_USAGE, "\"relative\" false, not true");
    other = o;
    other.output = NULL;
    expect(&other, MGK_USAGE, "`resume` continues a run with an `output`");
    /* The file was replaced. */
    case_write_array(case_array, H5T_NATIVE_FLOAT, case_known);
    expect(&o, MGK_USAGE, "\"files\" [\"rank_array.h5, ");
    o.job.force = true;
    expect(&o, MGK_USAGE, "\"files\"");
    o.resume = false;
    assert_done(mgk_rank_attention(&o, NULL));
    assert_false(is_there(journal));
}

static void write_text(const char *path, const char *text)
{
    assert_ok(mgk_write_file(path, true, text, strlen(text)));
}

/* A changed tokenizer in a folder, named or next to the model, is reported; a change of other files
 * there is not. */
static void other_tokenizers(void **state)
{
    (void)state;
    static const char words[] = "[UNK]\n[CLS]\n[SEP]\na\nb\n",
                      others[] = "[UNK]\n[CLS]\n[SEP]\nb\na\n";
    static const char *const folder = "rank_folder", *const model = "rank_folder/m.safetensors";
    static const char *const vocabulary = "rank_folder/vocab.txt", *const text = "rank_words.txt";
    static const char *const notes = "rank_folder/tokenizer_config.json";
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    config.vocabulary = 5;
    mkdir(folder, 0777);
    tiny_save(&config, model);
    FILE *file = fopen(text, "w");
    assert_non_null(file);
    for (int i = 0; i < 100; i++)
        fputs(i % 3 ? "a " : "b ", file);
    assert_int_equal(fclose(file), 0);
    for (int named = 0; named <= 2; named++) {
        unlink(case_csv);
        unlink(journal);
        unlink(notes);
        write_text(vocabulary, words);
        mgk_rank_options o = case_from_model(7);
        o.model = model;
        o.input.text = &text;
        o.input.tokenizer = named == 0 ? NULL : named == 1 ? folder : vocabulary;
        o.matrices = 20;
        o.job.force = false;
        interrupt(o, 5);
        o.resume = true;
        write_text("rank_folder/notes.txt", "of no interest");
        interrupt(o, 9);
        write_text(vocabulary, others);
        expect(&o, MGK_USAGE, "\"tokenizer\" [");
        unlink(journal);
        o.resume = false;
        interrupt(o, 5);
        o.resume = true;
        write_text(notes, "{\"do_lower_case\": false}");
        expect(&o, MGK_USAGE, "\"tokenizer\" [");
    }
    unlink(journal);
}

static void without_a_journal_all_is_counted(void **state)
{
    (void)state;
    case_log log;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    o.resume = true;
    o.job.watcher = case_watch(&log);
    assert_done(mgk_rank_attention(&o, NULL));
    assert_non_null(strstr(log.lines, "rank.csv.part: 0 of 24 matrices are finished already"));
    assert_false(is_there(journal));
}

static double with_nan(int matrix, int i, int j)
{
    return matrix == 13 && i == 4 && j == 5 ? (double)NAN : case_known(matrix, i, j);
}

/* No journal is left to continue. */
static void a_matrix_without_a_rank_leaves_nothing(void **state)
{
    (void)state;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, with_nan);
    mgk_rank_options o = case_from_array();
    expect(&o, MGK_INPUT, "is nan");
    assert_false(is_there(journal));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models),
        cmocka_unit_test(batches_are_passed_over),
        cmocka_unit_test(groups_are_prepared_together),
        cmocka_unit_test(stores),
        cmocka_unit_test(two_inputs),
        cmocka_unit_test(spectra),
        cmocka_unit_test(matrices_of_all_inputs_are_counted),
        cmocka_unit_test(other_settings),
        cmocka_unit_test(other_tokenizers),
        cmocka_unit_test(without_a_journal_all_is_counted),
        cmocka_unit_test(a_matrix_without_a_rank_leaves_nothing),
    };
    case_enter("rank_resume");
    unlink(journal);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
