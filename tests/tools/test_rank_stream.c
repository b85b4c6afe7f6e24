/* SPDX-License-Identifier: MIT */
/* mgk_rank_attention: a running model gives the same ranks as its store. */
#include "rank_case.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "rank/rank.h"
#include "test.h"
#include "tiny.h"

/* Two tables of the same matrices in the same order, *stored from a store. */
static void rank_both_ways(const mgk_input *input, bool double_precision, int matrices,
                           char **stored, char **streamed)
{
    case_dump(input, NULL, double_precision);
    mgk_rank_options o = case_from_store(&case_store);
    o.matrices = matrices;
    assert_done(mgk_rank_attention(&o, NULL));
    *stored = case_read_all(case_csv);
    o = case_from_model(0);
    o.input = *input;
    o.matrices = matrices;
    o.double_precision = double_precision;
    o.method = "svd"; /* of the entries, even if there are factors */
    assert_done(mgk_rank_attention(&o, NULL));
    *streamed = case_read_all(case_csv);
}

/* The tables agree to the last digit. */
static void compare_store_and_stream(const mgk_input *input, bool double_precision, int matrices)
{
    char *stored, *streamed;
    rank_both_ways(input, double_precision, matrices, &stored, &streamed);
    assert_string_equal(stored, streamed);
    mgk_free(stored);
    mgk_free(streamed);
}

/* Every field is equal, or a number that differs in its last digits. */
static void compare_fields(const char *left, const char *right)
{
    static const char ends[] = ",\n";
    while (*left && *right) {
        const size_t length = strcspn(left, ends), other = strcspn(right, ends);
        if (length != other || memcmp(left, right, length) != 0) {
            char *end;
            const double value = strtod(left, &end);
            assert_ptr_equal(end, left + length);
            assert_close(value, strtod(right, NULL), 1e-12, 1e-12);
        }
        assert_int_equal(left[length], right[other]);
        left += length + (left[length] != '\0');
        right += other + (right[other] != '\0');
    }
    assert_int_equal(*left, *right);
}

static void store_and_stream_agree(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk", "smgk", "linear", "smlk"};
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 11};
    for (size_t k = 0; k < 5; k++)
        for (int family = 0; family < 2; family++) {
            mgk_config config = tiny_config((mgk_family)family, kinds[k]);
            tiny_save(&config, case_model);
            compare_store_and_stream(&input, family == 1, k == 0 ? 0 : 13);
        }
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "mgk");
    config.dual = true;
    tiny_save(&config, case_model);
    compare_store_and_stream(&input, true, 13);
    const mgk_input pairs = {
        .task = "retrieval", .data = &case_text, .data_count = 1, .samples = 11};
    compare_store_and_stream(&pairs, true, 13);
}

/* A batch holds 2048 tokens: 300 samples of 9 take two. An export has other batches, so products of
 * other shapes, for which a BLAS may differ in the last digits. */
static void several_batches(void **state)
{
    (void)state;
    char *stored, *streamed;
    const char *const path = "rank_long.txt";
    const mgk_input input = {.text = &path, .text_count = 1, .samples = 300};
    tiny_text(path, 3000);
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    rank_both_ways(&input, true, 40, &stored, &streamed);
    compare_fields(stored, streamed);
    mgk_free(stored);
    mgk_free(streamed);
}

