/* SPDX-License-Identifier: MIT */
/* Records of samples: their lines in a journal, and their means. */
#include "test.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/run/record_line.h"
#include "analysis/table/diversity_means.h"
#include "base/random.h"

/* ---- lines ----------------------------------------------------------------------------------- */

static mgk_status read_line(const char *line, size_t *input, size_t *sample, size_t size,
                            double *record)
{
    TRY(mgk_record_line_begin(&line, input, sample));
    return mgk_record_line_values(line, size, record);
}

static void lines_keep_every_bit(void **state)
{
    (void)state;
    const double record[] = {(double)NAN, -0.0, 0, 1.0 / 3, -DBL_MAX, DBL_MIN / 4, 0x1p-1074};
    enum { SIZE = sizeof(record) / sizeof(record[0]) };
    double back[SIZE];
    size_t input, sample;
    char *line = calloc(mgk_record_line_size(SIZE), 1);
    const size_t length = mgk_record_line_write(SIZE_MAX, SIZE_MAX - 1, record, SIZE, line);
    assert_int_equal(length, strlen(line));
    assert_true(length < mgk_record_line_size(SIZE));
    assert_int_equal(line[length - 1], '\n');
    line[length - 1] = '\0';
    assert_ok(read_line(line, &input, &sample, SIZE, back));
    assert_true(input == SIZE_MAX && sample == SIZE_MAX - 1);
    assert_memory_equal(back, record, sizeof(record));
    assert_fails(read_line(line, &input, &sample, SIZE - 1, back), STATUS_FORMAT);
    for (size_t cut = 0; cut < length - 1; cut++) {
        line[length - 2 - cut] = '\0';
        assert_fails(read_line(line, &input, &sample, SIZE, back), STATUS_FORMAT);
    }
    free(line);
}

static void other_lines_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      " ",
                                      "1",
                                      "1 ",
                                      "1 2",
                                      "-1 2 3ff0000000000000",
                                      "1 +2 3ff0000000000000",
                                      "1  2 3ff0000000000000",
                                      "1\t2 3ff0000000000000",
                                      "1 2  3ff0000000000000",
                                      "1 2 3FF0000000000000",
                                      "1 2 0x1p0",
                                      "1 2 3ff000000000000",
                                      "1 2 3ff0000000000000 ",
                                      "1 2 3ff00000000000000",
                                      "1 2 7ff0000000000000",
                                      "1 2 fff0000000000000"};
    double value;
    size_t input, sample;
    assert_ok(read_line("1 2 3ff0000000000000", &input, &sample, 1, &value));
    assert_true(input == 1 && sample == 2 && value == 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (read_line(bad[i], &input, &sample, 1, &value) != STATUS_FORMAT)
            fail_msg("\"%s\" is taken", bad[i]);
}

/* ---- means ----------------------------------------------------------------------------------- */

/* Values around 10^8, of which squares would cancel; every third is missing in column 1, all but
 * one in column 2, all in column 3. */
static double value_of(size_t sample, size_t column)
{
    const bool missing[] = {false, sample % 3 == 0, sample != 4, true};
    return missing[column] ? (double)NAN : 1e8 + mgk_random_normal(1, column, sample);
}

static void means_are_those_of_two_passes(void **state)
{
    (void)state;
    enum { RECORDS = 1000, COLUMNS = 4 };
    mgk_diversity_means means;
    assert_ok(mgk_diversity_means_make(COLUMNS, &means));
    for (size_t r = 0; r < RECORDS; r++) {
        double record[COLUMNS];
        for (size_t c = 0; c < COLUMNS; c++)
            record[c] = value_of(r, c);
        mgk_diversity_means_add(&means, record);
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        long double sum = 0, squares = 0, count = 0;
        for (size_t r = 0; r < RECORDS; r++)
            if (!isnan(value_of(r, c))) {
                sum += (long double)value_of(r, c);
                count++;
            }
        for (size_t r = 0; r < RECORDS; r++)
            if (!isnan(value_of(r, c)))
                squares += powl((long double)value_of(r, c) - sum / count, 2);
        assert_int_equal(means.samples[c], (int)count);
        if (count > 0)
            assert_close(mgk_diversity_mean(&means, c), (double)(sum / count), 0, 1e-14);
        else
            assert_true(isnan(mgk_diversity_mean(&means, c)));
        if (count > 1) /* each value has lost 8 of 16 digits */
            assert_close(mgk_diversity_sd(&means, c), (double)sqrtl(squares / (count - 1)), 0,
                         1e-8);
        else
            assert_true(isnan(mgk_diversity_sd(&means, c)));
    }
    mgk_diversity_means_free(&means);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_keep_every_bit),
        cmocka_unit_test(other_lines_are_refused),
        cmocka_unit_test(means_are_those_of_two_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
