/* SPDX-License-Identifier: MIT */
/* mgk_rank_attention: options and files that are refused. */
#include "rank_case.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "test.h"
#include "tiny.h"

static double with_nan(int matrix, int i, int j)
{
    return matrix == 13 && i == 4 && j == 5 ? (double)NAN : case_known(matrix, i, j);
}

/* The last two queries of matrix 13 are padding. */
static double with_padding(int matrix, int i, int j)
{
    return matrix == 13 && i >= N - 2 ? 0 : case_known(matrix, i, j);
}

static void expect(mgk_rank_options o, mgk_result expected, const char *message)
{
    mgk_rank_summary summary;
    assert_int_equal(mgk_rank_attention(&o, &summary), expected);
    if (!strstr(mgk_error(), message))
        fail_msg("\"%s\" does not say \"%s\"", mgk_error(), message);
    assert_null(strchr(mgk_error(), '\n'));
    assert_null(summary.layers);
    if (o.output && o.job.force)
        assert_int_not_equal(access(o.output, F_OK), 0);
}

static void wrong_usage(void **state)
{
    (void)state;
    const double zero = 0;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    unlink(case_csv);
    mgk_rank_options o = case_from_array();
    o.input_count = 0;
    expect(o, MGK_USAGE, "either files of matrices or `model`");
    o = case_from_array();
    o.model = case_model;
    expect(o, MGK_USAGE, "either files of matrices or `model`");
    o = case_from_array();
    o.input.samples = 3;
    expect(o, MGK_USAGE, "`samples` is about `model`");
    o = case_from_model(3);
    o.dataset = "x";
    expect(o, MGK_USAGE, "`dataset`");
    o = case_from_array();
    o.method = "qr";
    expect(o, MGK_USAGE, "method \"qr\"");
    o = case_from_array();
    o.matrices = -1;
    expect(o, MGK_USAGE, "negative");
    o = case_from_array();
    o.thresholds = &zero;
    expect(o, MGK_USAGE, "threshold 0");
    o = case_from_array();
    const double twice[] = {1e-6, 1e-3, 1e-6};
    o.thresholds = twice;
    o.threshold_count = 3;
    expect(o, MGK_USAGE, "threshold 1e-06 is there twice");
    o = case_from_array();
    o.threshold_count = 0;
    expect(o, MGK_USAGE, "0 thresholds");
    o = case_from_array();
    o.spectrum = true;
    expect(o, MGK_USAGE, "HDF5 output");
    o = case_from_array();
    o.output = "rank.txt";
    expect(o, MGK_USAGE, "ending");
    o = case_from_array();
    o.png = "rank.jpg";
    expect(o, MGK_USAGE, "ending .png");
}

static void bad_files(void **state)
{
    (void)state;
    const char *const no_hdf5[] = {case_text}, *const absent[] = {"rank_absent.h5"};
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    unlink(case_csv);
    expect(case_from_store(no_hdf5), MGK_INPUT, case_text);
    expect(case_from_store(absent), MGK_IO, "rank_absent.h5");
    mgk_rank_options o = case_from_array();
    o.dataset = "group/ours";
    expect(o, MGK_INPUT, "group/ours");
    o = case_from_array();
    o.output = "rank_no_folder/rank.csv";
    expect(o, MGK_IO, "rank_no_folder");
    o = case_from_model(3);
    o.model = case_text;
    expect(o, MGK_INPUT, case_text);
    case_write_array(case_array, H5T_NATIVE_DOUBLE, with_nan);
    expect(case_from_array(), MGK_INPUT, "sample 1, layer 0, head 1: entry [4, 5] is nan");
    assert_ok(mgk_write_file(case_csv, true, "mine", 4));
    o = case_from_array();
    o.job.force = false;
    expect(o, MGK_EXISTS, case_csv);
    char *content = case_read_all(case_csv);
    assert_string_equal(content, "mine");
    mgk_free(content);
}

/* Rows of zeros are undeclared padding: refused, and counted if they are allowed. */
static void rows_of_zeros(void **state)
{
    (void)state;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, with_padding);
    unlink(case_csv);
    mgk_rank_options o = case_from_array();
    o.job.threads = 1;
    expect(o, MGK_INPUT, case_array);
    expect(o, MGK_INPUT, "sample 1, layer 0, head 1: row 7 is all zeros");
    expect(o, MGK_INPUT, "`allow_zero_rows`");
    /* Matrices counted before are kept, and not counted again. */
    case_log log;
    o.allow_zero_rows = o.resume = true;
    o.job.watcher = case_watch(&log);
    assert_done(mgk_rank_attention(&o, NULL));
    assert_non_null(strstr(log.lines, "13 of 24 matrices are finished already"));
    mgk_rank_table table = case_read_table(case_csv);
    assert_int_equal(table.row_count, 24);
    assert_int_equal(table.rows[13].n, N);
    /* The remaining queries are still of every kind. */
    assert_int_equal(table.counts[13].rank, case_rank_of(13));
    mgk_rank_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_usage),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(rows_of_zeros),
    };
    case_enter("rank_refusals");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