/* Padding must not count: the spectrum is that of the valid block. */
static void check_padding(const char *kind)
{
    static const int32_t tokens[] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    const char *const path = "rank_tokens.txt";
    const char line[] = "9 8 7 6 5\n9 8\n9 8 7 6 5 4 3 2 1\n";
    const mgk_input input = {.tokens = path, .samples = 3};
    assert_ok(mgk_write_file(path, true, line, strlen(line)));
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, kind);
    tiny_save(&config, case_model);
    compare_store_and_stream(&input, true, 0);
    mgk_rank_options o = case_from_model(0);
    o.input = input;
    o.matrices = 0;
    o.double_precision = true;
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table table = case_read_table(case_csv);
    assert_int_equal(table.row_count, 3 * L * H);
    mgk_network *network;
    mgk_job job = {.device = "cpu"};
    assert_done(mgk_network_open(case_model, &job, true, &network));
    size_t sum = 0;
    for (size_t r = 0; r < table.row_count; r++) {
        const mgk_rank_row *row = &table.rows[r];
        double matrix[N * N], sigma[N];
        sum += row->n;
        assert_done(mgk_network_attention(network, tokens, (int)row->n, (int)row->layer,
                                          (int)row->head, matrix));
        assert_done(mgk_singular_values(matrix, row->n, row->n, sigma));
        assert_close(row->sigma_max, sigma[0], 1e-13, 0);
        assert_close(row->sigma_min, sigma[row->n - 1], 1e-13, 0);
    }
    assert_int_equal(sum, (5 + 2 + 9) * L * H);
    mgk_network_close(network);
    mgk_rank_table_free(&table);
}

static void padded_sequences(void **state)
{
    (void)state;
    check_padding("mgk");
    check_padding("linear"); /* by factors */
}

static void as_many_samples_as_needed(void **state)
{
    (void)state;
    case_log log;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    mgk_rank_options o = case_from_model(0);
    o.matrices = 9;
    o.job.watcher = case_watch(&log);
    mgk_rank_summary summary;
    assert_done(mgk_rank_attention(&o, &summary));
    assert_int_equal(summary.count, L);
    assert_int_equal(summary.layers[2].matrices, 9);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    mgk_rank_table table = case_read_table(case_csv);
    size_t samples[3 * L * H];
    for (size_t r = 0; r < table.row_count; r++)
        samples[r] = table.rows[r].sample;
    size_t distinct = 0;
    for (size_t r = 0; r < table.row_count; r++)
        distinct += r == 0 || samples[r] != samples[r - 1];
    assert_int_equal(distinct, 3);
    assert_false(log.foreign);
    assert_string_equal(log.lines, "");
    mgk_rank_table_free(&table);
    /* 300 bytes and titles give far fewer windows than a thousand matrices need. */
    o.matrices = 999;
    assert_done(mgk_rank_attention(&o, NULL));
    assert_non_null(strstr(log.lines, "matrices in each layer (999 wanted)"));
}

static void chosen_layers(void **state)
{
    (void)state;
    const int wanted[] = {2}, missing[] = {0, 3};
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 5};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    case_dump(&input, NULL, false);
    char *content[2];
    for (int streamed = 0; streamed < 2; streamed++) {
        mgk_rank_options o = streamed ? case_from_model(5) : case_from_store(&case_store);
        o.layers = wanted;
        o.layer_count = 1;
        o.matrices = 7;
        assert_done(mgk_rank_attention(&o, NULL));
        content[streamed] = case_read_all(case_csv);
        mgk_rank_table table = case_read_table(case_csv);
        assert_int_equal(table.row_count, 7);
        assert_int_equal(table.rows[6].layer, 2);
        mgk_rank_table_free(&table);
        o.layers = missing;
        o.layer_count = 2;
        assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INPUT);
    }
    assert_string_equal(content[0], content[1]);
    mgk_free(content[0]);
    mgk_free(content[1]);
}

/* sqrt(sum a_ij^2) of one matrix of the store, [N, N]. */
static double norm_in_store(hid_t dataset, const mgk_rank_row *row)
{
    double values[N * N], sum = 0;
    const hsize_t start[] = {row->position, row->layer, row->head, 0, 0}, count[] = {1, 1, 1, N, N};
    hid_t file = H5Dget_space(dataset), memory = H5Screate_simple(5, count, NULL);
    assert_true(H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, values) >= 0);
    H5Sclose(file);
    H5Sclose(memory);
    for (size_t i = 0; i < N * N; i++)
        sum += values[i] * values[i];
    return sqrt(sum);
}

/* attention[position, layer, head], although samples have other numbers. */
static void rows_name_their_matrices(void **state)
{
    (void)state;
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 5};
    size_t elsewhere = 0;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    case_dump(&input, NULL, true);
    mgk_rank_options o = case_from_store(&case_store);
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table table = case_read_table(case_csv);
    hid_t file = H5Fopen(case_store, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "attention", H5P_DEFAULT);
    assert_int_equal(table.row_count, 5 * L * H);
    for (size_t r = 0; r < table.row_count; r++) {
        const mgk_rank_row *row = &table.rows[r];
        elsewhere += row->position != row->sample;
        assert_close(row->frobenius, norm_in_store(dataset, row), 0, 1e-14);
    }
    assert_true(elsewhere > 0);
    H5Dclose(dataset);
    H5Fclose(file);
    mgk_rank_table_free(&table);
}

/* Heads of a store, and of a model have the rows that they have among all. */
static void chosen_heads(void **state)
{
    (void)state;
    const int wanted[] = {2, 0}, missing[] = {3};
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 5};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    config.heads = 3;
    tiny_save(&config, case_model);
    case_dump(&input, NULL, false);
    mgk_rank_options o = case_from_store(&case_store);
    o.matrices = 0;
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table all = case_read_table(case_csv);
    for (int streamed = 0; streamed < 2; streamed++) {
        o = streamed ? case_from_model(5) : case_from_store(&case_store);
        o.matrices = 0;
        o.heads = wanted;
        o.head_count = 2;
        assert_done(mgk_rank_attention(&o, NULL));
        mgk_rank_table table = case_read_table(case_csv);
        size_t found = 0;
        for (size_t i = 0; i < all.row_count; i++)
            if (all.rows[i].head != 1) {
                assert_true(found < table.row_count);
                assert_int_equal(table.rows[found].head, all.rows[i].head);
                assert_int_equal(table.rows[found].layer, all.rows[i].layer);
                assert_true(table.rows[found].sigma_max == all.rows[i].sigma_max);
                found++;
            }
        assert_int_equal(found, table.row_count);
        mgk_rank_table_free(&table);
        o.heads = missing;
        o.head_count = 1;
        assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INPUT);
        o.head_count = 0;
        assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
    }
    mgk_rank_table_free(&all);
}

/* The matrices drawn in a layer do not depend on the other counted layers, stored or streamed. */
static void a_layer_alone_is_counted_alike(void **state)
{
    (void)state;
    const int last = 2;
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 5};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    case_dump(&input, NULL, false);
    mgk_rank_options o = case_from_store(&case_store);
    o.matrices = 7;
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table all = case_read_table(case_csv);
    mgk_dump_options part = mgk_dump_options_default();
    part.job = (mgk_job){.force = true, .seed = 3};
    part.model = case_model;
    part.output = case_store;
    part.input = input;
    part.layers = &last;
    part.layer_count = 1;
    for (int way = 0; way < 3; way++) {
        if (way == 2)
            assert_done(mgk_dump_attention(&part, NULL));
        o = way == 1 ? case_from_model(5) : case_from_store(&case_store);
        o.layers = way == 2 ? NULL : &last;
        o.layer_count = way == 2 ? 0 : 1;
        o.matrices = 7;
        assert_done(mgk_rank_attention(&o, NULL));
        mgk_rank_table alone = case_read_table(case_csv);
        assert_int_equal(alone.row_count, 7);
        for (size_t r = 0, found = 0; r < all.row_count; r++)
            if (all.rows[r].layer == 2) {
                assert_int_equal(all.rows[r].sample, alone.rows[found].sample);
                assert_int_equal(all.rows[r].head, alone.rows[found++].head);
            }
        mgk_rank_table_free(&alone);
    }
    mgk_rank_table_free(&all);
}

/* The ranks of case_model, an encoder of 256 tokens, by a method. */
static mgk_rank_table long_ranks(const char *const *text, const char *method)
{
    mgk_rank_options o = case_from_model(6);
    o.input.text = text;
    o.matrices = 0;
    o.method = method;
    o.output = "rank.json"; /* contains everything known about a matrix */
    assert_done(mgk_rank_attention(&o, NULL));
    return case_read_table(o.output);
}

/* Compares the results by factors and by entries. */
static void compare_factors_and_entries(const mgk_rank_table *factors,
                                        const mgk_rank_table *entries, size_t depth)
{
    size_t decided = 0;
    assert_int_equal(factors->row_count, 6 * L * H);
    assert_int_equal(entries->row_count, factors->row_count);
    assert_string_equal(factors->settings.method, "factors");
    assert_string_equal(entries->settings.method, "svd");
    for (size_t r = 0; r < factors->row_count; r++) {
        const mgk_rank_row *f = &factors->rows[r], *e = &entries->rows[r];
        const mgk_rank_count *by_factors = &factors->counts[r], *by_entries = &entries->counts[r];
        assert_int_equal(f->method, MGK_METHOD_FACTORS);
        assert_int_equal(e->method, MGK_METHOD_SVD);
        assert_int_equal(f->sample * L * H + f->layer * H + f->head,
                         e->sample * L * H + e->layer * H + e->head);
        assert_int_equal(f->n, e->n);
        assert_close(f->sigma_max, e->sigma_max, 0, 1e-6);
        assert_close(f->effective_rank, e->effective_rank, 0, 1e-4);
        assert_close(f->column_sum_max, e->column_sum_max, 0, 1e-5);
        assert_close(f->row_sum_error, 0, 1e-5, 0);
        assert_true(by_factors->rank <= depth);
        if (by_factors->undecided || by_entries->undecided)
            continue;
        assert_int_equal(by_factors->rank, by_entries->rank);
        assert_int_equal(by_factors->certificate, MGK_CERTIFICATE_BOUND);
        decided++;
    }
    assert_true(2 * decided > factors->row_count);
}

/* Linear attention without a causal mask is ranked by its factors, with equivalent results. */
static void factors_and_entries_agree(void **state)
{
    (void)state;
    static const char *const kinds[] = {"linear", "mlk", "smlk"};
    static const int dims[] = {3, 16, 64};
    const char *const path = "rank_long.txt";
    tiny_text(path, 4000);
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d += TEST_STEP) {
            mgk_config config = tiny_config(MGK_FAMILY_ENCODER, kinds[k]);
            config.length = 256;
            config.head_dim = dims[d];
            config.dim = 48;
            tiny_save(&config, case_model);
            mgk_rank_table factors = long_ranks(&path, "auto"), entries = long_ranks(&path, "svd");
            compare_factors_and_entries(&factors, &entries, (size_t)dims[d] + 1);
            mgk_rank_table_free(&factors);
            mgk_rank_table_free(&entries);
        }
}

/* A causal matrix has no thin factors, nor has a head as wide as the sample is long. */
static void other_matrices_have_no_factors(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        mgk_config config = tiny_config(way == 0 ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER,
                                        way == 1 ? "softmax" : "linear");
        config.head_dim = way == 2 ? N - 1 : 2;
        tiny_save(&config, case_model);
        mgk_rank_options o = case_from_model(3);
        o.output = "rank.json";
        assert_done(mgk_rank_attention(&o, NULL));
        mgk_rank_table table = case_read_table(o.output);
        for (size_t r = 0; r < table.row_count; r++)
            assert_int_equal(table.rows[r].method, MGK_METHOD_SVD);
        mgk_rank_table_free(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_and_stream_agree),
        cmocka_unit_test(several_batches),
        cmocka_unit_test(padded_sequences),
        cmocka_unit_test(as_many_samples_as_needed),
        cmocka_unit_test(chosen_layers),
        cmocka_unit_test(chosen_heads),
        cmocka_unit_test(rows_name_their_matrices),
        cmocka_unit_test(a_layer_alone_is_counted_alike),
        cmocka_unit_test(factors_and_entries_agree),
        cmocka_unit_test(other_matrices_have_no_factors),
    };
    case_enter("rank_stream");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
